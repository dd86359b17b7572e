package workloads

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// maxName is the longest name of a RayJob from which KubeRay can derive the names of its cluster, services and pods.
const maxName = 47

// hashLength is how much of the hash goes into a name: 32 bits, among the few runs of one workload.
const hashLength = 8

// maxBaseName leaves room for the hyphen and the hash.
const maxBaseName = maxName - hashLength - 1

// notIdentity are the fields that do not make another run: whether it exists at all, and what happens to it when it is replaced.
var notIdentity = []string{"enabled", "keep"}

// notResult are the fields that may differ between runs that compute the same thing, beside notIdentity. Checkpoints and outputs of such
// runs lie in the same place, so that a run with a longer deadline or more memory goes on where the last one stopped.
var notResult = []string{"queue", "retries", "activeDeadline", "preRunningDeadline", "worker", "head"}

// Run is one run of a workload. All of it is derived from plain values, so it is known at preview of an empty stack.
type Run struct {
	// Workload is the workload's name in config.
	Workload string
	// Name is the object's name and part of the Pulumi name: a new run is a create and the old one a delete.
	Name string
	// ID names what is computed: checkpoints and outputs lie under it.
	ID string
	// ScriptsName is the name of the ConfigMap with the scripts; empty where there are none.
	ScriptsName string
}

// newRun derives a run's identity from its intent: the config and the bytes of its scripts. It never looks at the rendered object, or an
// upgrade of this program would run every job again.
func newRun(name string, w Workload, scripts map[string]string) (Run, error) {
	identity, err := intentHash(w, scripts, notIdentity)
	if err != nil {
		return Run{}, err
	}
	result, err := intentHash(w, scripts, slices.Concat(notIdentity, notResult))
	if err != nil {
		return Run{}, err
	}
	run := Run{Workload: name, Name: name + "-" + identity, ID: name + "-" + result}
	if len(scripts) > 0 {
		run.ScriptsName = name + "-scripts-" + contentHash(scripts)
	}
	return run, nil
}

// intentHash hashes the fields of w by their config keys. Fields without a value are left out, so that a field which a later release adds
// does not change the hash of workloads that do not use it.
func intentHash(w Workload, scripts map[string]string, without []string) (string, error) {
	data, err := json.Marshal(w)
	if err != nil {
		return "", err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return "", err
	}
	for _, name := range without {
		delete(fields, name)
	}
	dropZero(fields)
	if len(scripts) > 0 {
		fields["scriptBytes"] = contentHash(scripts)
	}
	return hash(fields)
}

// dropZero removes fields without a value, those of nested objects too. Variables are the user's own keys, where empty is a value.
func dropZero(fields map[string]any) {
	maps.DeleteFunc(fields, func(key string, v any) bool {
		if nested, ok := v.(map[string]any); ok {
			if key != "env" {
				dropZero(nested)
			}
			return len(nested) == 0
		}
		return v == nil || v == "" || v == 0.0 || v == false
	})
}

func contentHash(files map[string]string) string {
	// A map of strings always encodes.
	h, _ := hash(files) //nolint:errcheck // see above
	return h
}

// hash encodes as JSON, which orders keys.
func hash(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:hashLength], nil
}
