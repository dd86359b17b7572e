package e2e

import "testing"

// TestARenamedTeamKeepsItsNamespace: the live namespace, with its mounts and its
// identity, is not deleted under the old name. The job is another run, since it is
// in another queue, and takes the place of the one that ran.
func TestARenamedTeamKeepsItsNamespace(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "e2e-rename")
	e.supervise()
	e.only("gpt2-tuning")
	e.outcome(longRun)
	e.pulumi("up", "--yes", "--skip-preview")
	old := e.runOf("gpt2-tuning")
	e.awaitState(old, "running", running)
	before := e.objects()

	e.unset(queuesKey + "teams.language")
	e.set(queuesKey+"teams.words", map[string]any{"share": 1, "namespace": "ray-language"})
	for _, workload := range []string{"stage", "gpt2-tuning", "llm-training", "batch-inference", "llm-serving"} {
		e.set(workloadsKey+workload+".team", "words")
	}
	e.pulumi("up", "--yes", "--skip-preview")
	run := e.runOf("gpt2-tuning")
	if run == old {
		t.Errorf("%s is in another queue and still the same run", run)
	}
	e.awaitState(run, "running", running)

	after := e.objects()
	renamed := map[string]string{"ClusterQueue language": "ClusterQueue words", "LocalQueue ray-language/ray-jobs": "LocalQueue ray-language/ray-jobs"}
	for object, uid := range before {
		name, anew := renamed[object]
		if !anew {
			name = object
		}
		if now := after[name]; now == "" || (now == uid) == anew {
			t.Errorf("%s is now %s, uid %q after %q", object, name, now, uid)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d objects, and %d before: %v", len(after), len(before), after)
	}
	e.unchanged("with the team renamed")
}
