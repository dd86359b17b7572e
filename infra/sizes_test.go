package infra

import (
	"strings"
	"testing"
)

// h100 is a size that the table lacks.
var h100 = Size{VCPUs: 40, MemoryGiB: 320, NVMeGiB: 3576, GPUs: 1, GPUMemoryGiB: 94, QuotaFamily: "StandardNCadsH100v5Family"}

// small is a size that AKS takes for user pools alone.
var small = Size{VCPUs: 2, MemoryGiB: 8, NVMeGiB: 110, QuotaFamily: "standardDdsv6Family"}

func TestSizesOfConfigAreFoundBesideTheTable(t *testing.T) {
	args := valid()
	args.SKUs = map[string]Size{"Standard_NC40ads_H100_v5": h100}
	for name, gpus := range map[string]int64{"standard_nc40ads_h100_V5": 1, "Standard_ND96asr_v4": 8, "standard_d8ds_v6": 0} {
		size, err := args.SKU(Pool{VMSize: name})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.EqualFold(size.Name, name) || size.GPUs != gpus {
			t.Errorf("%s is %+v", name, size)
		}
	}
	_, err := args.SKU(Pool{VMSize: "Standard_NC40ads_H100"})
	if err == nil || !strings.Contains(err.Error(), "did you mean Standard_NC40ads_H100_v5?") {
		t.Errorf("a declared size is not suggested: %v", err)
	}
}

func TestKnownSizesMayBeRepeated(t *testing.T) {
	args := valid()
	args.SKUs = map[string]Size{"standard_D4ds_v6": {VCPUs: 4, MemoryGiB: 16, NVMeGiB: 220, QuotaFamily: "standardDdsv6Family"}}
	if err := args.Validate(); err != nil {
		t.Errorf("a size that is declared as it is known is refused: %v", err)
	}
}

// TestNoOrderDependsOnAMap: names that differ in their case alone were found in any order.
func TestNoOrderDependsOnAMap(t *testing.T) {
	args := valid()
	args.SKUs = map[string]Size{"Standard_H": h100, "standard_h": small, "STANDARD_H": {}}
	args.Pools["h"] = Pool{VMSize: "standard_H", Max: 1}
	first := args.Validate().Error()
	for range 50 {
		if again := args.Validate().Error(); again != first {
			t.Fatalf("messages vary:\n%s\n\n%s", first, again)
		}
	}
}

// TestNodesOfWhatIsRefusedAreOpen: what follows from a mistake is not to be reported too.
func TestNodesOfWhatIsRefusedAreOpen(t *testing.T) {
	for name, change := range map[string]func(*Args){
		"unknown":  func(a *Args) { a.Pools[CPUPool] = Pool{VMSize: "big", Max: 1} },
		"GPUs":     func(a *Args) { a.Pools[CPUPool] = Pool{VMSize: "Standard_NC24ads_A100_v4", Max: 1} },
		"serving":  func(a *Args) { a.Pools[CPUPool] = Pool{VMSize: "Standard_D8ds_v6", Max: 1, Serving: true} },
		"no nodes": func(a *Args) { a.Pools[CPUPool] = Pool{VMSize: "Standard_D8ds_v6"} },
		"declared badly": func(a *Args) {
			a.SKUs, a.Pools[CPUPool] = map[string]Size{"Standard_H": {}}, Pool{VMSize: "Standard_H", Max: 1}
		},
	} {
		args := valid()
		change(&args)
		if size, ok := args.Node(CPUPool); ok {
			t.Errorf("%s: taken for %+v", name, size)
		}
	}
	args := valid()
	if size, ok := args.Node(CPUPool); !ok || size.VCPU != 8 {
		t.Errorf("got %+v, %v", size, ok)
	}
}

// TestTheCPUPoolNeverServes: it is said once, and all that asks goes by it.
func TestTheCPUPoolNeverServes(t *testing.T) {
	args := valid()
	args.Pools = Pools{CPUPool: {VMSize: "Standard_D8ds_v6", Max: 1, Serving: true}, "serve": {VMSize: "Standard_D8ds_v6", Max: 1, Serving: true}}
	if args.Serves(CPUPool) || !args.Serves("serve") {
		t.Errorf("cpu serves: %t, serve does: %t", args.Serves(CPUPool), args.Serves("serve"))
	}
	if _, ok := args.Node(CPUPool); ok || args.checkNodes("infra.pools.cpu", CPUPool) == nil {
		t.Error("a CPU pool that would serve is usable")
	}
	if _, ok := args.Node("serve"); !ok {
		t.Error("a pool for services is not")
	}
}

func TestSizesAreThoseOfTableAndConfig(t *testing.T) {
	args := valid()
	args.SKUs = map[string]Size{"Standard_NC40ads_H100_v5": h100, "standard_D4ds_v6": {VCPUs: 4, MemoryGiB: 16, NVMeGiB: 220, QuotaFamily: "standardDdsv6Family"}}
	if got, want := len(args.Sizes()), len(valid().Sizes())+1; got != want {
		t.Errorf("%d sizes, want %d", got, want)
	}
}
