package infra

import (
	"slices"
	"time"

	"ray-on-aks/internal/aks"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1alpha1 "k8s.io/component-base/config/v1alpha1"
	"k8s.io/utils/ptr"
	kueueconfig "sigs.k8s.io/kueue/apis/config/v1beta2"
	"sigs.k8s.io/yaml"
)

// frameworkRayJob is the one job kind that is always managed.
const frameworkRayJob = "ray.io/rayjob"

// addableFrameworks are the others whose kinds exist in this cluster. Pod and Deployment are left out: with them every pod of the
// namespace passes through Kueue, and nothing can be deployed while Kueue is down.
var addableFrameworks = []string{"batch/job", "ray.io/raycluster", "ray.io/rayservice"}

// KueueValues are the chart's values. The chart replaces its whole default configuration by the string it is given, so the
// string restates what the rest of the chart relies on: ports, leader election, concurrency.
func KueueValues(k Kueue) (map[string]any, error) {
	config, err := yaml.Marshal(kueueConfiguration(k))
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"controllerManager": onSystemPool(),
		"managerConfig":     map[string]any{"controllerManagerConfigYaml": string(config)},
	}, nil
}

func kueueConfiguration(k Kueue) kueueconfig.Configuration {
	frameworks := append([]string{frameworkRayJob}, k.Frameworks...)
	return kueueconfig.Configuration{
		TypeMeta: metav1.TypeMeta{
			APIVersion: kueueconfig.GroupVersion.String(),
			Kind:       "Configuration",
		},
		ControllerManager: kueueControllerManager(),
		// The chart also puts this selector on the webhooks of jobs. Only the namespaces with queues depend on Kueue then; a Job of
		// monitoring can be created while Kueue is down. By a label and not by names: with these Kueue would be restarted, and refuse jobs
		// meanwhile, whenever a team comes or goes.
		ManagedJobsNamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: aks.LabelTenant, Operator: metav1.LabelSelectorOpExists,
		}}},
		ClientConnection: &kueueconfig.ClientConnection{QPS: ptr.To[float32](50), Burst: ptr.To[int32](100)},
		InternalCertManagement: &kueueconfig.InternalCertManagement{
			Enable:             ptr.To(true),
			WebhookServiceName: ptr.To(kueueconfig.DefaultWebhookServiceName),
			WebhookSecretName:  ptr.To(kueueconfig.DefaultWebhookSecretName),
		},
		WaitForPodsReady: &kueueconfig.WaitForPodsReady{
			Timeout: k.WaitForPodsReady,
			RequeuingStrategy: &kueueconfig.RequeuingStrategy{
				Timestamp:          ptr.To(kueueconfig.EvictionTimestamp),
				BackoffLimitCount:  ptr.To(k.RequeueLimit),
				BackoffBaseSeconds: ptr.To[int32](kueueconfig.DefaultRequeuingBackoffBaseSeconds),
				BackoffMaxSeconds:  ptr.To[int32](kueueconfig.DefaultRequeuingBackoffMaxSeconds),
			},
		},
		Integrations: &kueueconfig.Integrations{Frameworks: slices.Compact(slices.Sorted(slices.Values(frameworks)))},
		// Deactivated workloads are kept: deleting one deletes its RayJob too, which would come back at the next up.
		ObjectRetentionPolicies: &kueueconfig.ObjectRetentionPolicies{
			Workloads: &kueueconfig.WorkloadRetentionPolicy{AfterFinished: &k.RetainFinished},
		},
	}
}

func kueueControllerManager() kueueconfig.ControllerManager {
	duration := func(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
	return kueueconfig.ControllerManager{
		Health:  kueueconfig.ControllerHealth{HealthProbeBindAddress: kueueconfig.DefaultHealthProbeBindAddress},
		Metrics: kueueconfig.ControllerMetrics{BindAddress: kueueconfig.DefaultMetricsBindAddress, EnableClusterQueueResources: true},
		Webhook: kueueconfig.ControllerWebhook{Port: ptr.To(kueueconfig.DefaultWebhookPort)},
		LeaderElection: &configv1alpha1.LeaderElectionConfiguration{
			LeaderElect:   ptr.To(true),
			ResourceName:  kueueconfig.DefaultLeaderElectionID,
			ResourceLock:  "leases",
			LeaseDuration: duration(kueueconfig.DefaultLeaderElectionLeaseDuration),
			RenewDeadline: duration(kueueconfig.DefaultLeaderElectionRenewDeadline),
			RetryPeriod:   duration(kueueconfig.DefaultLeaderElectionRetryPeriod),
		},
		Controller: &kueueconfig.ControllerConfigurationSpec{GroupKindConcurrency: map[string]int{
			"Job.batch":                     5,
			"Pod":                           5,
			"Workload.kueue.x-k8s.io":       5,
			"LocalQueue.kueue.x-k8s.io":     1,
			"ClusterQueue.kueue.x-k8s.io":   1,
			"ResourceFlavor.kueue.x-k8s.io": 1,
		}},
	}
}
