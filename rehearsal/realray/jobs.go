package realray

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/dashboardclient"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"ray-on-aks/rehearsal/pods"
	"ray-on-aks/workloads"
)

// Submit does what the submitter's `ray job submit` does: it hands the job to
// the head's dashboard, once, and answers what became of it. It answers "" for
// as long as the dashboard is not there. When the job has ended, its log is
// kept.
func (r *Runtime) Submit(ctx context.Context, head *corev1.Pod, rayJob *rayv1.RayJob) (rayv1.JobStatus, error) {
	r.mu.Lock()
	n := r.nodes[head.UID]
	r.mu.Unlock()
	if n == nil {
		return "", nil
	}
	dashboard := n.client(askPatience)
	info, err := dashboard.GetJobInfo(ctx, rayJob.Status.JobId)
	switch {
	case apierrors.IsBadRequest(err):
		return r.submit(ctx, n, rayJob)
	case unreachable(err):
		return "", nil
	case err != nil:
		return "", err
	}
	if rayv1.IsJobTerminal(info.JobStatus) {
		if err := r.keepLog(ctx, dashboard, rayJob); err != nil {
			r.Log.Warn("keeping the log of a job", "job", rayJob.Name, "error", err)
		}
	}
	return info.JobStatus, nil
}

func (r *Runtime) submit(ctx context.Context, n *node, rayJob *rayv1.RayJob) (rayv1.JobStatus, error) {
	request, err := dashboardclient.ConvertRayJobToReq(rayJob)
	if err != nil {
		return "", err
	}
	// Kubernetes reads it first, then the submitter's bash.
	command, err := workloads.HeadCommand(pods.Expand(request.Entrypoint, nil))
	if err != nil {
		return "", fmt.Errorf("the command %q: %w", request.Entrypoint, err)
	}
	request.Entrypoint = n.local(command)
	// What it would install is in the environment that plays the image.
	delete(request.RuntimeEnv, "pip")
	if _, err = n.client(submitPatience).SubmitJobReq(ctx, request); err != nil && strings.Contains(err.Error(), "No available agent") {
		return "", nil // the head's agent starts later than its dashboard
	} else if err != nil {
		return "", err
	}
	r.Log.Info("submitted", "job", rayJob.Name, "entrypoint", request.Entrypoint)
	return rayv1.JobStatusPending, nil
}

// Jobs are asked after one by one, so no answer is waited for as long as one may
// take: a job's submission, for which the dashboard first starts a process.
const (
	askPatience    = 5 * time.Second
	submitPatience = 30 * time.Second
)

// client speaks to the cluster's dashboard with the cluster's token.
func (n *node) client(patience time.Duration) *dashboardclient.RayDashboardClient {
	c := &dashboardclient.RayDashboardClient{}
	direct := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	c.InitClient(direct, "http://"+n.dashboard, n.env["RAY_AUTH_TOKEN"])
	return c
}

// unreachable says that nobody listens yet.
func unreachable(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

// keepLog writes the job's log where a user finds it.
func (r *Runtime) keepLog(ctx context.Context, dashboard *dashboardclient.RayDashboardClient, rayJob *rayv1.RayJob) error {
	text, err := dashboard.GetJobLog(ctx, rayJob.Status.JobId)
	if err != nil || text == nil {
		return err
	}
	folder := filepath.Join(r.Dir, "jobs")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, rayJob.Status.JobId+".log"), []byte(*text), 0o600)
}
