package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/strict"
	"ray-on-aks/workloads"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// offerForm is the form of an Offer. Who adds a field, or changes what one means, raises it: a stack reads no other form than its own, so
// that it never takes a part of a platform for the whole.
const offerForm = 1

// Offer is what a stack gives out of its platform, as its output `platform`, so that another stack can check and render workloads for it
// at preview. All of it is plain; the way into the cluster is an output of its own.
type Offer struct {
	// Form is offerForm.
	Form int `json:"form"`
	// Cluster is the cluster's identity, by which its objects stay what they are when the credentials change.
	Cluster string `json:"cluster"`
	// StorageAccount is the name of the storage account, for the addresses of results.
	StorageAccount string `json:"storageAccount"`
	// WaitForPodsReady is how long Kueue lets the pods of an admitted job wait for nodes.
	WaitForPodsReady metav1.Duration `json:"waitForPodsReady"`
	// Host is what the stack runs there itself.
	Host workloads.Host `json:"host"`

	workloads.Platform
}

// offer is the stack's Offer; the storage account is known only once it exists.
func (c Config) offer() (Offer, error) {
	o := Offer{
		Form: offerForm, Cluster: c.Infra.ClusterID(), WaitForPodsReady: c.Infra.Operators.Kueue.WaitForPodsReady, Platform: c.Workloads.Platform,
		Host: workloads.Host{Runs: map[string]string{}, Holdings: c.Workloads.Holdings(), Spare: map[string]sku.Resources{}},
	}
	// Those of the table are known to whoever reads it.
	o.Sizes = slices.DeleteFunc(slices.Clone(o.Sizes), func(s sku.SKU) bool { return slices.Contains(sku.All(), s) })
	runs, err := c.Workloads.Runs()
	for _, r := range runs {
		o.Host.Runs[r.Workload] = r.Namespace
	}
	for _, p := range c.Queues.Pools {
		if spare := c.Queues.Spare(p); spare != (sku.Resources{}) {
			o.Host.Spare[p.Name] = spare
		}
	}
	return o, err
}

// output is the Offer as a stack gives it out.
func (o Offer) output(storageAccount pulumi.StringInput) (pulumi.Map, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	all := pulumi.ToMap(fields)
	all["storageAccount"] = storageAccount
	return all, nil
}

// parseOffer reads the output `platform` of a stack; from names the stack.
func parseOffer(from string, value any) (Offer, error) {
	fields, _ := value.(map[string]any)
	form, ok := fields["form"].(float64)
	switch {
	case !ok:
		return Offer{}, fmt.Errorf("the output platform of %s is no platform of ray-on-aks; name a stack of this program", from)
	case form > offerForm:
		return Offer{}, fmt.Errorf("%s gives out its platform in form %v, and this program reads form %d; update this program to the release that stack is of",
			from, form, offerForm)
	case form < offerForm:
		return Offer{}, fmt.Errorf("%s gives out its platform in form %v, and this program reads form %d; run pulumi up there with this release first",
			from, form, offerForm)
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return Offer{}, fmt.Errorf("reading the output platform of %s: %w", from, err)
	}
	var o Offer
	if err := errors.Join(strict.Decode("platform", data, &o), o.complete()); err != nil {
		return Offer{}, fmt.Errorf("the outputs of %s are not those of this release; run pulumi up there: %s", from, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	o.Host.Stack = from
	o.Sizes = append(sku.All(), o.Sizes...)
	return o, nil
}

// complete names what is not there and always is.
func (o Offer) complete() error {
	var errs []error
	for _, part := range []struct {
		key     string
		missing bool
	}{
		{"cluster", o.Cluster == ""}, {"storageAccount", o.StorageAccount == ""}, {"waitForPodsReady", o.WaitForPodsReady.Duration == 0},
		{"tenants", len(o.Tenants) == 0}, {"pools", len(o.Pools) == 0}, {"cpuPool", o.CPUPool == ""}, {"priorities", len(o.Priorities) == 0},
		{"serviceAccount", o.ServiceAccount == ""}, {"versions", o.Versions.Ray == "" || o.Versions.Image == ""},
	} {
		if part.missing {
			errs = append(errs, fmt.Errorf("platform.%s: is missing", part.key))
		}
	}
	return errors.Join(errs...)
}
