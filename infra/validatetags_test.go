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
		"infra.tags: must be at most 50 tags, those of the profile among them, got 51":                       many(51),
		`infra.tags: a tag must have a name, got ""`:                                                         tags("", "x"),
		"the name of a tag must be at most 128 characters, which a storage account takes, got 129":           tags(strings.Repeat("é", 129), "x"),
		`infra.tags.a/b?: the name of a tag must be without < > % & \ ? and /; "a-b-" would do`:              tags("a/b?", "x"),
		"infra.tags.Microsoft: the name of a tag must not begin with azure, microsoft, windows, which Azure": tags("Microsoft", "x"),
		"infra.tags.a: must be at most 256 characters, got 257":                                              tags("a", strings.Repeat("é", 257)),
		"infra.tags.owner: is the same tag as infra.tags.Owner; leave one out":                               tags("Owner", "x", "owner", "y"),
	})
	args := valid()
	many(49)(&args)
	args.Tags[strings.Repeat("é", 128)] = strings.Repeat("é", 256)
	if err := args.Validate(); err != nil {
		t.Error(err)
	}
}
