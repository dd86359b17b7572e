package supervisor

import (
	"context"

	"ray-on-aks/rehearsal/pods"
	"ray-on-aks/rehearsal/toolchain"
)

// addPrograms adds a release of the operators to what pods can run.
func (s *Supervisor) addPrograms(ctx context.Context, paths map[string]string, module func(context.Context, string) (dir, version string, err error)) error {
	for _, p := range []struct{ image, tool, module string }{
		{"kueue/kueue", "kueue", toolchain.KueueModule}, {"kuberay/operator", "kuberay-operator", toolchain.KubeRayModule},
	} {
		_, version, err := module(ctx, p.module)
		if err != nil {
			return err
		}
		s.programs = append(s.programs, pods.Program{Image: p.image, Path: paths[p.tool], Version: version})
	}
	return nil
}
