package pods

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Environment resolves the container's variables as a kubelet does: its own come
// after those of sources, and may refer to what stands before them.
func Environment(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, container corev1.Container) (map[string]string, error) {
	env := map[string]string{}
	for _, from := range container.EnvFrom {
		if from.ConfigMapRef == nil {
			return nil, fmt.Errorf("container %s takes variables from a source that the rehearsal lacks", container.Name)
		}
		object, err := client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, from.ConfigMapRef.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		for key, value := range object.Data {
			env[from.Prefix+key] = value
		}
	}
	for _, e := range container.Env {
		if e.ValueFrom == nil {
			env[e.Name] = Expand(e.Value, env)
			continue
		}
		value, err := valueFrom(ctx, client, pod, e.ValueFrom)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", e.Name, err)
		}
		env[e.Name] = value
	}
	return env, nil
}

// reference is what Kubernetes takes for a reference to a variable, or for a
// dollar that is meant.
var reference = regexp.MustCompile(`\$(\$|\([^)]*\))`)

// Expand puts in the variables that the text refers to by $(NAME), and makes $
// of $$. A reference to a variable that is not there stays as it is.
func Expand(text string, env map[string]string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if value, ok := env[found[2:len(found)-1]]; ok {
			return value
		}
		return found
	})
}

// valueFrom reads a variable's value at its source.
func valueFrom(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, from *corev1.EnvVarSource) (string, error) {
	switch {
	case from.SecretKeyRef != nil:
		object, err := client.CoreV1().Secrets(pod.Namespace).Get(ctx, from.SecretKeyRef.Name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		value, ok := object.Data[from.SecretKeyRef.Key]
		if !ok {
			return "", fmt.Errorf("the Secret %s has no key %q", from.SecretKeyRef.Name, from.SecretKeyRef.Key)
		}
		return string(value), nil
	case from.FieldRef != nil:
		return field(pod, from.FieldRef.FieldPath)
	}
	return "", fmt.Errorf("its source is one that the rehearsal lacks: %v", from)
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
