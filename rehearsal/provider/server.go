package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// server completes the SDK's server, which (in 3.274.1) leaves out that a diff
// is a detailed one, so that the engine would not look at it, reports a
// deletion that forces replacement as a mere deletion, and gives paths where
// the engine wants keys.
type server struct {
	pulumirpc.ResourceProviderServer
}

// NewServer answers the gRPC server of a provider.
func NewServer(p plugin.Provider) pulumirpc.ResourceProviderServer {
	return server{plugin.NewProviderServer(p)}
}

// Diff completes the SDK's answer.
func (s server) Diff(ctx context.Context, r *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	return complete(s.ResourceProviderServer.Diff(ctx, r))
}

// DiffConfig completes the SDK's answer.
func (s server) DiffConfig(ctx context.Context, r *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	return complete(s.ResourceProviderServer.DiffConfig(ctx, r))
}

func complete(response *pulumirpc.DiffResponse, err error) (*pulumirpc.DiffResponse, error) {
	if err != nil {
		return nil, err
	}
	response.HasDetailedDiff = len(response.DetailedDiff) > 0
	for path, change := range response.DetailedDiff {
		if change.Kind == pulumirpc.PropertyDiff_DELETE && slices.Contains(response.Replaces, path) {
			change.Kind = pulumirpc.PropertyDiff_DELETE_REPLACE
		}
	}
	// The engine's short display knows top-level keys only.
	var diffsErr, replacesErr error
	response.Diffs, diffsErr = topLevel(response.Diffs)
	response.Replaces, replacesErr = topLevel(response.Replaces)
	return response, errors.Join(diffsErr, replacesErr)
}

// topLevel answers the first key of each path, sorted and once.
func topLevel(paths []string) ([]string, error) {
	var keys []string
	for _, text := range paths {
		path, err := resource.ParsePropertyPath(text)
		if err != nil {
			return nil, fmt.Errorf("parsing changed path %q: %w", text, err)
		}
		if key, ok := path[0].(string); ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}
