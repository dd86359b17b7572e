package engine

import (
	"testing"

	"ray-on-aks/rehearsal/azurenative"
	"ray-on-aks/rehearsal/randomprovider"
)

func TestTheEmulatedProvidersAreInstalledAsTheVersionThatTheyEmulate(t *testing.T) {
	for _, p := range plugins {
		want, emulated := map[string]string{
			"azure-native": azurenative.Version, "random": randomprovider.Version,
		}[p.name]
		if emulated && p.version != want {
			t.Errorf("%s is installed as %s and emulates %s", p.name, p.version, want)
		}
	}
}
