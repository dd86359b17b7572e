package azurenative

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ray-on-aks/rehearsal/cloud"
	"ray-on-aks/rehearsal/provider"
)

// lifecycle does the operations of one emulated type.
type lifecycle struct {
	*emulator
	token string
	spec  spec
	table inputTable
}

// stableOutputs are the outputs that azure-native keeps known in the preview
// of an update; all else that the cloud gives becomes unknown there.
var stableOutputs = []string{"name", "location"}

func (r lifecycle) preview(inputs, old map[string]any) map[string]any {
	live := r.spec.live(write{id: "unknown", inputs: inputs, old: old, config: r.config})
	masked := provider.Mask(live, r.spec.body(inputs))
	for _, key := range stableOutputs {
		if value, ok := old[key]; ok {
			masked[key] = value
		}
	}
	return masked
}

func (r lifecycle) create(ctx context.Context, inputs map[string]any) (string, map[string]any, error) {
	id, err := r.config.fill(r.spec.id, inputs)
	if err != nil {
		return "", nil, err
	}
	if err := r.fault(ctx, "create", id, false); err != nil {
		return "", nil, err
	}
	var live map[string]any
	err = r.exclusively(ctx, id, func() error {
		return r.store.Update(func(resources cloud.Resources) error {
			if _, existing, ok := find(resources, id); ok && !r.spec.singleton {
				return conflict("Conflict", "cannot create already existing resource %q", existing)
			}
			if err := r.parentExists(resources, inputs); err != nil {
				return err
			}
			live, err = r.put(resources, id, inputs, nil)
			return err
		})
	})
	if err != nil {
		return "", nil, err
	}
	if err := r.failing(ctx, "create", id, live); err != nil {
		return id, live, err
	}
	return id, live, r.ready(ctx, id)
}

func (r lifecycle) update(ctx context.Context, id string, inputs, _ map[string]any) (map[string]any, error) {
	if err := r.fault(ctx, "update", id, false); err != nil {
		return nil, err
	}
	var live map[string]any
	err := r.exclusively(ctx, id, func() error {
		return r.store.Update(func(resources cloud.Resources) error {
			record, existing, ok := find(resources, id)
			if !ok {
				return missing(id)
			}
			var err error
			live, err = r.put(resources, existing, inputs, record.Outputs)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if err := r.failing(ctx, "update", id, live); err != nil {
		return live, err
	}
	return live, r.ready(ctx, id)
}

// put writes the record, as an ARM PUT does: what inputs leave out goes back
// to the cloud's default.
func (r lifecycle) put(resources cloud.Resources, id string, inputs, old map[string]any) (map[string]any, error) {
	w := write{resources: resources, id: id, inputs: r.located(resources, inputs), old: old, config: r.config}
	if location, ok := w.inputs["location"]; ok && location == "" {
		return nil, badRequest("LocationRequired", "The location property is required for %s.", id)
	}
	if r.spec.allow != nil {
		if err := r.spec.allow(w); err != nil {
			return nil, err
		}
	}
	live := r.spec.live(w)
	resources[id] = cloud.Record{Type: r.token, Inputs: inputs, Outputs: live}
	return live, nil
}

// located fills in the location that the program left out: the provider's,
// else the resource group's.
func (r lifecycle) located(resources cloud.Resources, inputs map[string]any) map[string]any {
	_, takes := r.table.Types[r.table.Roots[r.token]]["location"]
	if !takes || text(inputs, "location") != "" {
		return inputs
	}
	location := r.config.location
	if group, err := r.config.fill(groupID, inputs); err == nil && location == "" {
		record, _, _ := find(resources, group)
		location = text(record.Outputs, "location")
	}
	located := maps.Clone(inputs)
	located["location"] = location
	return located
}

func (r lifecycle) delete(ctx context.Context, id string, _ map[string]any) error {
	if err := r.fault(ctx, "delete", id, false); err != nil {
		return err
	}
	clusters := map[string]bool{}
	if r.token == ManagedCluster {
		// Also where the record is gone already: an earlier, interrupted delete
		// may not have seen the control plane go.
		clusters[lastSegment(id)] = true
	}
	err := r.exclusively(ctx, id, func() error {
		return r.store.Update(func(resources cloud.Resources) error {
			if r.spec.allowDelete != nil {
				if err := r.spec.allowDelete(resources, id); err != nil {
					return err
				}
			}
			_, existing, ok := find(resources, id)
			if !ok {
				return nil
			}
			// What lies below goes with it, as in ARM.
			doomed := []string{existing}
			if !r.spec.singleton {
				doomed = append(doomed, below(resources, id)...)
			}
			for _, gone := range doomed {
				if resources[gone].Type == ManagedCluster {
					clusters[lastSegment(gone)] = true
				}
				delete(resources, gone)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(clusters)) {
		if err := r.options.Waiter.Gone(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// ready waits for a cluster's control plane.
func (r lifecycle) ready(ctx context.Context, id string) error {
	if r.token != ManagedCluster {
		return nil
	}
	if err := r.options.Waiter.Ready(ctx, lastSegment(id)); err != nil {
		return &provider.PartialError{Err: err}
	}
	return nil
}

func (r lifecycle) parentExists(resources cloud.Resources, inputs map[string]any) error {
	if r.spec.parent == "" {
		return nil
	}
	group, err := r.config.fill(groupID, inputs)
	if err != nil {
		return err
	}
	if _, _, ok := find(resources, group); !ok {
		return notFound("ResourceGroupNotFound", "Resource group %q could not be found.", lastSegment(group))
	}
	parent, err := r.config.fill(r.spec.parent, inputs)
	if err != nil {
		return err
	}
	if _, _, ok := find(resources, parent); !ok {
		return notFound("ParentResourceNotFound", "Failed to perform 'write' on resource of type %q, because the parent resource %q could not be found.",
			r.spec.armType, parent)
	}
	return nil
}

// exclusively does a write of which the cloud allows one at a time, and keeps
// it in flight for a while, as the real one takes its time.
func (r lifecycle) exclusively(ctx context.Context, id string, do func() error) (err error) {
	if r.spec.exclusive == nil {
		return do()
	}
	release, held, err := r.store.Hold(r.spec.exclusive(id))
	if err != nil {
		return err
	}
	if !held {
		return conflict("ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity",
			"Too many Federated Identity Credentials are written concurrently for the managed identity %s. Write them one after the other.",
			lastSegment(r.spec.exclusive(id)))
	}
	defer func() {
		if releaseErr := release(); err == nil && releaseErr != nil {
			err = fmt.Errorf("ending a write in flight: %w", releaseErr)
		}
	}()
	select {
	case <-time.After(r.options.CredentialHold):
	case <-ctx.Done():
		return fmt.Errorf("writing %s: %w", lastSegment(id), context.Cause(ctx))
	}
	return do()
}

func missing(id string) error {
	return notFound("ResourceNotFound", "The Resource %q was not found.", strings.TrimPrefix(id, "/"))
}
