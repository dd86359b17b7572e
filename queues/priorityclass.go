package queues

import (
	"fmt"

	"ray-on-aks/internal/crd"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// priorityClass is the class of that name and value. Kueue orders by it only; pods have no priority, so the scheduler preempts nobody.
func priorityClass(name string, value int32) *kueue.WorkloadPriorityClass {
	return &kueue.WorkloadPriorityClass{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: labels()},
		Value:       value,
		Description: fmt.Sprintf("What jobs with the label kueue.x-k8s.io/priority-class: %s have.", name),
	}
}

// newPriorityClass registers a class. It is the one kind without a spec, which is all that crd.Object can carry.
func newPriorityClass(ctx *pulumi.Context, name string, class *kueue.WorkloadPriorityClass, opts ...pulumi.ResourceOption) (pulumi.Resource, error) {
	return apiextensions.NewCustomResource(ctx, name, &apiextensions.CustomResourceArgs{
		ApiVersion:  pulumi.String(kueue.GroupVersion.String()),
		Kind:        pulumi.String("WorkloadPriorityClass"),
		Metadata:    crd.Metadata(class.ObjectMeta),
		OtherFields: priorityFields(class),
	}, opts...)
}

func priorityFields(class *kueue.WorkloadPriorityClass) kubernetes.UntypedArgs {
	return kubernetes.UntypedArgs{"value": int64(class.Value), "description": class.Description}
}
