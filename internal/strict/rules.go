package strict

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// CheckLabel refuses what cannot be the name of a namespace, a service account or a queue. It suggests a name that would do, if that is
// not taken.
func CheckLabel(path, name string, taken ...string) error {
	isLabel := func(s string) bool { return len(validation.IsDNS1123Label(s)) == 0 }
	if isLabel(name) {
		return nil
	}
	return fmt.Errorf("%s: %q is no Kubernetes name: at most %d lower-case letters, digits and hyphens, beginning and ending with a letter or digit%s",
		path, name, validation.DNS1123LabelMaxLength, WouldDo(Hyphenated(strings.ToLower(name)), validation.DNS1123LabelMaxLength, func(s string) bool {
			return isLabel(s) && !namesOfOthers.MatchString(s) && !slices.Contains(taken, s)
		}))
}

// namesOfOthers are names that Kubernetes and the operators use themselves; they are refused where that matters, and never suggested.
var namesOfOthers = regexp.MustCompile(`^(default$|kube-|kueue-|kuberay-|gpu-monitoring$)`)

var notWords = regexp.MustCompile(`[^A-Za-z0-9]+`)

// Hyphenated puts single hyphens for what is neither letter nor digit, and none at the ends.
func Hyphenated(name string) string { return strings.Trim(notWords.ReplaceAllString(name, "-"), "-") }
