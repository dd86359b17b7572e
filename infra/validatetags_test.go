package infra

import (
	"fmt"
	"strings"
	"testing"
)

func TestTagsAreAsAzureTakesThem(t *testing.T) {
	tags := func(pairs ...string) func(*Args) {
		return func(a *Args) {
			a.Tags = map[string]string{}
			for i := 0; i < len(pairs); i += 2 {
				a.Tags[pairs[i]] = pairs[i+1]
			}
		}
	}
	many := func(n int) func(*Args) {
		return func(a *Args) {
			a.Tags = map[string]string{}
			for i := range n {
				a.Tags[fmt.Sprint("tag", i)] = "x"
			}
		}
	}
	refused(t, map[string]func(*Args){
		"infra.tags: must be at most 50 tags, those of the profile among them, got 51":                                                                  many(51),
		`infra.tags: a tag must have a name, got ""`:                                                                                                    tags("", "x"),
		"the name of a tag must be at most 128 characters, which a storage account takes, got 129":                                                      tags(strings.Repeat("é", 129), "x"),
		`infra.tags.a/b?: the name of a tag must be without < > % & \ ? and /; "a-b-" would do`:                                                         tags("a/b?", "x"),
		`infra.tags.Microsoft: the name of a tag must not begin with azure, microsoft, windows, which Azure keeps for its own; "my-Microsoft" would do`: tags("Microsoft", "x"),
		`infra.tags.azure/env: the name of a tag must be without < > % & \ ? and /; "my-azure-env" would do`:                                            tags("azure/env", "x"),
		"infra.tags.a: must be at most 256 characters, got 257":                                                                                         tags("a", strings.Repeat("é", 257)),
		"infra.tags.skipgpudriverinstall: the name of a tag must not be SkipGPUDriverInstall, which AKS does not heed any more":                         tags("skipgpudriverinstall", "true"),
		"infra.tags.owner: is the same tag as infra.tags.Owner; leave one out":                                                                          tags("Owner", "x", "owner", "y"),
	})
	// What would be refused, or be another tag, is not suggested.
	for name, change := range map[string]func(*Args){
		"beside it":      tags("a/b", "x", "A-B", "y"),
		"beside its own": tags("azure", "x", "MY-Azure", "y"),
	} {
		args := valid()
		change(&args)
		if err := args.Validate(); err == nil || strings.Contains(err.Error(), "would do") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	args := valid()
	tags("azure"+strings.Repeat("x", 122), "x")(&args)
	err := args.Validate()
	if _, hint, _ := strings.Cut(fmt.Sprint(err), "for its own; "); hint != fmt.Sprintf("%q would do", "my-azure"+strings.Repeat("x", 120)) {
		t.Errorf("of the longest name: %v", err)
	}
	args = valid()
	many(49)(&args)
	args.Tags[strings.Repeat("é", 128)] = strings.Repeat("é", 256)
	if err := args.Validate(); err != nil {
		t.Error(err)
	}
}
