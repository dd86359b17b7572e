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
	"ray-on-aks/rehearsal/pods"
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
			object, err := r.client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, v.ConfigMap.Name, metav1.GetOptions{})
			if err == nil {
				err = pods.WriteConfigMap(place, object, v.ConfigMap.Items)
			}
			if err != nil {
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
