package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/urn"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ray-on-aks/rehearsal/cloud"
)

// state is all that a stack is, by name: in the engine's books, in the emulated
// cloud and in the cluster.
type state map[string]string

// what differs between tries by right: hashes of runs, and ids made of names.
var madeOfNames = regexp.MustCompile(`-[0-9a-f]{8}\b|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// snapshot reads it; name is that of the try, which is left out.
func (e *env) snapshot(name string) state {
	e.Helper()
	s := state{}
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	put := func(where, key string, value any) {
		text, err := json.Marshal(value)
		must(e.T, err)
		plain := func(text string) string {
			return madeOfNames.ReplaceAllString(word.ReplaceAllString(text, "‹try›"), "‹made›")
		}
		key = where + ": " + plain(key)
		if _, twice := s[key]; twice {
			key += " (another)"
		}
		s[key] = plain(string(text))
	}
	resources, pending := e.booked(e.pulumi("stack", "export"))
	for _, r := range resources {
		// Secrets are encrypted anew each time.
		delete(r.Inputs, "kubeconfig")
		put("books", string(r.URN), []any{r.ID, r.Inputs, r.Delete})
	}
	if pending > 0 {
		put("books", "operations broken off", pending)
	}
	must(e.T, cloud.Open(e.dir.Cloud()).View(func(r cloud.Resources) error {
		for id, record := range r {
			put("cloud", id, []any{record.Inputs, record.Outputs["provisioningState"]})
		}
		return nil
	}))
	for object := range e.objects() {
		put("cluster", object, nil)
	}
	queues, err := e.reader().Kueue.KueueV1beta2().ClusterQueues().List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	for _, q := range queues.Items {
		put("cluster", "what ClusterQueue "+q.Name+" says", q.Spec)
	}
	flavors, err := e.reader().Kueue.KueueV1beta2().ResourceFlavors().List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	for _, f := range flavors.Items {
		put("cluster", "what ResourceFlavor "+f.Name+" says", f.Spec)
	}
	jobs, err := e.reader().Jobs(e.Context())
	must(e.T, err)
	for _, j := range jobs {
		put("cluster", "RayJob "+j.RayJob.Namespace+"/"+j.RayJob.Name, j.Queue())
	}
	return s
}

// booked is a resource as the engine keeps it.
type booked struct {
	URN    urn.URN
	ID     string
	Inputs map[string]any
	Delete bool
}

// booked reads the engine's books, as it exports them: its resources, and how many
// operations it has not seen the end of.
func (e *env) booked(exported string) (resources []booked, pending int) {
	e.Helper()
	var stack struct {
		Deployment struct {
			Resources []booked
			Pending   []any `json:"pending_operations"`
		}
	}
	must(e.T, json.Unmarshal([]byte(exported), &stack))
	return stack.Deployment.Resources, len(stack.Deployment.Pending)
}

// diff lists what is different; "" where nothing is.
func (s state) diff(got state) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(s)) {
		switch value, ok := got[key]; {
		case !ok:
			lines = append(lines, "lost: "+key)
		case value != s[key]:
			lines = append(lines, fmt.Sprintf("changed: %s\n  from %s\n  to   %s", key, s[key], value))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := s[key]; !ok {
			lines = append(lines, "left: "+key)
		}
	}
	return strings.Join(lines, "\n")
}

// after says what is different once controllers have caught up.
func (s state) after(e *env, f *fault) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		diff := s.diff(e.snapshot(f.name))
		if diff == "" {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s; differs from an update without a fault:\n%s", f.met, diff)
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// fiveLetters are what KubeRay puts at the end of a cluster's name.
var fiveLetters = regexp.MustCompile(`-[a-z0-9]{5}$`)

// watchClusters looks until it is asked whether ever a job ran twice at a time:
// whether it had two heads that nobody was taking away.
func (e *env) watchClusters() func() error {
	ctx, stop := context.WithCancel(e.Context())
	done := make(chan error, 1)
	reader := e.reader()
	go func() {
		looked := 0
		for ctx.Err() == nil {
			time.Sleep(time.Second)
			// While the API server is down nothing is seen, and nothing begins.
			pods, err := reader.Kubernetes.CoreV1().Pods("").List(ctx, metav1.ListOptions{LabelSelector: rayutils.RayNodeTypeLabelKey + "=" + string(rayv1.HeadNode)})
			if err != nil {
				continue
			}
			looked++
			heads := map[string]int{}
			for _, pod := range pods.Items {
				if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
					// A cluster has the name of its job, and five letters.
					heads[pod.Namespace+"/"+fiveLetters.ReplaceAllString(pod.Labels[rayutils.RayClusterLabelKey], "")]++
				}
			}
			for job, n := range heads {
				if n > 1 {
					done <- fmt.Errorf("%s runs %d times at once", job, n)
					return
				}
			}
		}
		if looked == 0 {
			done <- errors.New("the heads of jobs could not be looked at")
		}
		close(done)
	}()
	return func() error { stop(); return <-done }
}
