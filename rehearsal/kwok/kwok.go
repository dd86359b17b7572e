// Package kwok configures KWOK, which keeps simulated nodes alive and moves
// the pods on them through their phases.
package kwok

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// stages are the folders of KWOK's module that hold the stages in use.
var stages = []string{"node/fast", "node/heartbeat-with-lease", "pod/fast"}

// Exclusions are the pods that others bring through their phases.
type Exclusions struct {
	// Images of pods that get a local process: the ends of their repositories.
	Images []string
	// Submitter is the container name of pods that the head stand-in ends.
	Submitter string
}

// WriteConfig assembles KWOK's configuration from its module's own stages.
func WriteConfig(path, moduleDir string, except Exclusions) error {
	var documents []string
	for _, stage := range stages {
		files, err := filepath.Glob(filepath.Join(moduleDir, "kustomize", "stage", filepath.FromSlash(stage), "*.yaml"))
		if err != nil {
			return err
		}
		for _, file := range files {
			document, err := readStage(file, except)
			if err != nil {
				return fmt.Errorf("reading stage %s: %w", file, err)
			}
			if document != "" {
				documents = append(documents, document)
			}
		}
	}
	if len(documents) == 0 {
		return fmt.Errorf("KWOK's module in %s holds no stages", moduleDir)
	}
	return os.WriteFile(path, []byte(strings.Join(documents, "---\n")), 0o600)
}

// readStage answers a stage, narrowed by the exclusions; a kustomization is
// no stage and is passed over.
func readStage(file string, except Exclusions) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var stage struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal(data, &stage); err != nil {
		return "", err
	}
	if stage.Kind != "Stage" {
		return "", nil
	}
	reference, _ := stage.Spec["resourceRef"].(map[string]any)
	if reference["kind"] == "Pod" {
		exclude(stage.Spec, fmt.Sprintf(`.spec.containers.[].image | select( test("/(%s)(:|@|$)") )`,
			strings.Join(except.Images, "|")))
	}
	if stage.Metadata["name"] == "pod-complete" {
		exclude(stage.Spec, fmt.Sprintf(`.spec.containers.[].name | select( . == %q )`, except.Submitter))
	}
	out, err := yaml.Marshal(stage)
	return string(out), err
}

// exclude adds the condition that the query finds nothing.
func exclude(spec map[string]any, query string) {
	selector, _ := spec["selector"].(map[string]any)
	expressions, _ := selector["matchExpressions"].([]any)
	selector["matchExpressions"] = append(expressions, map[string]any{"key": query, "operator": "DoesNotExist"})
}

// Args answers KWOK's command line.
func Args(kubeconfig, config string) []string {
	return []string{
		// The flag takes a list, in CSV.
		"--kubeconfig=" + kubeconfig, `--config="` + strings.ReplaceAll(config, `"`, `""`) + `"`,
		"--manage-all-nodes=true", "--node-lease-duration-seconds=40",
		// Process pods take their addresses from the range after this one.
		"--cidr=10.244.0.0/16",
	}
}
