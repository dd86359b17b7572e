// Package kuberay installs KubeRay as a preinstalled operator: its module holds
// no chart, but its manifests, which are built with kustomize.
package kuberay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"ray-on-aks/internal/aks"
)

// Namespace is where the operator runs.
const Namespace = "kuberay-system"

// overlay puts the module's manifests into a namespace of their own and onto
// the system pool, where the program would put them too.
const overlay = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: ` + Namespace + `
resources:
- namespace.yaml
- ../config/default
patches:
- target: {kind: Deployment}
  patch: |
    - op: add
      path: /spec/template/spec/nodeSelector
      value: {` + aks.LabelMode + `: ` + aks.ModeSystem + `}
    - op: add
      path: /spec/template/spec/tolerations
      value: [{key: CriticalAddonsOnly, operator: Exists}]
`

const namespace = `apiVersion: v1
kind: Namespace
metadata:
  name: ` + Namespace + `
`

// Build renders the manifests of the module in a work folder.
func Build(moduleDir, work string) ([]*unstructured.Unstructured, error) {
	if err := os.RemoveAll(work); err != nil {
		return nil, err
	}
	if err := os.CopyFS(filepath.Join(work, "config"), os.DirFS(filepath.Join(moduleDir, "config"))); err != nil {
		return nil, fmt.Errorf("copying the manifests: %w", err)
	}
	dir := filepath.Join(work, "overlay")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"kustomization.yaml": overlay, "namespace.yaml": namespace} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("building the manifests: %w", err)
	}
	objects := make([]*unstructured.Unstructured, 0, built.Size())
	for _, r := range built.Resources() {
		fields, err := r.Map()
		if err != nil {
			return nil, err
		}
		objects = append(objects, &unstructured.Unstructured{Object: fields})
	}
	return objects, nil
}

// Install creates the objects that are missing: definitions first, at once,
// since each is a megabyte that the API server takes seconds to compile.
func Install(ctx context.Context, client dynamic.Interface, objects []*unstructured.Unstructured) error {
	var definitions, rest []*unstructured.Unstructured
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" {
			definitions = append(definitions, o)
		} else {
			rest = append(rest, o)
		}
	}
	errs := make([]error, len(definitions))
	var wait sync.WaitGroup
	for i, o := range definitions {
		wait.Go(func() {
			errs[i] = errors.Join(create(ctx, client, o), established(ctx, client, o.GetName()))
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, o := range rest {
		if err := create(ctx, client, o); err != nil {
			return err
		}
	}
	return nil
}

func create(ctx context.Context, client dynamic.Interface, o *unstructured.Unstructured) error {
	gvr, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	var target dynamic.ResourceInterface = client.Resource(gvr)
	if ns := o.GetNamespace(); ns != "" {
		target = client.Resource(gvr).Namespace(ns)
	}
	_, err := target.Create(ctx, o, metav1.CreateOptions{FieldManager: "rehearsal"})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// established waits until the API server serves the definition's resource.
func established(ctx context.Context, client dynamic.Interface, name string) error {
	gvr := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		o, err := client.Resource(gvr).Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			var definition apiextensionsv1.CustomResourceDefinition
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &definition); err != nil {
				return err
			}
			for _, c := range definition.Status.Conditions {
				if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
					return nil
				}
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", name, errors.Join(ctx.Err(), err))
		case <-time.After(100 * time.Millisecond):
		}
	}
}
