package infra

import (
	"slices"
	"testing"

	"ray-on-aks/internal/stacktest"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func TestAllowReplaceTakesProtectionOff(t *testing.T) {
	all := []string{"infra-cluster", "infra-container-aurora", "infra-container-models", "infra-pool-cpu", "infra-pool-gpu", "infra-pool-serve", "infra-storage", "infra-storage-retention"}
	for _, tc := range []struct {
		allow     []string
		protected []string
	}{
		{nil, all},
		{[]string{"storage"}, []string{"infra-cluster", "infra-pool-cpu", "infra-pool-gpu", "infra-pool-serve"}},
		{[]string{"pools.gpu"}, slices.DeleteFunc(slices.Clone(all), func(n string) bool { return n == "infra-pool-gpu" })},
		{[]string{"cluster"}, []string{"infra-container-aurora", "infra-container-models", "infra-storage", "infra-storage-retention"}},
	} {
		args := large()
		args.Protect, args.AllowReplace = true, tc.allow
		var protected []string
		for _, r := range run(t, args).Resources {
			if r.Protect {
				protected = append(protected, r.Name)
			}
		}
		if !slices.Equal(protected, tc.protected) {
			t.Errorf("allowing %v protects %v, want %v", tc.allow, protected, tc.protected)
		}
	}
}

func TestTheGuardIsProtectedAsTheClusterIs(t *testing.T) {
	for _, tc := range []struct {
		protect bool
		allow   []string
		want    bool
	}{{true, nil, true}, {true, []string{"storage"}, true}, {true, []string{"cluster"}, false}, {false, nil, false}} {
		args := large()
		args.Protect, args.AllowReplace = tc.protect, tc.allow
		r := stacktest.Run(t, func(ctx *pulumi.Context) error {
			c, err := New(ctx, "infra", args)
			if err != nil {
				return err
			}
			return c.Guard(ctx, nil)
		}, stacktest.Options{Stack: "test"})
		if got := r.One(t, GuardType).Protect; got != tc.want {
			t.Errorf("protect %v, allowing %v: the guard is protected: %v", tc.protect, tc.allow, got)
		}
	}
}

func TestNothingIsProtectedUnlessAsked(t *testing.T) {
	for _, r := range run(t, large()).Resources {
		if r.Protect {
			t.Errorf("%s is protected", r.URN())
		}
	}
}

func TestAPoolThatGoesIsNamedWhileItIsThere(t *testing.T) {
	args := large()
	args.AllowReplace = []string{"pools.old"}
	want := "infra.allowReplace[0]: \"pools.old\" names nothing that is protected; " +
		"to take a pool out, name it here in one `up` while infra.pools has it, and then take both out"
	if err := args.Validate(); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
