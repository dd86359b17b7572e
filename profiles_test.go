package main

import (
	"slices"
	"testing"

	"ray-on-aks/infra"
)

// prod parses a stack of the prod profile.
func prod(t *testing.T, extra map[string]string) Config {
	t.Helper()
	config := minimal(extra)
	config["ray-on-aks:profile"] = "prod"
	cfg, err := parse("prod", from(config))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestProdProfile(t *testing.T) {
	cfg := prod(t, nil)
	if !cfg.Infra.Protect || !cfg.Infra.Cluster.DisableLocalAccounts || cfg.Infra.Storage.SKU != "Standard_ZRS" {
		t.Errorf("prod is not protected: %+v", cfg.Infra)
	}
	for name, zones := range map[string]infra.Zones{"system": cfg.Infra.Cluster.System.Zones, "cpu": cfg.Infra.Pools["cpu"].Zones} {
		if !slices.Equal(zones, infra.AllZones()) {
			t.Errorf("the %s pool is in zones %v", name, zones)
		}
	}
}

// TestZonesOfOnePoolAreItsOwn fails if pools share a slice: config is decoded into it.
func TestZonesOfOnePoolAreItsOwn(t *testing.T) {
	cfg := prod(t, map[string]string{"infra": `{"pools": {"cpu": {"zones": ["3"]}, "big": {"vmSize": "Standard_D16ds_v6", "max": 1}}}`})
	if zones := cfg.Infra.Pools["cpu"].Zones; !slices.Equal(zones, infra.Zones{"3"}) {
		t.Errorf("the cpu pool is in zones %v", zones)
	}
	if zones := cfg.Infra.Cluster.System.Zones; !slices.Equal(zones, infra.AllZones()) {
		t.Errorf("the system pool went along: %v", zones)
	}
	if zones := cfg.Infra.Pools["big"].Zones; zones != nil {
		t.Errorf("a pool of the stack's own is in zones %v that it did not ask for", zones)
	}
}
