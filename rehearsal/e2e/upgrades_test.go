package e2e

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ray-on-aks/rehearsal/toolchain"
)

const (
	operatorsKey = "ray-on-aks:infra.operators."
	clusterKey   = "ray-on-aks:infra.cluster"
)

// TestUpgrades brings a stack from the operators' earlier releases to the pinned
// ones, with an engine that is killed on the way, then Kubernetes to the next
// minor, and then hands the operators over and takes them back. A job of somebody else runs through
// it all but the loss of its node.
func TestUpgrades(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "e2e-upgrades")
	tools, err := toolchain.New(e.root, os.Stderr)
	must(t, err)
	_, err = tools.EnsureEarlier(t.Context())
	must(t, err)
	earlier, pinned := e.charts("earlier", tools.EarlierModule), e.charts("pinned", tools.Module)
	e.supervise("-upgrades")
	e.only()
	e.outcome(longRun)
	e.set(operatorsKey+"kuberay", map[string]any{"chart": earlier["kuberay"]})
	e.set(operatorsKey+"kueue", map[string]any{"chart": earlier["kueue"]})
	e.pulumi("up", "--yes", "--skip-preview")
	e.submit("theirs", "ray-weather")
	e.awaitState("theirs", "running", running)
	cluster := e.clusterOf("theirs")
	stop := e.watchClusters()

	// What only the pinned CRDs have is no object for the earlier ones.
	e.only("smoke")
	e.set(smokeKey+"retries", 5)
	if out, err := e.try("up", "--yes", "--skip-preview"); err == nil || !strings.Contains(out, "preRunningDeadlineSeconds: field not declared in schema") {
		t.Errorf("a field that the earlier CRDs lack: %v\n%s", err, out)
	}

	e.set(operatorsKey+"kuberay", map[string]any{"chart": pinned["kuberay"]})
	e.set(operatorsKey+"kueue", map[string]any{"chart": pinned["kueue"]})
	e.killMidUpgrade()
	out, err := e.again()
	if err != nil {
		t.Fatalf("the same command again: %v\n%s", err, out)
	}
	e.awaitState(e.runOf("smoke"), "running", running)
	e.checkOperators()
	if now := e.clusterOf("theirs"); now != cluster {
		t.Errorf("the upgrade took a running job's cluster %s away: it has %s", cluster, now)
	}
	e.unchanged("after the operators' upgrade")
	must(t, stop())

	e.upgradeKubernetes()
	e.handOver()
	e.takeBack(pinned)
	e.pulumi("destroy", "--yes", "--skip-preview")
	e.checkGone()
}

// clusterOf is the Ray cluster of a job, by its UID.
func (e *env) clusterOf(run string) string {
	e.Helper()
	j, err := e.job(run)
	must(e.T, err)
	cluster, err := e.reader().Ray.RayV1().RayClusters(j.RayJob.Namespace).Get(e.Context(), j.RayJob.Status.RayClusterName, metav1.GetOptions{})
	must(e.T, err)
	return string(cluster.UID)
}

// killMidUpgrade begins an update and kills the engine while Helm upgrades Kueue.
func (e *env) killMidUpgrade() {
	e.Helper()
	cmd := e.rehearsing(string(e.dir), "pulumi", "up", "--yes", "--skip-preview")
	must(e.T, cmd.Start())
	e.eventually(time.Minute, func() error {
		records, err := e.reader().Kubernetes.CoreV1().Secrets("kueue-system").List(e.Context(), metav1.ListOptions{LabelSelector: "owner=helm,status=pending-upgrade"})
		if err == nil && len(records.Items) == 0 {
			err = errNotYet
		}
		return err
	})
	must(e.T, kill(e.enginePID()))
	if err := cmd.Wait(); err == nil {
		e.Fatal("the update ended well although its engine was killed")
	}
}

