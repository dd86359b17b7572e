package webhook

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const refused = `Internal error occurred: failed calling webhook "mresourceflavor.kb.io": failed to call webhook: Post ` +
	`"https://kueue-webhook-service.kueue-system.svc:443/mutate?timeout=10s": dial tcp 10.0.0.1:443: connect: connection refused`

func TestOnlyAnUnreachableWebhookIsTriedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		operation, failure string
		want               bool
	}{
		"refused":     {"create", refused, true},
		"on update":   {"update", refused, true},
		"conversion":  {"create", `conversion webhook for kueue.x-k8s.io/v1beta1 failed: Post "https://…": EOF`, true},
		"denied":      {"create", `admission webhook "vrayjob.kb.io" denied the request: shutdownAfterJobFinishes`, false},
		"invalid":     {"create", `ClusterQueue.kueue.x-k8s.io "x" is invalid`, false},
		"on deletion": {"delete", refused, false},
	} {
		t.Run(name, func(t *testing.T) {
			slept := time.Duration(0)
			got, err := decide(tc.operation, []string{tc.failure}, func(d time.Duration) { slept += d })
			if err != nil || got != tc.want || (slept > 0) != tc.want {
				t.Errorf("got %v, %v after %s", got, err, slept)
			}
		})
	}
}

func TestTheWaitEndsWithAdvice(t *testing.T) {
	_, err := decide("create", slices.Repeat([]string{refused}, tries+1), func(time.Duration) {})
	if err == nil || !strings.Contains(err.Error(), "kueue-system") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("unhelpful: %v", err)
	}
}
