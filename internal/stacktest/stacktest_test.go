package stacktest

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func TestUnknownFunctionsAreRefused(t *testing.T) {
	_, err := Try(t, func(ctx *pulumi.Context) error {
		return ctx.Invoke("azure-native:compute:getImage", &map[string]any{}, &map[string]any{})
	}, Options{Stack: "test"})
	if err == nil || !strings.Contains(err.Error(), "the recorder does not know the function azure-native:compute:getImage") {
		t.Errorf("got %v", err)
	}
}
