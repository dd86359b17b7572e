package sku

import (
	"math"
	"strings"
	"testing"
)

func TestAllocatableFollowsAKS(t *testing.T) {
	// 8 cores reserve 180m; 32 GiB less 3 % is 31784 MiB, less 20*50+50 and 100.
	s, err := Lookup("standard_d8DS_v6")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.Node(), (Resources{MilliCPU: 7820, MemoryMiB: 30634}); got != want {
		t.Errorf("Node() = %+v, want %+v", got, want)
	}
	// Four pods of 2 vCPUs with two mounts each, 640 MiB a mount.
	if got, want := s.Allocatable(), (Resources{MilliCPU: 7320, MemoryMiB: 24490}); got != want {
		t.Errorf("Allocatable() = %+v, want %+v", got, want)
	}
}

func TestReservedCPUMatchesTheTable(t *testing.T) {
	for cores, want := range map[int64]int64{1: 60, 2: 100, 4: 140, 8: 180, 16: 260, 32: 420, 64: 740} {
		if got := reservedMilliCPU(cores); got != want {
			t.Errorf("%d cores: %dm, want %dm", cores, got, want)
		}
	}
}

func TestReservedMemoryIsCapped(t *testing.T) {
	if got := reservedMiB(2048, 250); got != 512 {
		t.Errorf("a small node reserves %d, want a quarter", got)
	}
}

func TestEverySizeIsWhole(t *testing.T) {
	for _, s := range All() {
		a := s.Allocatable()
		if s.QuotaFamily == "" || a.MilliCPU <= 0 || a.MemoryMiB <= 0 || a.GPUs != s.GPUs {
			t.Errorf("%s: %+v allocatable %+v", s.Name, s, a)
		}
		if s.VCPU > Most.VCPU || s.MemoryGiB > Most.MemoryGiB || s.NVMeGiB > Most.NVMeGiB || s.GPUs > Most.GPUs || s.GPUMemoryGiB > Most.GPUMemoryGiB {
			t.Errorf("%+v is more than the most", s)
		}
		if (s.GPUs > 0) != (s.GPUMemoryGiB > 0) {
			t.Errorf("%s: GPUs and their memory disagree", s.Name)
		}
	}
}

func TestMountsFollowThePodsThatHaveThem(t *testing.T) {
	for name, want := range map[string]int64{
		"Standard_D4ds_v6": 4, "Standard_D32ds_v6": 32, "Standard_NC24ads_A100_v4": 2, "Standard_NC48ads_A100_v4": 4, "Standard_ND96asr_v4": 16,
	} {
		s, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Mounts(); got != want {
			t.Errorf("%s: %d mounts, want %d", name, got, want)
		}
		kept := s.Node().MemoryMiB - s.Allocatable().MemoryMiB - DaemonSetMemoryMiB
		if kept != want*(MountPoolMiB+MountOverheadMiB) {
			t.Errorf("%s keeps %d MiB for %d mounts", name, kept, want)
		}
	}
	if got := (SKU{VCPU: 1}).Mounts(); got != 2 {
		t.Errorf("a node with fewer cores than a pod has %d mounts, want those of one pod", got)
	}
}

func TestMountsOfAPod(t *testing.T) {
	for _, tc := range []struct {
		pod  Resources
		want int64
	}{
		{Resources{MilliCPU: 500}, 0},
		{Resources{MilliCPU: 1000}, 1},
		{Resources{MilliCPU: 1999}, 1},
		{Resources{MilliCPU: 2000}, 2},
		{Resources{MilliCPU: 11000, GPUs: 1}, 2},
		{Resources{MilliCPU: 11000, GPUs: 2}, 4},
	} {
		if got := tc.pod.Mounts(); got != tc.want {
			t.Errorf("%+v: %d, want %d", tc.pod, got, tc.want)
		}
	}
	// As many pods as a node has room for never mount more than it keeps.
	for _, s := range All() {
		most := s.Allocatable()
		for cpus := int64(1); s.GPUs == 0 && cpus*1000 <= most.MilliCPU; cpus++ {
			pod := Resources{MilliCPU: cpus * 1000}
			if all := most.MilliCPU / pod.MilliCPU * pod.Mounts(); all > s.Mounts() {
				t.Errorf("%s keeps %d mounts, and pods of %d cores have %d", s.Name, s.Mounts(), cpus, all)
			}
		}
		for gpus := int64(1); gpus <= s.GPUs; gpus++ {
			if all := s.GPUs / gpus * (Resources{GPUs: gpus}).Mounts(); all > s.Mounts() {
				t.Errorf("%s keeps %d mounts, and pods of %d GPUs have %d", s.Name, s.Mounts(), gpus, all)
			}
		}
	}
}

func TestA100sAreAsAzureSellsThem(t *testing.T) {
	for name, want := range map[string]struct {
		gpus, memory int64
		family       string
	}{
		"Standard_NC24ads_A100_v4":  {1, 80, "StandardNCADSA100v4Family"},
		"Standard_NC48ads_A100_v4":  {2, 80, "StandardNCADSA100v4Family"},
		"Standard_NC96ads_A100_v4":  {4, 80, "StandardNCADSA100v4Family"},
		"Standard_ND96asr_v4":       {8, 40, "Standard NDASv4_A100 Family"},
		"Standard_ND96amsr_A100_v4": {8, 80, "Standard NDAMSv4_A100Family"},
	} {
		s, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.GPUs != want.gpus || s.GPUMemoryGiB != want.memory || s.QuotaFamily != want.family {
			t.Errorf("%+v, want %+v", s, want)
		}
	}
}

func TestUnknownSizeNamesTheKnown(t *testing.T) {
	_, err := Lookup("Standard_Z1")
	if err == nil || !strings.Contains(err.Error(), "Standard_D8ds_v6") {
		t.Errorf("unhelpful: %v", err)
	}
}

func TestExceedsNamesEachResource(t *testing.T) {
	over := Resources{MilliCPU: 2, MemoryMiB: 2, GPUs: 2}.Exceeds(Resources{MilliCPU: 1, MemoryMiB: 2, GPUs: 1})
	if len(over) != 2 {
		t.Errorf("got %v", over)
	}
}

func TestArithmeticDoesNotWrap(t *testing.T) {
	huge := Resources{MilliCPU: math.MaxInt64, MemoryMiB: math.MaxInt64/2 + 1, GPUs: 1}
	want := Resources{MilliCPU: math.MaxInt64, MemoryMiB: math.MaxInt64, GPUs: 2}
	for how, got := range map[string]Resources{"Times": huge.Times(2), "Plus": huge.Plus(huge)} {
		if got != want {
			t.Errorf("%s: %+v, want %+v", how, got, want)
		}
		if over := got.Exceeds(Resources{MilliCPU: 8000, MemoryMiB: 32768, GPUs: 2}); len(over) != 2 {
			t.Errorf("%s: exceeds only %v", how, over)
		}
	}
}
