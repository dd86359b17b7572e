package workloads

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaults is what a workload is where config says nothing.
func defaults() Workload {
	return Workload{
		Kind:               KindRayJob,
		Workers:            1,
		Worker:             size("1", "4Gi"),
		Head:               size("1", "4Gi"),
		ActiveDeadline:     metav1.Duration{Duration: time.Hour},
		PreRunningDeadline: metav1.Duration{Duration: 45 * time.Minute},
	}
}

// Catalog is what the program knows to run. Its entries are ordinary workloads, off until a stack enables them; a stack file may change
// any field.
func Catalog() Jobs {
	return Jobs{"smoke": smoke()}
}

// smoke is what a user runs first: it needs no GPU, takes a minute, and fails with a distinct message if any node does not take part.
func smoke() Workload {
	w := defaults()
	w.Workers = 2
	w.Script = "smoke.py"
	w.ActiveDeadline = metav1.Duration{Duration: 90 * time.Minute}
	return w
}

func size(cpus, memory string) Size {
	return Size{CPUs: resource.MustParse(cpus), Memory: resource.MustParse(memory)}
}
