package workloads

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Defaults is what a RayJob is where config says nothing.
func Defaults() Workload {
	return Workload{
		Kind: KindRayJob, Workers: 1, Worker: WorkerSize{Size: size("1", "4Gi")}, Head: size("1", "4Gi"),
		ActiveDeadline:     metav1.Duration{Duration: time.Hour},
		PreRunningDeadline: metav1.Duration{Duration: 45 * time.Minute},
	}
}

// defaults is the same for any kind: a service has no deadlines.
func defaults(kind Kind) Workload {
	w := Defaults()
	if kind == KindRayService {
		w.Kind, w.ActiveDeadline, w.PreRunningDeadline = kind, metav1.Duration{}, metav1.Duration{}
	}
	return w
}

// Catalog is what the program knows to run. Its entries are ordinary workloads, off until a stack enables them; a stack file may change
// any field. What a program can be told beside that is said at its top, with the defaults: here are only the variables that differ.
func Catalog() Declared {
	return Declared{
		"smoke":           smoke(),
		"stage":           stage(),
		"aurora-finetune": auroraFinetune(),
		"llm-training":    llmTraining(),
		"batch-inference": batchInference(),
		"online-serving":  onlineServing(),
		"llm-serving":     llmServing(),
		"gpt2-tuning":     gpt2Tuning(),
	}
}

// Inputs are where, by container, the catalog's programs look for what `stage` brings: <container>/<prefix>.
func Inputs() map[string]string {
	return map[string]string{"aurora": "aurora/data", "llm-pipeline": "llm-pipeline/data", "models": "models"}
}

// Adapters are where, by container, its training programs leave the adapters that batch and serving look for: <container>/<prefix>.
func Adapters() map[string]string {
	return map[string]string{"aurora": "aurora/adapters", "llm-pipeline": "llm-pipeline/adapters"}
}

// smoke is what a user runs first: it needs no GPU, takes a minute, and fails with a distinct message if any node does not take part.
func smoke() Workload {
	w := Defaults()
	w.Workers = 2
	w.Script = "smoke.py"
	w.ActiveDeadline = metav1.Duration{Duration: 90 * time.Minute}
	return w
}

// stage brings models and data into the storage, where the others read them. It needs no GPU: what it has in memory at once are four states
// of the weather, of 0.3 GB each.
func stage() Workload {
	w := Defaults()
	w.Script = "stage.py"
	w.Worker = WorkerSize{Size: size("4", "16Gi")}
	// A CPU for each mount.
	w.Head = size("3", "4Gi")
	w.Storage = []string{"aurora", "llm-pipeline", "models"}
	// What is complete is left alone, so an attempt that a server on the internet has ended is taken up by the next.
	w.Retries = 3
	w.ActiveDeadline = metav1.Duration{Duration: 6 * time.Hour}
	return w
}

// auroraFinetune trains a LoRA adapter of Microsoft's weather model on one GPU. A step takes about 8 s on an A100, so six hours are for
// 2700 of them; the program's default is 100.
func auroraFinetune() Workload {
	w := training("aurora_finetune.py", "aurora")
	w.ActiveDeadline = metav1.Duration{Duration: 6 * time.Hour}
	return w
}

// llmTraining trains a LoRA adapter of Qwen2.5-7B. In Microsoft's AKS sample four GPUs take 19 minutes for a thousand short rows and five
// epochs, so eight hours are for twenty times as much.
func llmTraining() Workload {
	w := training("llm_finetune.py", "llm-pipeline")
	w.Workers = 4
	w.ActiveDeadline = metav1.Duration{Duration: 8 * time.Hour}
	return w
}

// batchInference answers a file of prompts with the adapter that llm-training has written. In Microsoft's AKS sample that takes 9 minutes,
// most of them to load the model.
func batchInference() Workload {
	w := training("batch_inference.py", "llm-pipeline")
	w.ActiveDeadline = metav1.Duration{Duration: 4 * time.Hour}
	return w
}

// gpt2Tuning searches learning rate and LoRA rank for a small language model, each trial on one core. It needs no GPU: its two workers fit
// two nodes of Standard_D4ds_v6, or one of Standard_D8ds_v6.
func gpt2Tuning() Workload {
	w := training("tune_gpt2.py", "llm-pipeline")
	w.Workers = 2
	w.Worker = WorkerSize{Size: size("3", "10Gi")}
	w.ActiveDeadline = metav1.Duration{Duration: 4 * time.Hour}
	return w
}

// onlineServing forecasts with the adapter that aurora-finetune has written.
func onlineServing() Workload { return serving("serve_aurora.py", "aurora", "/aurora") }

// llmServing answers chats with the adapter that llm-training has written.
func llmServing() Workload { return serving("serve_llm.py", "llm-pipeline", "/llm") }

// serving is a service on one GPU of a pool that no queue counts.
func serving(script, container, prefix string) Workload {
	w := defaults(KindRayService)
	w.Script = script
	w.Pool = "serve"
	w.Worker = gpuWorker()
	w.Head = driverHead()
	w.Storage = []string{container, "models"}
	w.RoutePrefix = prefix
	return w
}

// training is a job on one GPU that reads models and data. What it writes for itself, its checkpoints among that, lies with the other runs'.
func training(script, container string) Workload {
	w := Defaults()
	w.Script = script
	w.Worker = gpuWorker()
	w.Head = driverHead()
	w.Storage = []string{container, "models"}
	w.Output = container + "/runs"
	// A program goes on from its last checkpoint, so a retry costs little. What fails four times does so for a reason.
	w.Retries = 3
	return w
}

// gpuWorker is a pod with one GPU. Eight of them fit a node of Standard_ND96amsr_A100_v4, which has 94 cores for pods. Of memory there
// would be 228.9 GiB each, and 210.0 GiB on Standard_NC24ads_A100_v4; half of that is ample for the programs: Qwen2.5-7B is 15 GB, and a
// sample of Aurora 0.9 GB.
func gpuWorker() WorkerSize { return WorkerSize{Size: size("11", "110Gi"), GPUs: 1} }

// driverHead is the head of Microsoft's AKS sample of the Aurora job, whose driver holds no data either.
func driverHead() Size { return size("2", "8Gi") }

func size(cpus, memory string) Size {
	return Size{CPUs: resource.MustParse(cpus), Memory: resource.MustParse(memory)}
}
