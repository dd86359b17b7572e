// Package webhook bridges the moment between an operator's pod being Ready, which is when a Helm Release returns, and its
// admission webhook answering: certificates are still being made and the Service has no endpoint yet. The API server refuses
// objects in that moment, and the Kubernetes provider repeats a create only when the kind or the namespace is unknown. So the
// program has the engine repeat it: an error hook is asked after each failure whether to try once more.
package webhook

import (
	"fmt"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	hookName = "await-admission-webhook"
	// tries and pause bound the wait to two minutes; the engine itself gives up after a hundred failures.
	tries = 60
	pause = 2 * time.Second
)

// unreachable are the API server's words for a webhook that it could not ask. A webhook that was asked and said no is reported as
// "denied the request" and never repeated.
var unreachable = []string{"failed calling webhook", "conversion webhook for"}

// Bridge returns the option that objects with an admission webhook take. It is made once a program: hooks are known by name.
func Bridge(ctx *pulumi.Context) (pulumi.ResourceOption, error) {
	hook, err := ctx.RegisterErrorHook(hookName, func(args *pulumi.ErrorHookArgs) (bool, error) {
		return decide(args.FailedOperation, args.Errors, time.Sleep)
	})
	if err != nil {
		return nil, fmt.Errorf("registering the hook %s: %w", hookName, err)
	}
	return pulumi.ResourceHooks(&pulumi.ResourceHookBinding{OnError: []*pulumi.ErrorHook{hook}}), nil
}

// decide says whether an operation that failed with these errors, newest first, is tried again.
func decide(operation string, failures []string, sleep func(time.Duration)) (bool, error) {
	if operation == "delete" || len(failures) == 0 || !isUnreachable(failures[0]) {
		return false, nil
	}
	if len(failures) > tries {
		return false, fmt.Errorf("an admission webhook did not answer for %s; look at `kubectl -n kueue-system get pods,endpoints` and "+
			"the operator's log, then run pulumi up again: %s", tries*pause, failures[0])
	}
	sleep(pause)
	return true, nil
}

func isUnreachable(failure string) bool {
	for _, words := range unreachable {
		if strings.Contains(failure, words) {
			return true
		}
	}
	return false
}
