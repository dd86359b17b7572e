package azurenative

import (
	"strings"
	"testing"
	"time"
)

func TestWaitIsBounded(t *testing.T) {
	w := kubeconfigWaiter{dir: t.TempDir(), ready: 10 * time.Millisecond, gone: 10 * time.Millisecond}
	err := w.Ready(t.Context(), "aks-ray")
	if err == nil || !strings.Contains(err.Error(), "run `make rehearse`") {
		t.Errorf("got %v", err)
	}
	if err := w.Gone(t.Context(), "aks-ray"); err != nil {
		t.Error(err)
	}
}
