package workloads

import (
	"reflect"
	"testing"
)

// TestWhatARunIsBoundToMakesAnother, of the same run id: its object in the cluster cannot be moved.
func TestWhatARunIsBoundToMakesAnother(t *testing.T) {
	before, err := newRun("smoke", smoke(), jobs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []bound{{Queue: "others", ServiceAccount: jobs.ServiceAccount}, {Queue: jobs.Queue, ServiceAccount: "other"}} {
		after, err := newRun("smoke", smoke(), to, nil)
		if err != nil {
			t.Fatal(err)
		}
		if after.Name == before.Name || after.ID != before.ID {
			t.Errorf("bound to %+v: %s, %s; before %s, %s", to, after.Name, after.ID, before.Name, before.ID)
		}
	}
	a := stack(job())
	was, err := a.Runs()
	if err != nil {
		t.Fatal(err)
	}
	a.ServiceAccount = "other"
	if is, err := a.Runs(); err != nil || is[0].Name == was[0].Name {
		t.Errorf("with another account the run is %+v, %v", is, err)
	}
}

// TestTheNotationIsNoOther: what is the same amount, or the same command, is the same run.
func TestTheNotationIsNoOther(t *testing.T) {
	of := func(cpus, memory, command string) Run {
		w := running(command)
		w.Worker.Size, w.Head = size(cpus, memory), size(cpus, memory)
		run, err := newRun("mine", w, jobs, nil)
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	want := of("1500m", "4Gi", "true")
	for _, got := range []Run{of("1.5", "4294967296", "true"), of("1500e-3", "4096Mi", " true\n"), of("1500000u", "4194304Ki", "true")} {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