// upgradeKubernetes takes cluster and nodes to the next minor: nothing in the
// cluster is changed by it, and a job loses its nodes and begins again on others,
// which may be one of its retries.
func (e *env) upgradeKubernetes() {
	e.Helper()
	e.set(clusterKey, map[string]any{"kubernetesVersion": "1.34"})
	out, err := e.try("preview")
	if err == nil || !strings.Contains(out, "infra.cluster.kubernetesVersion: AKS never goes back, and the cluster has 1.35 already") {
		e.Errorf("the preview of the way back: %v\n%s", err, out)
	}
	e.unset(clusterKey)
	run := e.runOf("smoke")
	lost := e.pods(run)
	e.set(clusterKey, map[string]any{"kubernetesVersion": "1.36"})
	for _, step := range e.plan() {
		if kind := strings.Fields(step)[1]; !strings.HasPrefix(step, "update ") || !slices.Contains(tagged, kind) {
			e.Errorf("another minor of Kubernetes makes the step %q", step)
		}
	}
	e.pulumi("up", "--yes", "--skip-preview")
	e.eventually(2*time.Minute, func() error {
		nodes, err := e.reader().Kubernetes.CoreV1().Nodes().List(e.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, node := range nodes.Items {
			if version := node.Status.NodeInfo.KubeletVersion; version != "v1.36.0" {
				return fmt.Errorf("node %s has %s", node.Name, version)
			}
		}
		return nil
	})
	e.eventually(2*time.Minute, func() error {
		j, err := e.job(run)
		if err == nil && (!running(j) || j.Queue() != "admitted") {
			err = fmt.Errorf("%s is %s, Ray job %s", run, j.Queue(), j.RayJob.Status.JobStatus)
		}
		now := e.pods(run)
		for name, phase := range now {
			if _, was := lost[name]; was || phase != corev1.PodRunning {
				err = errors.Join(err, fmt.Errorf("pod %s is %s", name, phase))
			}
		}
		if len(now) != len(lost) {
			err = errors.Join(err, fmt.Errorf("%s has the pods %v, and had %v", run, now, lost))
		}
		return err
	})
	e.unchanged("after Kubernetes' upgrade")
}

// handOver takes the operators out of the program. They stay, and all that others
// have made of them.
func (e *env) handOver() {
	e.Helper()
	run := e.runOf("smoke")
	cluster := e.clusterOf(run)
	for _, operator := range []string{"kuberay", "kueue"} {
		e.set(operatorsKey+operator, map[string]any{"mode": "preinstalled"})
	}
	e.pulumi("up", "--yes", "--skip-preview")
	e.checkOperators()
	e.awaitState(run, "running", running)
	if now := e.clusterOf(run); now != cluster {
		e.Errorf("handing the operators over took the cluster %s of a job away: it has %s", cluster, now)
	}
	// They do their work, too.
	e.set(smokeKey+"generation", 1)
	e.pulumi("up", "--yes", "--skip-preview")
	e.awaitState(e.runOf("smoke"), "running", running)
	e.unchanged("after the operators were handed over")
}

// takeBack brings the operators under the program again, once Helm has forgotten
// them.
func (e *env) takeBack(charts map[string]string) {
	e.Helper()
	run := e.runOf("smoke")
	cluster := e.clusterOf(run)
	for namespace, release := range map[string]string{"kueue-system": "kueue", "kuberay-system": "kuberay-operator"} {
		must(e.T, e.reader().Kubernetes.CoreV1().Secrets(namespace).DeleteCollection(e.Context(), metav1.DeleteOptions{},
			metav1.ListOptions{LabelSelector: "owner=helm,name=" + release}))
	}
	for operator, chart := range charts {
		e.set(operatorsKey+operator, map[string]any{"chart": chart})
	}
	e.pulumi("up", "--yes", "--skip-preview")
	e.checkOperators()
	e.awaitState(run, "running", running)
	if now := e.clusterOf(run); now != cluster {
		e.Errorf("taking the operators back took the cluster %s of a job away: it has %s", cluster, now)
	}
	e.unchanged("after the operators were taken back")
}

// checkOperators fails unless the pinned releases are there, and no others.
func (e *env) checkOperators() {
	e.Helper()
	pods, err := e.reader().Kubernetes.CoreV1().Pods("").List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	var images []string
	for _, pod := range pods.Items {
		if strings.HasSuffix(pod.Namespace, "-system") && pod.DeletionTimestamp == nil {
			image := pod.Spec.Containers[0].Image
			images = append(images, image[strings.LastIndexByte(image, '/')+1:])
		}
	}
	slices.Sort(images)
	if want := []string{"kueue:release-0.17", "operator:v1.6.1"}; !slices.Equal(images, want) {
		e.Errorf("operators %v, want %v", images, want)
	}
	e.eventually(time.Minute, func() error {
		_, err := e.reader().Ray.RayV1().RayCronJobs("").List(e.Context(), metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("a kind of the pinned CRDs: %w", err)
		}
		return nil
	})
}
