// Package crdtest checks custom resources as an API server would: against the schema, the CEL rules and the known fields of the CRD that
// lies in the same module version as the Go types. For tests only; it compiles a good part of the API server.
package crdtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"ray-on-aks/internal/gomodule"
)

// sources are the folders of CRDs by API group.
var sources = map[string]struct{ module, folder string }{
	"kueue.x-k8s.io": {"sigs.k8s.io/kueue", "config/components/crd/bases"},
	"ray.io":         {"github.com/ray-project/kuberay/ray-operator", "config/crd/bases"},
}

// validator checks objects of one kind and version.
type validator struct {
	structural *schema.Structural
	schema     apiservervalidation.SchemaValidator
	cel        *cel.Validator
}

var (
	mu         sync.Mutex
	validators = map[runtimeschema.GroupVersionKind]*validator{}
)

// Check returns everything that the API server would refuse in object, or drop from it.
func Check(object map[string]any) error {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	v, err := lookup(runtimeschema.FromAPIVersionAndKind(apiVersion, kind))
	if err != nil {
		return err
	}
	var errs []error
	object = runtime.DeepCopyJSON(object)
	for _, e := range apiservervalidation.ValidateCustomResource(nil, object, v.schema) {
		errs = append(errs, e)
	}
	celErrs, _ := v.cel.Validate(context.Background(), nil, v.structural, object, nil, celconfig.RuntimeCELCostBudget)
	for _, e := range celErrs {
		errs = append(errs, e)
	}
	dropped := pruning.PruneWithOptions(object, v.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range dropped {
		errs = append(errs, fmt.Errorf("%s: unknown field", path))
	}
	return errors.Join(errs...)
}

func lookup(gvk runtimeschema.GroupVersionKind) (*validator, error) {
	mu.Lock()
	defer mu.Unlock()
	if v, ok := validators[gvk]; ok {
		return v, nil
	}
	source, ok := sources[gvk.Group]
	if !ok {
		return nil, fmt.Errorf("no CRDs are known for %s", gvk)
	}
	dir, err := gomodule.Dir(source.module)
	if err != nil {
		return nil, err
	}
	v, err := load(filepath.Join(dir, source.folder), gvk)
	if err != nil {
		return nil, err
	}
	validators[gvk] = v
	return v, nil
}

// load finds the CRD in folder whose file is named after the kind's plural, and builds its validators.
func load(folder string, gvk runtimeschema.GroupVersionKind) (*validator, error) {
	files, err := filepath.Glob(filepath.Join(folder, gvk.Group+"_*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if crd.Spec.Names.Kind == gvk.Kind {
			return build(crd, gvk.Version)
		}
	}
	return nil, fmt.Errorf("no CRD for %s in %s", gvk, folder)
}

func build(crd apiextensionsv1.CustomResourceDefinition, version string) (*validator, error) {
	for _, v := range crd.Spec.Versions {
		if v.Name != version || v.Schema == nil {
			continue
		}
		var internal apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
			return nil, err
		}
		structural, err := schema.NewStructural(&internal)
		if err != nil {
			return nil, err
		}
		validate, _, err := apiservervalidation.NewSchemaValidator(&internal)
		if err != nil {
			return nil, err
		}
		return &validator{structural, validate, cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
	}
	return nil, fmt.Errorf("%s has no version %s", crd.Name, version)
}
