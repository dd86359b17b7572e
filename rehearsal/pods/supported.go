package pods

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

// CheckArg is the argument with which the executable ends at once: Supported
// starts it that way in a sandbox's namespaces.
const CheckArg = "sandbox-check"

// Supported says why this machine cannot run process pods; nil if it can.
func Supported(self string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, CheckArg)
	cmd.SysProcAttr = Attr()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the rehearsal runs Kueue and KubeRay in user, mount, network and process-id namespaces, "+
			"which this kernel does not let you make; "+
			"the settings are user.max_user_namespaces and, on some distributions, kernel.unprivileged_userns_clone or "+
			"kernel.apparmor_restrict_unprivileged_userns: %w %s", err, out)
	}
	return nil
}
