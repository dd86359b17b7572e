package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

const urnOf = "urn:pulumi:dev::ray-on-aks::ray-on-aks:index:Infra$azure-native:containerservice/v20240901:"

// steps writes a preview of these steps: an operation, a type, a name.
func steps(all ...[3]string) string {
	var written []string
	for _, s := range all {
		reasons := ""
		switch s[0] {
		case "replace":
			reasons = `, "replaceReasons": ["vmSize"], "diffReasons": ["vmSize", "tags"]`
		case "update":
			reasons = `, "diffReasons": ["vmSize", "tags"]`
		}
		written = append(written, fmt.Sprintf(`{"op": %q, "urn": %q%s}`, s[0], urnOf+s[1]+"::"+s[2], reasons))
	}
	return `{"steps": [` + strings.Join(written, ",") + `]}`
}

// said runs the command on a preview.
func said(t *testing.T, preview string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := run([]string{"-stack", "dev"}, strings.NewReader(preview), &out)
	return out.String(), err
}

func TestWhatIsLostComesFirstAndFails(t *testing.T) {
	text, err := said(t, "warning: {old}\n"+steps(
		[3]string{"create", "AgentPool", "new"}, [3]string{"same", "ManagedCluster", "kept"}, [3]string{"update", "AgentPool", "changed"},
		[3]string{"delete", "AgentPool", "gone"},
		[3]string{"create-replacement", "AgentPool", "a100"}, [3]string{"replace", "AgentPool", "a100"}, [3]string{"delete-replaced", "AgentPool", "a100"},
	))
	const want = "it would replace the pool a100, because of vmSize\nit would delete the pool gone"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the verdict is %v, want %s", err, want)
	}
	if !strings.Contains(text, "### Preview of `dev`: 1 replaced, 1 deleted, 1 updated, 1 created\n") {
		t.Errorf("the summary is not there:\n%s", text)
	}
	last := -1
	for _, part := range []string{"<!-- preview of stack dev -->", "> it would replace", "**Replaced (1)**", "`a100`", "**Deleted (1)**", "`gone`", "Updated (1)", "`vmSize, tags`", "Created (1)", "`new`"} {
		at := strings.Index(text, part)
		if at <= last {
			t.Errorf("%q is at %d, after what is at %d:\n%s", part, at, last, text)
		}
		last = at
	}
	if strings.Contains(text, "kept") {
		t.Errorf("it speaks of what stays:\n%s", text)
	}
}

// TestOthersMayGo: a run that takes another's place is what an update is for.
func TestOthersMayGo(t *testing.T) {
	text, err := said(t, `{"steps": [{"op": "delete", "urn": "urn:pulumi:dev::ray-on-aks::kubernetes:ray.io/v1:RayJob::smoke-1"}]}`)
	if err != nil || !strings.Contains(text, "`smoke-1`") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestNoChangesAreSaid(t *testing.T) {
	text, err := said(t, steps([3]string{"same", "AgentPool", "a100"}))
	if err != nil || !strings.Contains(text, "### Preview of `dev`: no changes\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestAPreviewThatFailsSaysWhy, and nothing in what it says can end the fence or
// fill the comment.
func TestAPreviewThatFailsSaysWhy(t *testing.T) {
	message := "<{%fg 1%}>workloads.smoke.workers<{%reset%}>: too many ``` " + strings.Repeat("é", mostOfMessage)
	text, err := said(t, fmt.Sprintf(`{"diagnostics": [{"severity": "warning", "message": "old"}, {"severity": "error", "message": %q}]}`, message))
	if err == nil || !strings.Contains(err.Error(), "failed with 1 errors") {
		t.Errorf("the verdict is %v", err)
	}
	if !strings.Contains(text, "### Preview of `dev`: failed\n") || !strings.Contains(text, "\n````text\nworkloads.smoke.workers: too many ```") {
		t.Errorf("it says:\n%.300s", text)
	}
	if strings.Contains(text, "old") || len(text) > 2*mostOfMessage || !strings.HasSuffix(text, "\n…\n````\n") {
		t.Errorf("%d letters, which end in %q", len(text), text[len(text)-30:])
	}
}

func TestOneCommentHoldsAnyPreview(t *testing.T) {
	many := [][3]string{{"replace", "AgentPool", "lost"}}
	for i := range 1000 {
		many = append(many, [3]string{"update", "AgentPool", fmt.Sprintf("p|`%d", i) + strings.Repeat("x", 200)})
	}
	text, err := said(t, steps(many...))
	if err == nil || len(text) > mostBytes+100 {
		t.Errorf("%v, %d bytes", err, len(text))
	}
	if strings.Contains(text, "p|") || !strings.Contains(text, "| `p\\|'7x") {
		t.Errorf("a name is read as Markdown:\n%.800s", text)
	}
	if !strings.Contains(text, "`lost`") || !strings.HasSuffix(text, "</details>\n\n… and more, which is in the log of the run\n") {
		t.Errorf("it is cut so that it ends in %q", text[len(text)-200:])
	}
}

func TestWhatIsNoPreviewIsRefused(t *testing.T) {
	for in, words := range map[string]string{
		"":                        "is no preview in JSON",
		"error: no stack named x": `but "error: no stack`,
		"{}":                      "neither steps nor messages",
		"{\"steps\": 1}":          "is no preview in JSON: ",
	} {
		if _, err := said(t, in); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q", in, err, words)
		}
	}
	if err := run(nil, strings.NewReader("{}"), io.Discard); err == nil || !strings.Contains(err.Error(), "-stack is not set") {
		t.Errorf("without a stack: %v", err)
	}
}
