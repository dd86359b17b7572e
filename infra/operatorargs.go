package infra

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"ray-on-aks/internal/strict"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Operators declares what is installed into the cluster.
type Operators struct {
	// KubeRay turns RayJobs into pods.
	KubeRay Operator `json:"kuberay"`
	// Kueue decides which RayJobs may run.
	Kueue Kueue `json:"kueue"`
	// DevicePlugin is NVIDIA's: without it no node offers its GPUs. It is installed only where a pool has some.
	DevicePlugin Operator `json:"devicePlugin"`
	// GPUMonitoring watches the health of GPUs and reports it on their nodes. It is installed only where a pool has some.
	GPUMonitoring Operator `json:"gpuMonitoring"`
}

// Mode says who installs an operator.
type Mode string

const (
	// ModeInstall installs the operator by its Helm chart.
	ModeInstall Mode = "install"
	// ModePreinstalled takes an operator that is there already, for example as a managed extension of AKS. KubeRay or Kueue that this program
	// had installed stays in the cluster, and is no longer its own.
	ModePreinstalled Mode = "preinstalled"
)

// Operator declares how one operator comes into the cluster.
type Operator struct {
	// Mode is `install` (default) or `preinstalled`, which leaves KubeRay or Kueue in the cluster as it is.
	Mode Mode `json:"mode"`
	// Chart is an oci:// reference or a folder relative to the project. Default: the pinned one.
	Chart string `json:"chart"`
	// Version is the chart's version, for example 0.17.1. Default: the pinned one; a folder has its own. With another KubeRay its CRDs are
	// to be applied by hand.
	Version string `json:"version"`
}

// Kueue declares Kueue and its configuration.
type Kueue struct {
	Operator
	// Frameworks are job kinds that Kueue manages beside ray.io/rayjob.
	Frameworks []string `json:"frameworks"`
	// WaitForPodsReady is how long an admitted job may take until its pods are ready before it is put back into the queue.
	// Default: 30m, since a GPU node from zero and a Ray image of several gigabytes need that.
	WaitForPodsReady metav1.Duration `json:"waitForPodsReady"`
	// RequeueLimit is how often a job is put back before it is given up. Default: 5.
	RequeueLimit int32 `json:"requeueLimit"`
	// RetainFinished is how long Kueue's records of finished jobs are kept. Default: 168h.
	RetainFinished metav1.Duration `json:"retainFinished"`
}

// or returns the chart that config names, with the pinned one's parts where it names none. A folder has no version to choose, and only
// the pinned chart lies in the pinned repository.
func (o Operator) or(pinned Chart) Chart {
	chart := Chart{Location: o.Chart, Version: o.Version}
	if o.Chart == "" {
		chart.Location, chart.Repository = pinned.Location, pinned.Repository
	}
	if o.Version == "" && !isFolder(chart.Location) {
		chart.Version = pinned.Version
	}
	return chart
}

// registryChart is a reference to a chart in a registry: its host, and a path in it.
var registryChart = regexp.MustCompile(`^oci://[^/\s]+(/[^/\s]+)+$`)

// chartVersion is a semantic version, of which charts are.
var chartVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

func isFolder(chart string) bool {
	return slices.ContainsFunc([]string{"./", "../", "/"}, func(prefix string) bool { return strings.HasPrefix(chart, prefix) })
}

func (o Operators) validate(path string) error {
	errs := []error{
		o.KubeRay.validate(path + ".kuberay"),
		o.Kueue.validate(path + ".kueue"),
		o.DevicePlugin.validate(path + ".devicePlugin"),
		o.GPUMonitoring.validate(path + ".gpuMonitoring"),
	}
	errs = append(errs, strict.Each(path+".kueue.frameworks", o.Kueue.Frameworks, func(at, f string) error {
		return oneOf(at, f, addableFrameworks...)
	})...)
	if len(o.Kueue.Frameworks) > 0 && o.Kueue.Mode == ModePreinstalled {
		errs = append(errs, noEffect(path+".kueue.frameworks"))
	}
	if d := o.Kueue.WaitForPodsReady.Duration; d < time.Minute {
		errs = append(errs, fmt.Errorf("%s.kueue.waitForPodsReady: must be at least 1m, got %s", path, d))
	}
	if o.Kueue.RequeueLimit < 0 {
		errs = append(errs, fmt.Errorf("%s.kueue.requeueLimit: must not be negative, got %d", path, o.Kueue.RequeueLimit))
	}
	if d := o.Kueue.RetainFinished.Duration; d < 0 {
		errs = append(errs, fmt.Errorf("%s.kueue.retainFinished: must not be negative, got %s", path, d))
	}
	return errors.Join(errs...)
}

// validate checks what is said of the chart: where it is to be found, and that it is used at all.
func (o Operator) validate(path string) error {
	errs := []error{oneOf(path+".mode", o.Mode, ModeInstall, ModePreinstalled)}
	if o.Mode == ModePreinstalled {
		if o.Chart != "" {
			errs = append(errs, noEffect(path+".chart"))
		}
		if o.Version != "" {
			errs = append(errs, noEffect(path+".version"))
		}
		return errors.Join(errs...)
	}
	name, tag := splitTag(o.Chart)
	switch {
	case o.Chart == "" || isFolder(o.Chart):
	case !registryChart.MatchString(name):
		errs = append(errs, fmt.Errorf("%s.chart: must be an oci:// reference or a folder that begins with ./, ../ or /, got %q: a name alone is in no repository",
			path, o.Chart))
	case tag != "":
		errs = append(errs, fmt.Errorf("%s.chart: must be without a tag or digest, got %q; write %s, and its version as version", path, o.Chart, name))
	}
	return errors.Join(append(errs, o.checkVersion(path+".version"))...)
}

// splitTag splits the reference to a chart from the tag or digest at its end. A host may have a port.
func splitTag(chart string) (name, tag string) {
	slash := strings.LastIndex(chart, "/") + 1
	if i := strings.IndexAny(chart[slash:], ":@"); i >= 0 {
		return chart[:slash+i], chart[slash+i:]
	}
	return chart, ""
}

// checkVersion refuses what is no version: Helm would take it for a range, and the image's tag is made of that of the pinned chart.
func (o Operator) checkVersion(path string) error {
	switch {
	case o.Version == "":
		return nil
	case isFolder(o.Chart):
		return fmt.Errorf("%s: has no effect beside a folder, which is of one version; leave it out", path)
	case chartVersion.MatchString(o.Version):
		return nil
	}
	hint := ""
	if bare := strings.TrimLeft(o.Version, "vV="); chartVersion.MatchString(bare) {
		hint = "; did you mean " + bare + "?"
	}
	return fmt.Errorf("%s: must be a chart's version, for example 0.17.1, got %q%s", path, o.Version, hint)
}

func noEffect(path string) error {
	return fmt.Errorf("%s: has no effect while mode is %s; leave it out, or set mode: %s", path, ModePreinstalled, ModeInstall)
}
