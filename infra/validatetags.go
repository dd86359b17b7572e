package infra

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"ray-on-aks/internal/strict"
)

// The limits of tags are those of Azure's resource manager, less what a storage account does not take: it has the same tags as all else.
// https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations
const (
	maxTags     = 50
	maxTagName  = 128
	maxTagValue = 256
)

var (
	// notInTags are the characters that the name of a tag must not have.
	notInTags = regexp.MustCompile(`[<>%&\\?/]`)
	// ownTags are what the names of Azure's own tags begin with.
	ownTags = []string{"azure", "microsoft", "windows"}
)

// tagNoDriver is the tag of a pool with which AKS once left out NVIDIA's driver. Since July 2025 it does nothing, and this program needs
// the driver: only the device plugin is its own.
// https://github.com/Azure/AKS/issues/4925
const tagNoDriver = "SkipGPUDriverInstall"

// validateTags refuses the tags that Azure would refuse when the resource group is there already.
func validateTags(path string, tags map[string]string) error {
	var errs []error
	if len(tags) > maxTags {
		errs = append(errs, fmt.Errorf("%s: must be at most %d tags, those of the profile among them, got %d", path, maxTags, len(tags)))
	}
	names := slices.Sorted(maps.Keys(tags))
	for i, name := range names {
		at := path + "." + name
		// Azure keeps the case of a name and does not heed it.
		if twin := strict.Twin(name, names[:i]); twin != "" {
			errs = append(errs, fmt.Errorf("%s: is the same tag as %s.%s; leave one out", at, path, twin))
			continue
		}
		errs = append(errs, checkTagName(path, name, names))
		if n := utf8.RuneCountInString(tags[name]); n > maxTagValue {
			errs = append(errs, fmt.Errorf("%s: must be at most %d characters, got %d", at, maxTagValue, n))
		}
	}
	return errors.Join(errs...)
}

// checkTagName suggests a name that would do, if none of the others is the same tag.
func checkTagName(path, name string, others []string) error {
	if name == "" {
		return fmt.Errorf("%s: a tag must have a name, got %q", path, name)
	}
	fault := tagFault(name)
	if fault == "" {
		return nil
	}
	better := notInTags.ReplaceAllString(name, "-")
	if isOwnTag(better) {
		better = "my-" + better
	}
	return fmt.Errorf("%s.%s: the name of a tag must %s%s", path, name, fault, strict.WouldDo(better, maxTagName, func(s string) bool {
		return tagFault(s) == "" && strict.Twin(s, others) == ""
	}))
}

// tagFault says what a name must be and is not; nothing if it is the name of a tag.
func tagFault(name string) string {
	switch n := utf8.RuneCountInString(name); {
	case n > maxTagName:
		return fmt.Sprintf("be at most %d characters, which a storage account takes, got %d", maxTagName, n)
	case notInTags.MatchString(name):
		return `be without < > % & \ ? and /`
	case strings.EqualFold(name, tagNoDriver):
		return "not be " + tagNoDriver + ", which AKS does not heed any more: it installs the GPU driver, which the device plugin needs; leave it out"
	case isOwnTag(name):
		return fmt.Sprintf("not begin with %s, which Azure keeps for its own", strict.List(ownTags))
	}
	return ""
}

func isOwnTag(name string) bool {
	return slices.ContainsFunc(ownTags, func(prefix string) bool { return strings.HasPrefix(strings.ToLower(name), prefix) })
}
