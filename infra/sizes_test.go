package infra

import (
	"strings"
	"testing"
)

// h100 is a size that the table lacks.
var h100 = Size{VCPUs: 40, MemoryGiB: 320, NVMeGiB: 3576, GPUs: 1, GPUMemoryGiB: 94, QuotaFamily: "StandardNCadsH100v5Family"}

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
