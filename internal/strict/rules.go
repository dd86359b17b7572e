package strict

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// CheckLabel refuses what cannot be the name of a namespace, a service account or a queue.
func CheckLabel(path, name string) error {
	if msgs := validation.IsDNS1123Label(name); len(msgs) > 0 {
		return fmt.Errorf("%s: %q is no Kubernetes name: %s", path, name, strings.Join(msgs, "; "))
	}
	return nil
}
