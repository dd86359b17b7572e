package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"ray-on-aks/internal/aks"
)

// Print writes the jobs as a table.
func Print(w io.Writer, jobs []Job) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "JOB\tQUEUE\tSTATE\tFLAVORS\tRAY\tMESSAGE")
	for _, j := range jobs {
		fmt.Fprintf(table, "%s/%s\t%s\t%s\t%s\t%s\t%s\n", j.RayJob.Namespace, j.RayJob.Name,
			j.RayJob.Labels[aks.LabelQueue], j.Queue(), pairs(j.Flavors()), state(j.RayJob), j.message())
	}
	return table.Flush()
}

func state(j rayv1.RayJob) string {
	if j.Status.JobStatus == "" {
		return "-"
	}
	return string(j.Status.JobStatus)
}

// message is the newest reason why a job waits or failed.
func (j Job) message() string {
	if m := j.RayJob.Status.Message; m != "" {
		return m
	}
	if j.Workload == nil {
		return ""
	}
	if c := apimeta.FindStatusCondition(j.Workload.Status.Conditions, kueue.WorkloadQuotaReserved); c != nil &&
		c.Status == metav1.ConditionFalse {
		return c.Message
	}
	return ""
}

func pairs(m map[string]string) string {
	list := make([]string, 0, len(m))
	for k, v := range m {
		list = append(list, k+"="+v)
	}
	slices.Sort(list)
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, " ")
}
