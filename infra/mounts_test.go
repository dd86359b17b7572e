package infra

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/stacktest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// decode reads the inputs of an object as the API server would, strictly.
func decode[T any](t *testing.T, r stacktest.Resource) T {
	t.Helper()
	text, err := json.Marshal(r.Inputs.Mappable())
	if err != nil {
		t.Fatal(err)
	}
	var object T
	if err := yaml.UnmarshalStrict(text, &object); err != nil {
		t.Fatalf("%s: %v", r.URN(), err)
	}
	return object
}

func TestVolumeAndClaimAreWhatKubernetesReads(t *testing.T) {
	r := run(t, large())
	volume := r.Named(t, "infra-volume-vision.models")
	claim := r.Named(t, "infra-claim-vision.models")
	stacktest.Golden(t, "volume", decode[corev1.PersistentVolume](t, volume))
	stacktest.Golden(t, "claim", decode[corev1.PersistentVolumeClaim](t, claim))
}

func TestEachTenantMountsEachContainer(t *testing.T) {
	r := run(t, large())
	handles, names := map[string]bool{}, map[string]bool{}
	for tenant, namespace := range map[string]string{"vision": "ray-vision", "language": "ray-language"} {
		for _, container := range large().Storage.Containers {
			volume := decode[corev1.PersistentVolume](t, r.Named(t, "infra-volume-"+tenant+"."+container))
			claim := decode[corev1.PersistentVolumeClaim](t, r.Named(t, "infra-claim-"+tenant+"."+container))
			source := volume.Spec.CSI
			if handles[source.VolumeHandle] || names[volume.Name] || len(validation.IsDNS1123Subdomain(volume.Name)) > 0 {
				t.Errorf("volume %s with the handle %s is no volume of its own", volume.Name, source.VolumeHandle)
			}
			handles[source.VolumeHandle], names[volume.Name] = true, true
			if got := source.VolumeAttributes["clientID"]; got != stacktest.ClientID("id-ray-test-"+tenant) {
				t.Errorf("%s of %s is mounted as %s", container, tenant, got)
			}
			if claim.Name != aks.ClaimName(container) || claim.Namespace != namespace || claim.Spec.VolumeName != volume.Name {
				t.Errorf("%s of %s is claimed by %s/%s of %s", container, tenant, claim.Namespace, claim.Name, claim.Spec.VolumeName)
			}
			if ref := volume.Spec.ClaimRef; ref.Namespace != claim.Namespace || ref.Name != claim.Name {
				t.Errorf("%s can be taken by %v", volume.Name, ref)
			}
		}
	}
}

func TestVolumeNamesCannotCollide(t *testing.T) {
	args := valid()
	one := args.volumeName(Tenant{Namespace: "ray-a"}, "b-c")
	if other := args.volumeName(Tenant{Namespace: "ray-a-b"}, "c"); one == other {
		t.Errorf("two mounts are %s", one)
	}
}

func TestVolumesAreReplacedWithTheirClaims(t *testing.T) {
	r := run(t, valid())
	volume, claim := r.Named(t, "infra-volume-ray.models"), r.Named(t, "infra-claim-ray.models")
	for res, path := range map[*stacktest.Resource]string{&volume: "spec.csi", &claim: "spec"} {
		if !slices.Equal(res.ReplaceOnChanges, []string{path}) || !res.DeleteBeforeReplace {
			t.Errorf("%s: replaced on %v, deleted first: %t", res.Name, res.ReplaceOnChanges, res.DeleteBeforeReplace)
		}
		if !strings.HasSuffix(res.DeletedWith, "::infra-cluster") {
			t.Errorf("%s is deleted with %q", res.Name, res.DeletedWith)
		}
	}
	// Pulumi replaces a dependent with what it depends on only if one of its inputs is made of it.
	inputs := claim.PropertyDependencies["spec"]
	if !slices.ContainsFunc(inputs, func(urn string) bool { return strings.HasSuffix(urn, "::"+volume.Name) }) {
		t.Errorf("the claim's spec is made of %v, not of its volume", inputs)
	}
}

func TestMountsStayWithinWhatNodesKeepForThem(t *testing.T) {
	flat := valid().Storage.mountOptions()
	if !slices.Contains(flat, "--block-cache") || !slices.Contains(flat, "--block-cache-pool-size=512") || sku.MountPoolMiB != 512 {
		t.Errorf("options %v do not bound the cache to the %d MiB that nodes keep", flat, sku.MountPoolMiB)
	}
	// BlobFuse refuses to mount unless its cache holds all that it prefetches, and takes no fewer blocks than 11.
	if prefetchBlocks < 11 || prefetchBlocks*blockMiB > sku.MountPoolMiB {
		t.Errorf("%d blocks of %d MiB are prefetched into %d MiB", prefetchBlocks, blockMiB, sku.MountPoolMiB)
	}
	if slices.ContainsFunc(flat, func(o string) bool { return strings.Contains(o, "adls") || strings.Contains(o, "file-cache") }) {
		t.Errorf("options %v", flat)
	}
	if hns := (Storage{HierarchicalNamespace: true}).mountOptions(); !slices.Contains(hns, "--use-adls=true") {
		t.Errorf("options %v for a hierarchical namespace", hns)
	}
}
