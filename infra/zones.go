package infra

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Zones are availability zones of the region, by number; none leaves the place of each node to Azure.
type Zones []string

// AllZones returns the zones that a region with zones has. The slice is the caller's own: config is decoded into it.
func AllZones() Zones { return Zones{"1", "2", "3"} }

func (z Zones) validate(path string) error {
	var errs []error
	for i, zone := range z {
		if slices.Contains(z[:i], zone) {
			errs = append(errs, fmt.Errorf("%s[%d]: repeats zone %s; leave it out", path, i, zone))
			continue
		}
		errs = append(errs, oneOf(fmt.Sprintf("%s[%d]", path, i), zone, AllZones()...))
	}
	return errors.Join(errs...)
}

// input lists the zones in a fixed order, so that a stack file which writes them in another replaces nothing.
func (z Zones) input() pulumi.StringArrayInput {
	if len(z) == 0 {
		return nil
	}
	return pulumi.ToStringArray(slices.Sorted(slices.Values(z)))
}
