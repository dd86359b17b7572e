package pods

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ray-on-aks/rehearsal/atomicfile"
)

// refreshAfter is when a token is asked for anew: at four fifths of its life,
// as a kubelet does.
const refreshAfter = 0.8

// writeVolumes writes or refreshes every volume of the pod into its folder.
func (r *running) writeVolumes(ctx context.Context) error {
	var errs []error
	for _, v := range r.pod.Spec.Volumes {
		dir := r.volume(v.Name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := r.writeVolume(ctx, dir, v.VolumeSource); err != nil {
			errs = append(errs, fmt.Errorf("volume %s: %w", v.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (r *running) volume(name string) string { return filepath.Join(r.dir, "volumes", name) }

func (r *running) writeVolume(ctx context.Context, dir string, v corev1.VolumeSource) error {
	switch {
	case v.EmptyDir != nil:
		return nil
	case v.ConfigMap != nil:
		return r.writeConfigMap(ctx, dir, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.Secret != nil:
		return r.writeSecret(ctx, dir, v.Secret)
	case v.Projected != nil:
		var errs []error
		for _, source := range v.Projected.Sources {
			errs = append(errs, r.writeProjection(ctx, dir, source))
		}
		return errors.Join(errs...)
	}
	return errors.New("of a kind that the rehearsal cannot give to a process pod")
}

func (r *running) writeConfigMap(ctx context.Context, dir, name string, items []corev1.KeyToPath, optional *bool) error {
	object, err := r.kubelet.client.CoreV1().ConfigMaps(r.pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		if apierrors.IsNotFound(err) && optional != nil && *optional {
			return nil
		}
		return err
	}
	return WriteConfigMap(dir, object, items)
}

// WriteConfigMap writes the selected keys of a ConfigMap, or all, under the
// paths that a volume gives them.
func WriteConfigMap(dir string, object *corev1.ConfigMap, items []corev1.KeyToPath) error {
	data := map[string][]byte{}
	for key, value := range object.Data {
		data[key] = []byte(value)
	}
	return writeKeys(dir, data, items)
}

func (r *running) writeSecret(ctx context.Context, dir string, v *corev1.SecretVolumeSource) error {
	object, err := r.kubelet.client.CoreV1().Secrets(r.pod.Namespace).Get(ctx, v.SecretName, metav1.GetOptions{})
	if err != nil {
		if apierrors.IsNotFound(err) && v.Optional != nil && *v.Optional {
			return nil
		}
		return err
	}
	return writeKeys(dir, object.Data, v.Items)
}

func (r *running) writeProjection(ctx context.Context, dir string, source corev1.VolumeProjection) error {
	switch {
	case source.ServiceAccountToken != nil:
		return r.writeToken(ctx, filepath.Join(dir, source.ServiceAccountToken.Path), source.ServiceAccountToken)
	case source.ConfigMap != nil:
		return r.writeConfigMap(ctx, dir, source.ConfigMap.Name, source.ConfigMap.Items, source.ConfigMap.Optional)
	case source.DownwardAPI != nil:
		for _, item := range source.DownwardAPI.Items {
			if item.FieldRef == nil || item.FieldRef.FieldPath != "metadata.namespace" {
				return fmt.Errorf("downward API item %s is not supported", item.Path)
			}
			if err := writeFile(filepath.Join(dir, item.Path), []byte(r.pod.Namespace)); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("projection of a kind that the rehearsal cannot give to a process pod")
}

// writeToken asks the API server for a token bound to the pod.
func (r *running) writeToken(ctx context.Context, path string, p *corev1.ServiceAccountTokenProjection) error {
	if time.Now().Before(r.tokenDue) {
		return nil
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: p.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: r.pod.Name, UID: r.pod.UID},
	}}
	if p.Audience != "" {
		request.Spec.Audiences = []string{p.Audience}
	}
	answer, err := r.kubelet.client.CoreV1().ServiceAccounts(r.pod.Namespace).
		CreateToken(ctx, r.pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("requesting a token: %w", err)
	}
	if err := writeFile(path, []byte(answer.Status.Token)); err != nil {
		return err
	}
	life := time.Until(answer.Status.ExpirationTimestamp.Time)
	r.tokenDue = time.Now().Add(time.Duration(refreshAfter * float64(life)))
	return nil
}

// writeKeys writes the selected keys, or all.
func writeKeys(dir string, data map[string][]byte, items []corev1.KeyToPath) error {
	if len(items) == 0 {
		for key := range data {
			items = append(items, corev1.KeyToPath{Key: key, Path: key})
		}
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok {
			return fmt.Errorf("no key %q", item.Key)
		}
		if err := writeFile(filepath.Join(dir, item.Path), value); err != nil {
			return err
		}
	}
	return nil
}

// writeFile replaces a file at once and only if its content changes, so that
// readers and watchers see each change once and whole.
func writeFile(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, data)
}
