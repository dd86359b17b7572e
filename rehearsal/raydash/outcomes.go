package raydash

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
)

// Outcome says how a simulated job or service does.
type Outcome struct {
	// Seconds that a job runs, or the applications of a service deploy, once
	// all pods of the cluster run.
	Seconds float64 `json:"seconds"`
	// Status that it comes to: of a job SUCCEEDED (default) or FAILED, of a
	// service's applications RUNNING (default), DEPLOY_FAILED or UNHEALTHY.
	Status string `json:"status,omitempty"`
}

// defaultSeconds is long enough that a user sees a job run and an application
// deploy.
const defaultSeconds = 5

// kind is what can have an outcome.
type kind struct {
	// statuses are those that it can come to, the default first.
	statuses []string
	// any says that the empty beginning of a name speaks of it, too.
	any bool
}

var (
	jobKind     = kind{[]string{string(rayv1.JobStatusSucceeded), string(rayv1.JobStatusFailed)}, true}
	serviceKind = kind{[]string{rayv1.ApplicationStatusEnum.RUNNING, rayv1.ApplicationStatusEnum.DEPLOY_FAILED,
		rayv1.ApplicationStatusEnum.UNHEALTHY}, false}
)

// outcome looks the name of a RayJob or RayService up in the outcomes file,
// which maps the beginnings of names; the longest one that fits counts. The
// empty beginning speaks of jobs alone: a test that holds all jobs holds no
// service.
func (h *Heads) outcome(k kind, name string) (Outcome, error) {
	best, longest := Outcome{Seconds: defaultSeconds}, -1
	data, err := os.ReadFile(h.Outcomes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Outcome{}, err
	}
	outcomes := map[string]Outcome{}
	if err == nil {
		if err := json.Unmarshal(data, &outcomes); err != nil {
			return Outcome{}, fmt.Errorf("reading %s: %w", h.Outcomes, err)
		}
	}
	for prefix, o := range outcomes {
		if strings.HasPrefix(name, prefix) && len(prefix) > longest && (prefix != "" || k.any) {
			best, longest = o, len(prefix)
		}
	}
	if best.Status == "" {
		best.Status = k.statuses[0]
	}
	if !slices.Contains(k.statuses, best.Status) {
		return Outcome{}, fmt.Errorf("reading %s: %s comes to status %q; there are %s", h.Outcomes, name, best.Status, strings.Join(k.statuses, ", "))
	}
	return best, nil
}
