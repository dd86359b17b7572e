// Package stacktest runs a whole Pulumi program against a recorder instead of an engine: once as an update, where what Azure would
// compute is known, and once as a preview, where it is not. Tests assert on what was registered, after the program has ended; an assertion
// inside ApplyT would never run on an unknown value, and pass.
package stacktest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Project is the name that programs run under.
const Project = "ray-on-aks"

// Options choose how a program is run.
type Options struct {
	// Stack is the stack's name.
	Stack string
	// Config is the stack's configuration by full key; objects are JSON.
	Config map[string]string
	// Preview runs as a preview of an empty stack.
	Preview bool
	// Stacks are the outputs of the other stacks of the backend, by full name: organization/project/stack. As under an engine they are
	// known at preview too.
	Stacks map[string]resource.PropertyMap
}

// Resource is one registration.
type Resource struct {
	// Type is the type token, Name the logical name.
	Type, Name string
	// Inputs are the inputs as the engine would get them.
	Inputs resource.PropertyMap
	// Parent, Provider, DeletedWith are URNs or provider references; empty where not set.
	Parent, Provider, DeletedWith string
	// ReplaceWith are the URNs of what takes it along when it is replaced.
	ReplaceWith []string
	// Dependencies are the URNs that it comes after.
	Dependencies []string
	// PropertyDependencies are the URNs whose outputs each input is made of.
	PropertyDependencies map[string][]string
	// IgnoreChanges are the ignored paths, ReplaceOnChanges those whose change replaces it.
	IgnoreChanges, ReplaceOnChanges []string
	// DeleteBeforeReplace says that it goes before its replacement comes.
	DeleteBeforeReplace bool
	// Protect and RetainOnDelete are the options of that name.
	Protect, RetainOnDelete bool
	// ErrorHooks are the names of the hooks that are asked after a failure, UpdateHooks of those before an update.
	ErrorHooks, UpdateHooks []string
	// Custom tells resources from components.
	Custom bool
}

// URN is the end of the resource's URN, as in the Parent of its children: type::name.
func (r Resource) URN() string { return r.Type + "::" + r.Name }

// Recording is what a program registered, in the order of the logical names.
type Recording struct {
	Resources []Resource
}

// Run runs program and fails the test if it fails.
func Run(t *testing.T, program pulumi.RunFunc, o Options) Recording {
	t.Helper()
	recording, err := Try(t, program, o)
	if err != nil {
		t.Fatalf("running the program: %v", err)
	}
	return recording
}

// Try runs program and returns its error. The configuration goes by the environment, as a language host passes it, so that a program
// which reads it there runs as it does under an engine.
func Try(t *testing.T, program pulumi.RunFunc, o Options) (Recording, error) {
	t.Helper()
	config, err := json.Marshal(o.Config)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(pulumi.EnvConfig, string(config))
	m := &mocks{preview: o.Preview, stacks: o.Stacks}
	err = pulumi.RunErr(program, pulumi.WithMocks(Project, o.Stack, m), func(i *pulumi.RunInfo) { i.DryRun = o.Preview })
	slices.SortFunc(m.resources, func(a, b Resource) int { return strings.Compare(a.Name, b.Name) })
	return Recording{Resources: m.resources}, err
}

// OfType returns the resources whose type ends in suffix.
func (r Recording) OfType(suffix string) []Resource {
	var found []Resource
	for _, res := range r.Resources {
		if strings.HasSuffix(res.Type, suffix) {
			found = append(found, res)
		}
	}
	return found
}

// One returns the only resource whose type ends in suffix.
func (r Recording) One(t *testing.T, suffix string) Resource {
	t.Helper()
	found := r.OfType(suffix)
	if len(found) != 1 {
		t.Fatalf("%d resources of type %s, want 1", len(found), suffix)
	}
	return found[0]
}

// Named returns the resource of that logical name.
func (r Recording) Named(t *testing.T, name string) Resource {
	t.Helper()
	for _, res := range r.Resources {
		if res.Name == name {
			return res
		}
	}
	t.Fatalf("no resource named %s", name)
	return Resource{}
}

// Tree returns the recorded resources as one indented line each, children below parents.
func (r Recording) Tree() string {
	children := map[string][]Resource{}
	for _, res := range r.Resources {
		_, end, _ := strings.Cut(res.Parent, "::"+Project+"::")
		// A parent's URN names the types of its own parents too, joined by $.
		if i := strings.LastIndex(end, "$"); i >= 0 {
			end = end[i+1:]
		}
		children[end] = append(children[end], res)
	}
	var b strings.Builder
	var walk func(urn, indent string)
	walk = func(urn, indent string) {
		for _, res := range children[urn] {
			b.WriteString(indent + res.Type + " " + res.Name + "\n")
			walk(res.URN(), indent+"  ")
		}
	}
	for parent := range children {
		if parent == "" || strings.HasPrefix(parent, "pulumi:pulumi:Stack::") {
			walk(parent, "")
		}
	}
	return b.String()
}
