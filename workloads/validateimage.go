package workloads

import (
	"fmt"
	"regexp"

	"github.com/distribution/reference"
	"golang.org/x/mod/semver"
)

// oldestRay is the first release of Ray that knows tokens. An older one leaves the variables with which KubeRay sets them unread, and its
// dashboard runs whatever anybody in the cluster sends it. KubeRay asks the same of the release that it is told, which is the pinned one
// whatever the image holds.
const oldestRay = "2.52.0"

// rayInTag finds the release of Ray in the names of images whose tags say it: Ray's own, and those of AKS. Mirrors keep the end of the name.
var rayInTag = regexp.MustCompile(`(?:(?:^|/)rayproject/ray(?:-[a-z]+)?:|/ai-runtime/ray:.*ray)(\d+\.\d+\.\d+)`)

// validateImage checks what every pod runs.
func (w Workload) validateImage(path string) error {
	// The parser is the kubelet's own.
	if _, err := reference.ParseNormalizedNamed(w.Image); err != nil {
		return fmt.Errorf("%s: %q is no image, such as registry/repository:tag: %w", path, w.Image, err)
	}
	if found := rayInTag.FindStringSubmatch(w.Image); found != nil && semver.Compare("v"+found[1], "v"+oldestRay) < 0 {
		return fmt.Errorf("%s: must have Ray %s or newer, got %q: an older one knows no token, so that anybody in the cluster could run programs on it; "+
			"take a newer one, or leave it out for the default image", path, oldestRay, w.Image)
	}
	return nil
}
