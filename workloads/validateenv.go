package workloads

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// maxEnvironment is for all variables of a workload, as JSON writes them. etcd takes an object of 1.5 MiB, and that of a run has them
	// twice, for head and workers. https://etcd.io/docs/v3.6/dev-guide/limit/
	maxEnvironment = 512 << 10
	// reservedEnv begins the names of the variables that every pod is given.
	reservedEnv = "RUN_"
	// serveToken is the variable with a service's token. Others that begin with SERVE_ are the serving programs' own knobs.
	serveToken = "SERVE_TOKEN"
	// authEnv begins the names of the variables with which KubeRay gives a cluster its token.
	authEnv = "RAY_AUTH_"
)

// clusterEnv are the other variables that KubeRay sets only where they are absent.
var clusterEnv = []string{"RAY_ADDRESS", "RAY_CLUSTER_NAME", "FQ_RAY_IP", "RAY_IP", "RAY_PORT"}

// validateEnv checks the variables that the workload gives its program.
func (w Workload) validateEnv(path string) error {
	var errs []error
	add := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s"+format, append([]any{path}, args...)...))
	}
	for _, name := range slices.Sorted(maps.Keys(w.Env)) {
		if msgs := validation.IsEnvVarName(name); len(msgs) > 0 {
			add(".%s: is no name for a variable: %s", name, strings.Join(msgs, "; "))
		}
		if strings.HasPrefix(name, reservedEnv) {
			add(".%s: names that begin with %s are set by the program; choose another", name, reservedEnv)
		}
		if slices.Contains(clusterEnv, name) || strings.HasPrefix(name, authEnv) {
			add(".%s: belongs to KubeRay, which would leave yours in place and lose the cluster's address or its token; leave it out", name)
		}
		if name == serveToken {
			add(".%s: is set by the program, from a Secret; leave it out", name)
		}
		errs = append(errs, checkArgument(path+"."+name, w.Env[name], maxVariable-len(name)))
	}
	return errors.Join(append(errs, w.checkEnvironment(path))...)
}

// checkEnvironment refuses more than an object can hold of variables of which each by itself is small enough.
func (w Workload) checkEnvironment(path string) error {
	total := 0
	for name, value := range w.Env {
		if checkArgument("", value, maxVariable-len(name)) != nil {
			return nil //nolint:nilerr // it is reported by itself
		}
		quoted, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", path, name, err)
		}
		total += len(name) + len(quoted)
	}
	if total <= maxEnvironment {
		return nil
	}
	return fmt.Errorf("%s: must be at most %d bytes in all, got %d: head and workers are given each variable, and Kubernetes keeps no object of more than 1.5 MiB; "+
		"put what is large into a file in a container of storage", path, maxEnvironment, total)
}
