package interrupted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"ray-on-aks/internal/aks"
)

const (
	releaseType   = "kubernetes:helm.sh/v3:Release"
	namespaceType = "kubernetes:core/v1:Namespace"
	providerType  = "pulumi:providers:kubernetes"
	// pending selects Helm's records of what it was doing when it was killed. It does
	// nothing with a release that has one, neither again nor anything else.
	pending = "owner=helm,status in (pending-install,pending-upgrade,pending-rollback)"
	// askLimit is how long a cluster may take to answer.
	askLimit = 30 * time.Second
)

// strikeOut deletes Helm's records of what it was doing when it, or the engine, was
// killed. What it had done stays: the next install takes over what carries its
// release's name, and the next upgrade goes on from the last that was finished. It
// answers what it deleted, as namespace/record.
func strikeOut(ctx context.Context, pulumi Pulumi) ([]string, error) {
	export, err := pulumi(ctx, "stack", "export", "--show-secrets")
	if err != nil {
		// Its output is secret.
		return nil, fmt.Errorf("reading the stack's state with its secrets: %w", err)
	}
	var books books
	if err := json.Unmarshal(export, &books); err != nil {
		return nil, errors.New("decoding the stack's state: it is no deployment")
	}
	client, err := books.client()
	if err != nil || client == nil {
		return nil, err // no cluster, no Helm
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return books.strikeOut(ctx, client)
}

func (b books) strikeOut(ctx context.Context, client kubernetes.Interface) ([]string, error) {
	var struck []string
	for _, namespace := range b.namespaces() {
		records, err := client.CoreV1().Secrets(namespace.name).List(ctx, metav1.ListOptions{LabelSelector: pending})
		if err != nil {
			brokenOff := b.brokenOff()
			if len(brokenOff) == 0 {
				return struck, nil // the engine knows of nothing that Helm was doing, and the cluster may be gone
			}
			return struck, fmt.Errorf("asking Helm's records what became of %s: %w", strings.Join(brokenOff, ", "), err)
		}
		for _, record := range records.Items {
			if !namespace.ours && !slices.Contains(namespace.releases, record.Labels["name"]) {
				continue
			}
			if err := client.CoreV1().Secrets(namespace.name).Delete(ctx, record.Name, metav1.DeleteOptions{}); err != nil {
				return struck, fmt.Errorf("deleting Helm's record %s/%s: %w", namespace.name, record.Name, err)
			}
			struck = append(struck, namespace.name+"/"+record.Name)
		}
	}
	return struck, nil
}

// books are a deployment, as far as it tells of Helm.
type books struct {
	Deployment struct {
		Resources []entry
		Pending   []struct{ Resource entry } `json:"pending_operations"`
	}
}

// entry is a resource of a deployment.
type entry struct {
	URN, Type string
	Inputs    struct {
		Kubeconfig      any
		Name, Namespace any
		Metadata        struct {
			Name   any
			Labels map[string]any
		}
	}
}

// placed are the releases that are known of a namespace. In one that the stack has
// made for an operator all are its; in a tenant's there may be others'.
type placed struct {
	name     string
	ours     bool
	releases []string
}

func (b books) namespaces() []placed {
	byName := map[string]placed{}
	for _, e := range b.entries() {
		switch e.Type {
		case namespaceType:
			name := fmt.Sprint(e.Inputs.Metadata.Name)
			_, tenants := e.Inputs.Metadata.Labels[aks.LabelTenant]
			byName[name] = placed{name, !tenants, byName[name].releases}
		case releaseType:
			name := fmt.Sprint(e.Inputs.Namespace)
			byName[name] = placed{name, byName[name].ours, append(byName[name].releases, fmt.Sprint(e.Inputs.Name))}
		}
	}
	all := make([]placed, 0, len(byName))
	for _, p := range byName {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b placed) int { return strings.Compare(a.name, b.name) })
	return all
}

func (b books) entries() []entry {
	all := slices.Clone(b.Deployment.Resources)
	for _, p := range b.Deployment.Pending {
		all = append(all, p.Resource)
	}
	return all
}

// brokenOff are the releases that the engine has not seen the end of.
func (b books) brokenOff() []string {
	var urns []string
	for _, p := range b.Deployment.Pending {
		if p.Resource.Type == releaseType {
			urns = append(urns, p.Resource.URN)
		}
	}
	return urns
}

// client is of the cluster that the stack's provider reaches; nil without one.
func (b books) client() (kubernetes.Interface, error) {
	for _, e := range b.Deployment.Resources {
		if e.Type != providerType {
			continue
		}
		config, err := clientcmd.RESTConfigFromKubeConfig([]byte(plain(e.Inputs.Kubeconfig)))
		if err != nil {
			return nil, fmt.Errorf("reading the kubeconfig of %s: %w", e.URN, err)
		}
		return kubernetes.NewForConfig(config)
	}
	return nil, nil
}

// plain is a text, or what a secret one holds.
func plain(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	secret, _ := value.(map[string]any)
	text := ""
	encoded, _ := secret["plaintext"].(string)
	if json.Unmarshal([]byte(encoded), &text) != nil {
		return ""
	}
	return text
}
