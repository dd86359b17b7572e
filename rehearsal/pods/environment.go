package realray

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// environment resolves the container's variables as a kubelet does.
func (r *Runtime) environment(ctx context.Context, pod *corev1.Pod, container corev1.Container) (map[string]string, error) {
	env := map[string]string{}
	for _, from := range container.EnvFrom {
		if from.ConfigMapRef == nil {
			return nil, fmt.Errorf("container %s takes variables from a source that the rehearsal lacks", container.Name)
		}
		object, err := r.client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, from.ConfigMapRef.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		for key, value := range object.Data {
			env[from.Prefix+key] = value
		}
	}
	for _, e := range container.Env {
		value, err := r.value(ctx, pod, e)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", e.Name, err)
		}
		env[e.Name] = value
	}
	return env, nil
}

// value resolves one variable.
func (r *Runtime) value(ctx context.Context, pod *corev1.Pod, e corev1.EnvVar) (string, error) {
	switch from := e.ValueFrom; {
	case from == nil:
		return e.Value, nil
	case from.SecretKeyRef != nil:
		object, err := r.client.CoreV1().Secrets(pod.Namespace).Get(ctx, from.SecretKeyRef.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		value, ok := object.Data[from.SecretKeyRef.Key]
		if !ok {
			return "", fmt.Errorf("Secret %s has no key %q", from.SecretKeyRef.Name, from.SecretKeyRef.Key)
		}
		return string(value), nil
	case from.FieldRef != nil:
		return field(pod, from.FieldRef.FieldPath)
	}
	return "", fmt.Errorf("its source is one that the rehearsal lacks: %v", e.ValueFrom)
}

// field reads what a pod may tell its containers of itself.
func field(pod *corev1.Pod, path string) (string, error) {
	if label, ok := strings.CutPrefix(path, "metadata.labels['"); ok {
		return pod.Labels[strings.TrimSuffix(label, "']")], nil
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "status.podIP":
		return pod.Status.PodIP, nil
	}
	return "", fmt.Errorf("the rehearsal does not know the field %s", path)
}
