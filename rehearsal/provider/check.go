package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
)

// Check names the resource where the program did not and answers everything
// that is wrong with its inputs.
func (p *Provider) Check(_ context.Context, r plugin.CheckRequest) (plugin.CheckResponse, error) {
	kind, err := p.kind(string(r.Type))
	if err != nil {
		return plugin.CheckResponse{}, err
	}
	news := r.News.Copy()
	var failures []plugin.CheckFailure
	if err := name(kind, r, news); err != nil {
		failures = append(failures, plugin.CheckFailure{
			Property: resource.PropertyKey(kind.NameKey), Reason: err.Error()})
	}
	if kind.Check != nil {
		for _, problem := range kind.Check(Plain(news)) {
			failures = append(failures, plugin.CheckFailure{
				Property: resource.PropertyKey(problem.Path), Reason: problem.Reason})
		}
	}
	return plugin.CheckResponse{Properties: news, Failures: failures}, nil
}

// name fills in the name: the one that the resource has, else the engine's
// proposal, else one derived from the engine's seed, so that preview and
// update agree.
func name(kind Kind, r plugin.CheckRequest, news resource.PropertyMap) error {
	key := resource.PropertyKey(kind.NameKey)
	if key == "" || news.HasValue(key) {
		return nil
	}
	if old, ok := r.Olds[key]; ok {
		news[key] = old
		return nil
	}
	if r.Autonaming != nil && r.Autonaming.Mode == plugin.AutonamingModeDisabled {
		return errors.New("is required: automatic naming is disabled")
	}
	if r.Autonaming != nil && r.Autonaming.ProposedName != "" {
		news[key] = resource.NewProperty(r.Autonaming.ProposedName)
		return nil
	}
	auto := kind.AutoName
	if auto == nil {
		auto = func(logical string, seed []byte) (string, error) {
			return resource.NewUniqueName(seed, logical, 8, 0, nil)
		}
	}
	made, err := auto(r.URN.Name(), r.RandomSeed)
	if err != nil {
		return fmt.Errorf("making up a name: %w", err)
	}
	news[key] = resource.NewProperty(made)
	return nil
}

// recheck repeats the checks where every value is known: what a preview could
// not see must not slip through the update.
func (p *Provider) recheck(kind Kind, token string, inputs map[string]any) error {
	if kind.Check == nil {
		return nil
	}
	problems := kind.Check(inputs)
	if len(problems) == 0 {
		return nil
	}
	lines := make([]string, len(problems))
	for i, problem := range problems {
		lines[i] = fmt.Sprintf("%s: %s", problem.Path, problem.Reason)
	}
	return fmt.Errorf("emulated %s refuses %s:\n  %s", p.spec.Name, token, strings.Join(lines, "\n  "))
}
