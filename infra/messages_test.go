package infra

import (
	"strings"
	"testing"

	"ray-on-aks/internal/strict"
)

func TestBoundsOfAPoolBlameWhatWasWritten(t *testing.T) {
	for data, want := range map[string]string{
		`{"cpu": {"min": 9}}`:                                  "infra.pools.cpu.max: must be set too: its default is 2, and min is 9",
		`{"cpu": {"min": 9, "max": 3}}`:                        "infra.pools.cpu.max: must be between min 9 and 254, got 3",
		`{"big": {"vmSize": "Standard_D8ds_v6"}}`:              "infra.pools.big.max: must be set, to between 1 and 254: it has no default here",
		`{"cpu": {"min": 2000}}`:                               "infra.pools.cpu.min: must be between 0 and 254, got 2000: the cluster's address range 10.244.0.0/16 holds 256 nodes, those of the system pool among them",
		`{"cpu": {"min": 1, "max": 3, "count": 0}}`:            "infra.pools.cpu.count: must be between min 1 and max 3, got 0; it is the number at creation only",
		`{"cpu": {"min": 1}}`:                                  "",
		`{"gpu": {"vmSize": "Standard_ND96asr_v4", "max": 1}}`: "",
	} {
		args := valid()
		if err := strict.Decode("infra", []byte(`{"pools": `+data+`}`), &args); err != nil {
			t.Fatal(err)
		}
		if err := args.Validate(); errorText(err) != want {
			t.Errorf("%s: got %v, want %s", data, err, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestSuggestionsWouldDo: what a message suggests must not be refused in turn.
func TestSuggestionsWouldDo(t *testing.T) {
	for name, tc := range map[string]struct {
		change    func(*Args)
		want, not string
	}{
		"system":          {func(a *Args) { a.Pools["System"] = a.Pools[CPUPool] }, "infra.pools.System: ", "would do"},
		"taken":           {func(a *Args) { a.Pools["CPU"] = a.Pools[CPUPool] }, "infra.pools.CPU: ", "would do"},
		"taken container": {func(a *Args) { a.Storage.Containers = []string{"models", "Models"} }, "infra.storage.containers[1]: ", "would do"},
		"GPUs on cpu":     {func(a *Args) { a.Pools[CPUPool] = Pool{VMSize: "Standard_NC24ads_A100", Max: 1} }, "unknown VM size", "A100_v4"},
		"GPUs on system":  {func(a *Args) { a.Cluster.System.VMSize = "Standard_NC24ads_A100" }, "unknown VM size", "A100_v4"},
		"too small system": {func(a *Args) {
			a.SKUs = map[string]Size{"Standard_D2ds_v6": small}
			a.Cluster.System.VMSize = "Standard_D2s_v6"
		}, "unknown VM size", "mean Standard_D2ds_v6"},
	} {
		args := valid()
		tc.change(&args)
		if err := args.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), tc.not) {
			t.Errorf("%s: want %q without %q, got: %v", name, tc.want, tc.not, err)
		}
	}
}

// TestOneCauseIsOneError: nothing is reported a second time in other words.
func TestOneCauseIsOneError(t *testing.T) {
	for name, change := range map[string]func(*Args){
		"name":            func(a *Args) { a.Name = "-a_b." },
		"longest name":    func(a *Args) { a.Name = strings.Repeat("a", 100) },
		"service account": func(a *Args) { a.ServiceAccount = strings.Repeat("A", 200) },
		"long account": func(a *Args) {
			*a = large()
			a.ServiceAccount = strings.Repeat("a", 63)
			a.Tenants[0].Namespace, a.Tenants[1].Namespace = strings.Repeat("b", 63), strings.Repeat("c", 63)
		},
		"container": func(a *Args) {
			a.Storage.Containers = []string{"a--b", "a--b"}
			a.Storage.Containers = a.Storage.Containers[:1]
		},
		"repeated": func(a *Args) { a.Storage.Containers = []string{"models", "models"} },
		"zone":     func(a *Args) { a.Cluster.System.Zones = Zones{"1", "1"} },
		"size":     func(a *Args) { a.Pools["gpu"] = Pool{VMSize: "big", Max: 1} },
		"declared size": func(a *Args) {
			a.SKUs = map[string]Size{"Standard_H": {}}
			a.SKUs["Standard_H"] = Size{VCPUs: 1, MemoryGiB: 8, QuotaFamily: "x"}
			a.Pools["h"] = Pool{VMSize: "Standard_H", Max: 1}
		},
		"size twice": func(a *Args) { a.SKUs = map[string]Size{"Standard_H": h100, "standard_h": {}} },
		"min":        func(a *Args) { a.Pools[CPUPool] = Pool{VMSize: "Standard_D8ds_v6", Min: 9, Max: 2} },
		"many nodes": func(a *Args) { a.Pools[CPUPool] = Pool{VMSize: "Standard_D8ds_v6", Max: 5000} },
		"system":     func(a *Args) { a.Pools["system"] = a.Pools[CPUPool] },
	} {
		args := valid()
		change(&args)
		if err := args.Validate(); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: want one error, got: %v", name, err)
		}
	}
}

// TestLongestNamesFit holds what ruleStack says of names that are made of others.
func TestLongestNamesFit(t *testing.T) {
	args := valid()
	args.Name = strings.Repeat("a", ruleStack.max)
	longest := Tenant{Name: strings.Repeat("b", 63)}
	if n := len(args.resourceGroupName()); n > 90 {
		t.Errorf("the resource group's name has %d characters", n)
	}
	if n := len(args.clusterName()); n > 63 {
		t.Errorf("the cluster's name has %d characters", n)
	}
	if n := len(args.identityName(longest)); n > 128 {
		t.Errorf("an identity's name has %d characters", n)
	}
}
