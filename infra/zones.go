package infra

import (
	"errors"
	"slices"

	"ray-on-aks/internal/strict"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Zones are availability zones of the region, by number; none leaves the place of each node to Azure.
type Zones []string

// AllZones returns the zones that a region with zones has. The slice is the caller's own: config is decoded into it.
func AllZones() Zones { return Zones{"1", "2", "3"} }

func (z Zones) validate(path string) error {
	return errors.Join(strict.Each(path, z, func(at, zone string) error { return oneOf(at, zone, AllZones()...) })...)
}

// input lists the zones in a fixed order, so that a stack file which writes them in another replaces nothing.
func (z Zones) input() pulumi.StringArrayInput {
	if len(z) == 0 {
		return nil
	}
	return pulumi.ToStringArray(slices.Sorted(slices.Values(z)))
}
