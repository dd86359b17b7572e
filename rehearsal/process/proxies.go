package process

import (
	"slices"
	"strings"
)

// proxies are the variables that send a program's connections elsewhere.
var proxies = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}

// WithoutProxies answers an environment without them, in either case.
func WithoutProxies(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(proxies, strings.ToUpper(name))
	})
}
