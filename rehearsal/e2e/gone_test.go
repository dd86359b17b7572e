package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ray-on-aks/internal/aks"
	"ray-on-aks/rehearsal/cloud"
	"ray-on-aks/rehearsal/layout"
	"ray-on-aks/rehearsal/process"
)

// checkGone fails if the destroyed stack left anything: in the cloud, on disk
// or as a process.
func (e *env) checkGone() {
	e.Helper()
	must(e.T, cloud.Open(e.dir.Cloud()).View(func(r cloud.Resources) error {
		for id := range r {
			e.Errorf("left in the emulated cloud: %s", id)
		}
		return nil
	}))
	e.eventually(30*time.Second, func() error {
		planes, err := os.ReadDir(e.dir.Join("planes"))
		if err != nil {
			return err
		}
		if len(planes) > 0 || e.kubeconfig() != "" {
			return fmt.Errorf("the control plane is still there: %v", planes)
		}
		return nil
	})
	if left := processes(e.dir); len(left) != 1 || !strings.Contains(left[0], "supervise") {
		e.Errorf("processes after destroy, beside the supervisor: %s", strings.Join(left, "\n"))
	}
	if process.Alive(string(e.dir), "supervisor") == 0 {
		e.Error("the supervisor ended with the cluster")
	}
}

// objects answers the uids of what teams keep in the cluster, by kind and name.
func (e *env) objects() map[string]string {
	e.Helper()
	reader := e.reader()
	uids := map[string]string{}
	namespaces, err := reader.Kubernetes.CoreV1().Namespaces().List(e.Context(), metav1.ListOptions{LabelSelector: ours})
	must(e.T, err)
	for _, n := range namespaces.Items {
		uids["Namespace "+n.Name] = string(n.UID)
	}
	volumes, err := reader.Kubernetes.CoreV1().PersistentVolumes().List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	for _, v := range volumes.Items {
		uids["PersistentVolume "+v.Name] = string(v.UID)
	}
	accounts, err := reader.Kubernetes.CoreV1().ServiceAccounts("").List(e.Context(), metav1.ListOptions{LabelSelector: ours})
	must(e.T, err)
	for _, a := range accounts.Items {
		uids["ServiceAccount "+a.Namespace+"/"+a.Name] = string(a.UID)
	}
	client := reader.Kueue.KueueV1beta2()
	flavors, err := client.ResourceFlavors().List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	for _, f := range flavors.Items {
		uids["ResourceFlavor "+f.Name] = string(f.UID)
	}
	clusterQueues, err := client.ClusterQueues().List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	for _, q := range clusterQueues.Items {
		uids["ClusterQueue "+q.Name] = string(q.UID)
	}
	localQueues, err := client.LocalQueues("").List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	for _, q := range localQueues.Items {
		uids["LocalQueue "+q.Namespace+"/"+q.Name] = string(q.UID)
	}
	return uids
}

// ours selects what the program made.
const ours = aks.LabelManagedBy + "=" + aks.ManagedBy

// left says what a team and a pool that are gone have left, in the cluster or
// in the cloud.
func (e *env) left(team, pool string) error {
	var left []string
	for name := range e.objects() {
		if strings.Contains(name, team) {
			left = append(left, name)
		}
	}
	nodes, err := e.reader().Kubernetes.CoreV1().Nodes().List(e.Context(), metav1.ListOptions{LabelSelector: aks.LabelPool + "=" + pool})
	if err != nil {
		return err
	}
	for _, n := range nodes.Items {
		left = append(left, "Node "+n.Name)
	}
	err = cloud.Open(e.dir.Cloud()).View(func(r cloud.Resources) error {
		for id := range r {
			if strings.Contains(id, team) || strings.HasSuffix(id, "/"+pool) {
				left = append(left, id)
			}
		}
		return nil
	})
	if err != nil || len(left) > 0 {
		return errors.Join(err, fmt.Errorf("left: %v: %w", left, errNotYet))
	}
	return nil
}

// processes answers the command lines of all processes of a rehearsal: those
// that name its folder, and those that were given it by environment.
func processes(dir layout.Dir) []string {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, entry := range entries {
		// A process that ends while it is looked at has no files any more.
		line, lineErr := os.ReadFile(filepath.Join(entry, "cmdline"))
		environ, environErr := os.ReadFile(filepath.Join(entry, "environ"))
		args := strings.Split(string(line), "\x00")
		named := slices.ContainsFunc(args, func(arg string) bool {
			return strings.Contains(arg, string(dir)+"/") || strings.HasSuffix(arg, string(dir))
		})
		given := slices.Contains(strings.Split(string(environ), "\x00"), layout.EnvDir+"="+string(dir))
		if lineErr == nil && named || environErr == nil && given {
			found = append(found, strings.Join(args, " "))
		}
	}
	return found
}
