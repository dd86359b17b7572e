package main

import (
	"strings"
	"testing"
)

const stack = `{"kubeconfig": "apiVersion: v1", "runs": {"smoke": {"name": "smoke-1a2b", "namespace": "ray", "kind": "RayJob", "id": "x", "result": "https://a"},
	"llm-training": {"name": "llm-training-3c", "namespace": "ray-a", "kind": "RayJob", "result": ""}}}`

func TestAJobIsFoundByItsWorkload(t *testing.T) {
	o, err := read(strings.NewReader(stack))
	if err != nil {
		t.Fatal(err)
	}
	found, err := o.find("smoke")
	if err != nil || found.Name != "smoke-1a2b" || found.Namespace != "ray" || found.Kind != "RayJob" || found.Result != "https://a" {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestMistakesAreExplained(t *testing.T) {
	for words, c := range map[string]struct {
		in   string
		args []string
	}{
		`there is no job "smoek" in the stack, only llm-training, smoke; did you mean smoke?`: {stack, []string{"-job", "smoek"}},
		`there is no job "aurora-finetune" in the stack, only llm-training, smoke`:            {stack, []string{"-job", "aurora-finetune"}},
		"no job is named; the stack's are llm-training, smoke":                                {stack, nil},
		"no outputs came by standard input; is the stack up?":                                 {" \n", []string{"-job", "smoke"}},
		"standard input is not the JSON of a stack's outputs":                                 {"error: no stack", []string{"-job", "smoke"}},
		"the stack has no output kubeconfig":                                                  {"{}", []string{"-job", "smoke"}},
		"the kubeconfig is hidden; pass --show-secrets":                                       {`{"kubeconfig": "[secret]"}`, []string{"-job", "smoke"}},
		"the stack has no runs":                                                               {`{"kubeconfig": "x", "runs": {}}`, []string{"-job", "smoke"}},
		"the stack's output kubeconfig":                                                       {strings.Replace(stack, "apiVersion: v1", "a secret: [", 1), []string{"-job", "smoke"}},
		"must be more than 0, got 0s and 5s":                                                  {stack, []string{"-deadline", "0s"}},
	} {
		var out strings.Builder
		err := run(t.Context(), c.args, strings.NewReader(c.in), &out)
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got %v", words, err)
		}
		if out.String() != "" {
			t.Errorf("%s: printed %q", words, out.String())
		}
	}
}
