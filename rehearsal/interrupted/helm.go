package interrupted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"ray-on-aks/internal/aks"
)

const (
	releaseType   = "kubernetes:helm.sh/v3:Release"
	namespaceType = "kubernetes:core/v1:Namespace"
	providerType  = "pulumi:providers:kubernetes"
	// ofHelm selects the Secrets in which Helm keeps a record of each revision of a
	// release. Their labels have the release's name and the revision's status.
	ofHelm = "owner=helm"
	// pending begins the status of a revision that Helm was at work on. It does nothing
	// with a release that has one, neither again nor anything else.
	pending = "pending-"
	// askLimit is how long a cluster may take to answer.
	askLimit = 30 * time.Second
)

// obstacles are Helm's records that the next update would stumble over.
type obstacles struct {
	client  kubernetes.Interface
	records []corev1.Secret
	// unasked are the URNs of releases that broke off, and of which the cluster could
	// not be asked; problem is why.
	unasked []string
	problem error
}

// lookIntoHelm finds what an engine, a provider or Helm that was killed has left.
func lookIntoHelm(ctx context.Context, pulumi Pulumi) (obstacles, error) {
	export, err := pulumi(ctx, "stack", "export", "--show-secrets")
	if err != nil {
		// Its output is secret.
		return obstacles{}, fmt.Errorf("reading the stack's state with its secrets: %w", err)
	}
	var d deployment
	if err := json.Unmarshal(export, &d); err != nil {
		return obstacles{}, errors.New("decoding the stack's state: it is no deployment")
	}
	namespaces := d.namespaces()
	if len(namespaces) == 0 {
		return obstacles{}, nil
	}
	client, err := d.client()
	if err != nil {
		return obstacles{unasked: d.brokenOff(), problem: err}, nil
	}
	if client == nil {
		return obstacles{}, nil // no cluster, no Helm
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return d.obstacles(ctx, client), nil
}

// obstacles are the pending records of the stack's releases, and all records of a
// release whose creation broke off: it has no place in the state, and Helm installs
// none whose name it knows, whatever became of it.
func (d deployment) obstacles(ctx context.Context, client kubernetes.Interface) obstacles {
	found := obstacles{client: client}
	for _, namespace := range d.namespaces() {
		records, err := client.CoreV1().Secrets(namespace.name).List(ctx, metav1.ListOptions{LabelSelector: ofHelm})
		if err != nil {
			return obstacles{unasked: d.brokenOff(), problem: fmt.Errorf("asking for Helm's records in namespace %s: %w", namespace.name, err)}
		}
		for _, record := range records.Items {
			name := record.Labels["name"]
			ours := namespace.ours || slices.Contains(namespace.releases, name)
			if slices.Contains(namespace.created, name) || ours && strings.HasPrefix(record.Labels["status"], pending) {
				found.records = append(found.records, record)
			}
		}
	}
	return found
}

// strikeOut deletes the records. What Helm had done stays: the next install takes
// over what carries its release's name, and the next upgrade goes on from the last
// that was finished. It answers what it deleted, as namespace/record.
func (o obstacles) strikeOut(ctx context.Context) (struck []string, err error) {
	for _, record := range o.records {
		err := o.client.CoreV1().Secrets(record.Namespace).Delete(ctx, record.Name, metav1.DeleteOptions{
			// One that has come to an end meanwhile is a good one.
			Preconditions: &metav1.Preconditions{UID: &record.UID, ResourceVersion: &record.ResourceVersion},
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return struck, fmt.Errorf("deleting Helm's record %s/%s: %w", record.Namespace, record.Name, err)
		}
		struck = append(struck, record.Namespace+"/"+record.Name)
	}
	return struck, nil
}

// deployment is a stack's state, as far as it tells of Helm.
type deployment struct {
	Deployment struct {
		Resources []entry
		Pending   []struct {
			Type     string
			Resource entry
		} `json:"pending_operations"`
	}
}

// entry is a resource of a deployment.
type entry struct {
	URN, Type string
	Delete    bool
	Inputs    struct {
		Kubeconfig      any
		Name, Namespace any
		Metadata        struct {
			Name   any
			Labels map[string]any
		}
	}
}

// placed are the releases that are known of a namespace, and those of them whose
// creation broke off. In a namespace that the stack has made for an operator all are
// its own; in a tenant's there may be others'.
type placed struct {
	name              string
	ours              bool
	releases, created []string
}

func (d deployment) namespaces() []placed {
	byName := map[string]*placed{}
	at := func(name any) *placed {
		key := fmt.Sprint(name)
		if byName[key] == nil {
			byName[key] = &placed{name: key}
		}
		return byName[key]
	}
	note := func(e entry, creating bool) {
		switch e.Type {
		case namespaceType:
			_, tenants := e.Inputs.Metadata.Labels[aks.LabelTenant]
			at(e.Inputs.Metadata.Name).ours = !tenants
		case releaseType:
			p, name := at(e.Inputs.Namespace), fmt.Sprint(e.Inputs.Name)
			if p.releases = append(p.releases, name); creating {
				p.created = append(p.created, name)
			}
		}
	}
	for _, e := range d.Deployment.Resources {
		note(e, false)
	}
	for _, p := range d.Deployment.Pending {
		note(p.Resource, p.Type == "creating")
	}
	var all []placed
	for _, p := range byName {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b placed) int { return strings.Compare(a.name, b.name) })
	return all
}

// brokenOff are the releases that the engine has not seen the end of.
func (d deployment) brokenOff() []string {
	var urns []string
	for _, p := range d.Deployment.Pending {
		if p.Resource.Type == releaseType {
			urns = append(urns, p.Resource.URN)
		}
	}
	return urns
}

// client is of the cluster that the stack's provider reaches; nil without one.
func (d deployment) client() (kubernetes.Interface, error) {
	for _, e := range d.Deployment.Resources {
		if e.Type != providerType || e.Delete || e.Inputs.Kubeconfig == nil {
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
