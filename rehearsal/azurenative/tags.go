package azurenative

import (
	"fmt"
	"unicode/utf8"

	"ray-on-aks/rehearsal/provider"
)

// The limits of tags are those of
// https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations.
const (
	maxTags     = 50
	maxTagValue = 256
)

// checkTags applies ARM's limits to a resource's tags, or those of an inline
// pool.
func checkTags(path string, inputs map[string]any) (problems []provider.Problem) {
	at, tags := join(path, "tags"), object(inputs, "tags")
	report := func(at, format string, args ...any) {
		problems = append(problems, provider.Problem{Path: at, Reason: fmt.Sprintf(format, args...)})
	}
	if len(tags) > maxTags {
		report(at, "must be at most %d tags, got %d", maxTags, len(tags))
	}
	for name, value := range tags {
		if reason := tagNameRule.check(name); reason != "" {
			report(join(at, name), "its name %s", reason)
		}
		text, _ := value.(string)
		if n := utf8.RuneCountInString(text); n > maxTagValue {
			report(join(at, name), "must be at most %d characters, got %d", maxTagValue, n)
		}
	}
	return problems
}
