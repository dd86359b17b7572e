package workloads

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// locks are the libraries of each image of workloads/images, with their hashes.
//
//go:embed images/*/requirements.txt
var locks embed.FS

// dependencies name, by program, the image of workloads/images that has the libraries which the default image lacks. A program that is
// not listed needs none.
var dependencies = map[string]string{
	"aurora_finetune.py": "aurora", "serve_aurora.py": "aurora", "stage.py": "aurora",
	"llm_finetune.py": "llm", "tune_gpt2.py": "llm",
	"batch_inference.py": "vllm", "serve_llm.py": "vllm",
}

// lockFile is the lock among a run's scripts.
const lockFile = "requirements.txt"

// installTimeout is in seconds. The largest of the locks has some 8 GB, and Ray's own default of 600 is for small ones.
const installTimeout = 1800

// installs names the image whose libraries w installs when its pods are up: that of its program, unless w has an image of its own, which
// is then taken to have them.
func (a Args) installs(w Workload) string {
	if w.Image != a.Versions.Image {
		return ""
	}
	return dependencies[w.Script]
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
	Pip     pipEnv            `json:"pip"`
	EnvVars map[string]string `json:"env_vars"`
	Config  envConfig         `json:"config"`
}

type pipEnv struct {
	Packages       []string `json:"packages"`
	InstallOptions []string `json:"pip_install_options"`
}

type envConfig struct {
	SetupTimeoutSeconds int `json:"setup_timeout_seconds"`
}

// imageEnv are the variables that the Dockerfiles of workloads/images set; why is said there.
func imageEnv() map[string]string {
	return map[string]string{"HF_HUB_DISABLE_TELEMETRY": "1", "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
}

// runtimeEnv returns the environment with the libraries of the run's lock, or nil where it brings none.
func (r Run) runtimeEnv() *runtimeEnv {
	if _, ok := r.scripts[lockFile]; !ok {
		return nil
	}
	return &runtimeEnv{
		// Ray's own two options, which ours would replace, and that what has no hash is refused.
		Pip: pipEnv{
			Packages:       []string{"-r " + path.Join(scriptsPath, lockFile)},
			InstallOptions: []string{"--disable-pip-version-check", "--no-cache-dir", "--require-hashes"},
		},
		EnvVars: imageEnv(),
		Config:  envConfig{SetupTimeoutSeconds: installTimeout},
	}
}

// runtimeEnvYAML is the environment as a RayJob carries it; empty where there is none.
func (r Run) runtimeEnvYAML() string {
	env := r.runtimeEnv()
	if env == nil {
		return ""
	}
	// Strings and numbers always encode.
	data, _ := yaml.Marshal(env) //nolint:errcheck // see above
	return string(data)
}
