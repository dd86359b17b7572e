package workloads

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// locks are the libraries of each image of workloads/images, with their hashes.
//
//go:embed images/*/requirements.txt
var locks embed.FS

// dependencies name, by program, the image of workloads/images that has the libraries which the default image lacks. A program that is
// not listed needs none.
var dependencies = map[string]dependency{
	"aurora_finetune.py": {"aurora", "aurora"}, "serve_aurora.py": {"aurora", "aurora"}, "stage.py": {"aurora", "aurora"},
	"llm_finetune.py": {"llm", "llm"}, "tune_gpt2.py": {"llm", "llm"},
	// vLLM is for GPUs; on CPUs the other engine answers.
	"batch_inference.py": {"vllm", "llm"}, "serve_llm.py": {"vllm", "llm"},
}

// dependency names the images for workers with GPUs and for those without.
type dependency struct{ gpus, cpus string }

// lockFile is the lock among a run's scripts.
const lockFile = "requirements.txt"

const (
	// installTimeout is in seconds. The largest of the locks has some 8 GB, and Ray's own default of 600 is for small ones.
	installTimeout = 1800
	// startTimeout is how long, in seconds, Ray lets a job be pending, which it is while its driver's libraries are installed. Ray's own
	// default is 900.
	startTimeout = installTimeout + 300
	// startTimeoutEnv is the variable by which the head's dashboard is told.
	startTimeoutEnv = "RAY_JOB_START_TIMEOUT_SECONDS"
)

// installs names the image whose libraries w installs when its pods are up: that of its program, unless w has an image of its own, which
// is then taken to have them.
func (a Args) installs(w Workload) string {
	if w.Image != a.Versions.Image {
		return ""
	}
	needs := dependencies[w.Script]
	if w.Worker.GPUs == 0 {
		return needs.cpus
	}
	return needs.gpus
}

// installWarnings say, once an image, which enabled workloads install its libraries again and again.
func (a Args) installWarnings() []string {
	keys := map[string][]string{}
	for _, name := range a.Declared.enabled() {
		if image := a.installs(a.resolved(a.Declared[name])); image != "" {
			keys[image] = append(keys[image], "workloads."+name+".image")
		}
	}
	var warnings []string
	for _, image := range slices.Sorted(maps.Keys(keys)) {
		warnings = append(warnings, fmt.Sprintf("%s: not set, so every pod first installs the libraries of workloads/images/%s, which may take many "+
			"minutes of its node; build that image once and name it there", strings.Join(keys[image], ", "), image))
	}
	return warnings
}

// filesOf returns all that a run of w brings along, by path: its scripts, and the lock of what it installs. Ray is told the lock's path
// and not its lines: they would not fit into the variable by which Ray hands a runtime environment on, and Ray drops a line that it has
// seen before, which may be a hash.
func (a Args) filesOf(w Workload) (map[string]string, error) {
	files, err := scriptsOf(w)
	if err != nil {
		return nil, err
	}
	if image := a.installs(w); image != "" {
		lock, err := locks.ReadFile(path.Join("images", image, lockFile))
		if err != nil {
			return nil, fmt.Errorf("reading the lock of image %s: %w", image, err)
		}
		files[lockFile] = string(lock)
	}
	return files, nil
}

// runtimeEnv is what Ray sets up on each node before it starts a worker there.
// https://docs.ray.io/en/releases-2.55.1/ray-core/handling-dependencies.html#api-reference
type runtimeEnv struct {
	Pip    pipEnv    `json:"pip"`
	Config envConfig `json:"config"`
}

type pipEnv struct {
	Packages       []string `json:"packages"`
	InstallOptions []string `json:"pip_install_options"`
}

type envConfig struct {
	SetupTimeoutSeconds int `json:"setup_timeout_seconds"`
}

// imageEnv are the variables that the Dockerfiles of workloads/images set; why is said there. As with an image, the workload's own win.
func imageEnv() map[string]string {
	return map[string]string{"HF_HUB_DISABLE_TELEMETRY": "1", "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
}

// installEnv are the variables of pods that install.
func installEnv() map[string]string {
	env := imageEnv()
	env[startTimeoutEnv] = strconv.Itoa(startTimeout)
	return env
}

// installs says whether the run brings a lock.
func (r Run) installs() bool { return r.scripts[lockFile] != "" }

// runtimeEnv returns the environment with the libraries of the run's lock, or nil where it brings none.
func (r Run) runtimeEnv() *runtimeEnv {
	if !r.installs() {
		return nil
	}
	return &runtimeEnv{
		// Ray's own two options, which ours would replace, and that what has no hash is refused.
		Pip: pipEnv{
			Packages:       []string{"-r " + path.Join(scriptsPath, lockFile)},
			InstallOptions: []string{"--disable-pip-version-check", "--no-cache-dir", "--require-hashes"},
		},
		Config: envConfig{SetupTimeoutSeconds: installTimeout},
	}
}

// runtimeEnvYAML is the environment as a RayJob carries it; empty where there is none.
func (r Run) runtimeEnvYAML() string {
	env := r.runtimeEnv()
	if env == nil {
		return ""
	}
	// Strings and numbers always encode.
	data, _ := yaml.Marshal(env)
	return string(data)
}
