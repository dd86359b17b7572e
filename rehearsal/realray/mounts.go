package realray

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ray-on-aks/internal/aks"
	"ray-on-aks/rehearsal/atomicfile"
)

// mounts puts what the container mounts onto this machine and answers where:
// scripts in a folder of their ConfigMap's name, and storage containers in the
// one that all pods share. What a pod keeps for itself needs no place.
func (r *Runtime) mounts(ctx context.Context, pod *corev1.Pod, container corev1.Container) (map[string]string, error) {
	places := map[string]string{aks.MountRoot: r.Storage}
	volumes := map[string]corev1.VolumeSource{}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = v.VolumeSource
	}
	for _, m := range container.VolumeMounts {
		switch v := volumes[m.Name]; {
		case v.ConfigMap != nil:
			place := filepath.Join(r.Dir, "mounts", pod.Namespace, v.ConfigMap.Name)
			if err := r.writeConfigMap(ctx, pod.Namespace, place, v.ConfigMap); err != nil {
				return nil, fmt.Errorf("volume %s: %w", m.Name, err)
			}
			places[m.MountPath] = place
		case v.PersistentVolumeClaim != nil:
			if err := r.mountClaim(ctx, pod.Namespace, v.PersistentVolumeClaim.ClaimName, m.MountPath); err != nil {
				return nil, fmt.Errorf("volume %s: %w", m.Name, err)
			}
		}
	}
	return places, nil
}

// writeConfigMap writes the keys that the volume names under the paths that it
// gives them.
func (r *Runtime) writeConfigMap(ctx context.Context, namespace, place string, source *corev1.ConfigMapVolumeSource) error {
	object, err := r.client.CoreV1().ConfigMaps(namespace).Get(ctx, source.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, item := range source.Items {
		text, ok := object.Data[item.Key]
		if !ok {
			return fmt.Errorf("ConfigMap %s has no key %q", source.Name, item.Key)
		}
		file := filepath.Join(place, item.Path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := atomicfile.Write(file, []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// mountClaim makes the folder of the storage container that the claim is bound
// to.
func (r *Runtime) mountClaim(ctx context.Context, namespace, name, mountPath string) error {
	claim, err := r.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	volume, err := r.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("claim %s: %w", name, err)
	}
	if volume.Spec.CSI == nil {
		return fmt.Errorf("claim %s is bound to a volume that is no storage container", name)
	}
	container := volume.Spec.CSI.VolumeAttributes["containerName"]
	if want := path.Join(aks.MountRoot, container); mountPath != want {
		return fmt.Errorf("container %q is mounted at %s; the rehearsal mounts it at %s alone", container, mountPath, want)
	}
	return os.MkdirAll(filepath.Join(r.Storage, container), 0o755)
}
