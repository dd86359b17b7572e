package azurenative

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"ray-on-aks/rehearsal/cloud"
	"ray-on-aks/rehearsal/provider"
)

// Fault is a misbehaviour that a test asks of the emulated cloud, in the file
// that layout.Dir.Faults names. It happens once in each process of the provider.
type Fault struct {
	// Verb is the operation: create, read, update or delete. Empty: any that
	// writes.
	Verb string `json:"verb,omitempty"`
	// Type is the resource's token. Empty: any.
	Type string `json:"type,omitempty"`
	// After is how many operations that fit go well before.
	After int `json:"after,omitempty"`
	// Status and Code are those of ARM's refusal, such as 409 and Conflict.
	Status int    `json:"status"`
	Code   string `json:"code"`
	// Half lets the operation be accepted and fail on its way, as long-running
	// ones do: the resource is there, and says that it failed.
	Half bool `json:"half,omitempty"`
}

func (f Fault) fits(o Operation) bool {
	verb := f.Verb == o.Verb || f.Verb == "" && o.Verb != "read"
	return verb && (f.Type == "" || f.Type == o.Type) && f.Half == o.Accepted
}

// filedFaults makes the faults of a file happen.
type filedFaults struct {
	path string

	mu sync.Mutex
	// seen is how many operations have fitted each fault, by its place in the
	// file.
	seen map[int]int
}

// ask answers the refusal of the operation, or nil.
func (f *filedFaults) ask(_ context.Context, o Operation) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var faults []Fault
	if err == nil {
		err = json.Unmarshal(data, &faults)
	}
	if err != nil {
		return fmt.Errorf("reading the faults that a test asks for: %w", err)
	}
	for i, fault := range faults {
		if !fault.fits(o) {
			continue
		}
		f.seen[i]++
		if f.seen[i] == fault.After+1 {
			return refuse(fault.Status, fault.Code, "asked for by a test, at %s of %s", o.Verb, o.ID)
		}
	}
	return nil
}

// fault answers the refusal of an operation, before or after the cloud has
// accepted it.
func (r lifecycle) fault(ctx context.Context, verb, id string, accepted bool) error {
	return r.options.Fault(ctx, Operation{Verb: verb, Type: r.token, ID: id, Accepted: accepted})
}

// failing answers the failure of an operation that was accepted, which its
// resource then says of itself.
func (r lifecycle) failing(ctx context.Context, verb, id string, live map[string]any) error {
	refusal := r.fault(ctx, verb, id, true)
	if refusal == nil {
		return nil
	}
	live["provisioningState"] = "Failed"
	err := r.store.Update(func(resources cloud.Resources) error {
		if record, existing, ok := find(resources, id); ok {
			record.Outputs["provisioningState"] = "Failed"
			resources[existing] = record
		}
		return nil
	})
	return &provider.PartialError{Err: errors.Join(refusal, err)}
}
