// Package crd turns a typed Kubernetes object into a Pulumi custom resource. It is the only place where typed specs become
// maps; everything before it is checked by the compiler.
package crd

import (
	"fmt"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	pulumimeta "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is a custom resource whose every value is known when the program runs.
type Object struct {
	// GVK is the object's group, version and kind.
	GVK schema.GroupVersionKind
	// Meta holds name, namespace, labels and annotations; other fields are ignored.
	Meta metav1.ObjectMeta
	// Spec is a pointer to the typed spec. The whole object is not taken, since its zero status would be sent as well.
	Spec any
	// Fields are those of a kind that has no spec but fields of its own beside the metadata; Spec is nil then.
	Fields map[string]any
}

// New registers o under the logical name.
func New(ctx *pulumi.Context, name string, o Object, opts ...pulumi.ResourceOption) (*apiextensions.CustomResource, error) {
	fields := o.Fields
	if o.Spec != nil {
		spec, err := Fields(o.Spec)
		if err != nil {
			return nil, fmt.Errorf("converting the spec of %s %s: %w", o.GVK.Kind, o.Meta.Name, err)
		}
		fields = map[string]any{"spec": spec}
	}
	return apiextensions.NewCustomResource(ctx, name, &apiextensions.CustomResourceArgs{
		ApiVersion:  pulumi.String(o.GVK.GroupVersion().String()),
		Kind:        pulumi.String(o.GVK.Kind),
		Metadata:    Metadata(o.Meta),
		OtherFields: fields,
	}, opts...)
}

// Fields returns spec as the map that is sent, without the nulls that Go's zero timestamps leave behind.
func Fields(spec any) (map[string]any, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return nil, err
	}
	dropNulls(fields)
	return fields, nil
}

// Metadata converts the part of ObjectMeta that a program may author.
func Metadata(m metav1.ObjectMeta) *pulumimeta.ObjectMetaArgs {
	args := &pulumimeta.ObjectMetaArgs{Name: pulumi.String(m.Name)}
	if m.Namespace != "" {
		args.Namespace = pulumi.String(m.Namespace)
	}
	if len(m.Labels) > 0 {
		args.Labels = pulumi.ToStringMap(m.Labels)
	}
	if len(m.Annotations) > 0 {
		args.Annotations = pulumi.ToStringMap(m.Annotations)
	}
	return args
}

func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			if child == nil {
				delete(v, key)
				continue
			}
			dropNulls(child)
		}
	case []any:
		for _, child := range v {
			dropNulls(child)
		}
	}
}
