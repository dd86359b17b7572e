package provider

import (
	"context"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
)

// Diff compares the last inputs with the new ones. Drift shows because Read
// puts what it finds into the inputs.
func (p *Provider) Diff(_ context.Context, r plugin.DiffRequest) (plugin.DiffResponse, error) {
	kind, err := p.kind(string(r.Type))
	if err != nil {
		return plugin.DiffResult{}, err
	}
	return diff(r.OldInputs, r.NewInputs, r.IgnoreChanges, kind)
}

func diff(oldInputs, newInputs resource.PropertyMap, ignore []string, kind Kind) (plugin.DiffResult, error) {
	olds := opened(resource.NewProperty(oldInputs)).ObjectValue()
	news := opened(resource.NewProperty(newInputs)).ObjectValue()
	for _, ignored := range ignore {
		path, err := resource.ParsePropertyPath(ignored)
		if err != nil {
			return plugin.DiffResult{}, fmt.Errorf("parsing ignoreChanges %q: %w", ignored, err)
		}
		// It answers false where neither side has such a place: then there is
		// no change to ignore.
		path.Reset(olds, news)
	}
	// A value that is not known yet may be another one: it counts as a change.
	changes := olds.Diff(news)
	if changes == nil {
		return plugin.DiffResult{Changes: plugin.DiffNone}, nil
	}
	result := plugin.DiffResult{
		Changes:      plugin.DiffSome,
		ChangedKeys:  changes.ChangedKeys(),
		DetailedDiff: plugin.NewDetailedDiffFromObjectDiff(changes, true),
	}
	if err := markReplacements(&result, kind); err != nil {
		return plugin.DiffResult{}, err
	}
	sameID := !slices.ContainsFunc(result.ReplaceKeys, func(key resource.PropertyKey) bool {
		return slices.Contains(kind.IDKeys, string(key))
	})
	result.DeleteBeforeReplace = len(result.ReplaceKeys) > 0 && sameID
	return result, nil
}

// markReplacements turns the differences at or below a path that cannot change
// in place into replacements.
func markReplacements(result *plugin.DiffResult, kind Kind) error {
	var fixed []resource.PropertyPath
	for _, text := range slices.Concat(kind.IDKeys, kind.ReplaceOn) {
		path, err := resource.ParsePropertyPath(text)
		if err != nil {
			return fmt.Errorf("parsing replacement path %q: %w", text, err)
		}
		fixed = append(fixed, path)
	}
	for text, change := range result.DetailedDiff {
		path, err := resource.ParsePropertyPath(text)
		if err != nil {
			return fmt.Errorf("parsing changed path %q: %w", text, err)
		}
		contains := func(f resource.PropertyPath) bool { return f.Contains(path) }
		if !slices.ContainsFunc(fixed, contains) {
			continue
		}
		result.DetailedDiff[text] = change.ToReplace()
		if key, ok := path[0].(string); ok && !slices.Contains(result.ReplaceKeys, resource.PropertyKey(key)) {
			result.ReplaceKeys = append(result.ReplaceKeys, resource.PropertyKey(key))
		}
	}
	slices.Sort(result.ReplaceKeys)
	return nil
}
