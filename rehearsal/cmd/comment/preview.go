package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/urn"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
)

// preview is what `pulumi preview --json` prints, as far as it matters here.
type preview struct {
	Steps       []step       `json:"steps"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

// step is what the engine would do with a resource.
type step struct {
	Op  string  `json:"op"`
	URN urn.URN `json:"urn"`
	// DiffReasons and ReplaceReasons are the paths of inputs that make it differ,
	// or ask for a new resource.
	DiffReasons    []string `json:"diffReasons"`
	ReplaceReasons []string `json:"replaceReasons"`
}

// diagnostic is a message of the program, a provider or the engine.
type diagnostic struct {
	URN      urn.URN `json:"urn"`
	Message  string  `json:"message"`
	Severity string  `json:"severity"`
}

// kinds are what may become of a resource, in the order of a comment; ops are
// the engine's words for it. Of a replacement only the step is counted that has
// the reasons.
var kinds = []struct {
	title string
	ops   []string
	// open lists it in the open; else it is folded.
	open bool
}{
	{"Replaced", []string{"replace"}, true},
	{"Deleted", []string{"delete"}, true},
	{"Updated", []string{"update"}, false},
	{"Created", []string{"create", "import"}, false},
}

// holding are the types of Azure resources that hold others' work: jobs, models,
// results. Of whatever version of the API they are.
var holding = map[tokens.TypeName]string{
	"ManagedCluster": "cluster", "AgentPool": "pool", "StorageAccount": "storage account",
}

// of lists the steps with one of these operations.
func (p preview) of(ops []string) []step {
	var found []step
	for _, s := range p.Steps {
		if slices.Contains(ops, s.Op) {
			found = append(found, s)
		}
	}
	return found
}

// errors are the messages of a preview that failed.
func (p preview) errors() []diagnostic {
	return slices.DeleteFunc(slices.Clone(p.Diagnostics), func(d diagnostic) bool { return d.Severity != "error" })
}

// verdict is an error if the preview failed, and if it would replace or delete
// what holds others' work.
func (p preview) verdict() error {
	var problems []error
	if n := len(p.errors()); n > 0 {
		problems = append(problems, fmt.Errorf("the preview failed with %d errors", n))
	}
	for _, s := range slices.Concat(p.of([]string{"replace"}), p.of([]string{"delete"})) {
		what, ok := holding[s.URN.Type().Name()]
		if ok && s.URN.Type().Package() == "azure-native" {
			problems = append(problems, fmt.Errorf("it would %s the %s %s%s", s.Op, what, s.URN.Name(), because(s.ReplaceReasons)))
		}
	}
	return errors.Join(problems...)
}

// because names the reasons of a replacement.
func because(reasons []string) string {
	if len(reasons) == 0 {
		return ""
	}
	return ", because of " + strings.Join(reasons, ", ")
}
