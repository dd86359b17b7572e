package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil/rpcerror"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"
)

// Create makes the resource, or in a preview tells its outputs.
func (p *Provider) Create(ctx context.Context, r plugin.CreateRequest) (plugin.CreateResponse, error) {
	kind, err := p.kind(string(r.Type))
	if err != nil {
		return plugin.CreateResponse{}, err
	}
	inputs := Plain(r.Properties)
	if r.Preview {
		return plugin.CreateResponse{Properties: outputs(kind, r.Properties, kind.Preview(inputs, nil))}, nil
	}
	if err := p.recheck(kind, string(r.Type), inputs); err != nil {
		return plugin.CreateResponse{}, err
	}
	ctx, stop := p.operation(ctx, r.Timeout)
	defer stop()
	id, made, err := kind.Create(ctx, inputs)
	state := outputs(kind, r.Properties, made)
	if err != nil {
		return plugin.CreateResponse{}, partial(err, id, state, r.Properties)
	}
	return plugin.CreateResponse{ID: resource.ID(id), Properties: state, Status: resource.StatusOK}, nil
}

// Read reports the live resource; an answer without id says that it is gone.
func (p *Provider) Read(ctx context.Context, r plugin.ReadRequest) (plugin.ReadResponse, error) {
	kind, err := p.kind(string(r.Type))
	if err != nil {
		return plugin.ReadResponse{}, err
	}
	ctx, stop := p.operation(ctx, r.Timeout)
	defer stop()
	live, err := kind.Read(ctx, string(r.ID), Plain(r.Inputs), Plain(r.State))
	if err != nil || !live.Found {
		return plugin.ReadResponse{}, err
	}
	inputs := withSecrets(resource.NewProperty(r.Inputs), resource.NewProperty(properties(live.Inputs))).ObjectValue()
	return plugin.ReadResponse{ReadResult: plugin.ReadResult{
		ID: r.ID, Inputs: inputs, Outputs: outputs(kind, inputs, live.Outputs),
	}, Status: resource.StatusOK}, nil
}

// Update changes the resource in place, or in a preview tells its outputs.
func (p *Provider) Update(ctx context.Context, r plugin.UpdateRequest) (plugin.UpdateResponse, error) {
	kind, err := p.kind(string(r.Type))
	if err != nil {
		return plugin.UpdateResponse{}, err
	}
	inputs, old := Plain(r.NewInputs), Plain(r.OldOutputs)
	if r.Preview {
		return plugin.UpdateResponse{Properties: outputs(kind, r.NewInputs, kind.Preview(inputs, old))}, nil
	}
	if err := p.recheck(kind, string(r.Type), inputs); err != nil {
		return plugin.UpdateResponse{}, err
	}
	ctx, stop := p.operation(ctx, r.Timeout)
	defer stop()
	made, err := kind.Update(ctx, string(r.ID), inputs, old)
	state := outputs(kind, r.NewInputs, made)
	if err != nil {
		return plugin.UpdateResponse{}, partial(err, string(r.ID), state, r.NewInputs)
	}
	return plugin.UpdateResponse{Properties: state, Status: resource.StatusOK}, nil
}

// Delete removes the resource.
func (p *Provider) Delete(ctx context.Context, r plugin.DeleteRequest) (plugin.DeleteResponse, error) {
	kind, err := p.kind(string(r.Type))
	if err != nil {
		return plugin.DeleteResponse{}, err
	}
	ctx, stop := p.operation(ctx, r.Timeout)
	defer stop()
	if err := kind.Delete(ctx, string(r.ID), Plain(r.Inputs)); err != nil {
		return plugin.DeleteResponse{}, err
	}
	return plugin.DeleteResponse{Status: resource.StatusOK}, nil
}

// outputs is the state that the engine keeps.
func outputs(kind Kind, inputs resource.PropertyMap, plain map[string]any) resource.PropertyMap {
	made := withSecrets(resource.NewProperty(inputs), resource.NewProperty(properties(plain))).ObjectValue()
	for _, key := range kind.SecretOutputs {
		if value, ok := made[resource.PropertyKey(key)]; ok && !value.IsSecret() {
			made[resource.PropertyKey(key)] = resource.MakeSecret(value)
		}
	}
	return made
}

// partial passes a *PartialError to the engine in the form that makes it keep
// the resource; other errors stay as they are.
func partial(err error, id string, state, inputs resource.PropertyMap) error {
	var unready *PartialError
	if !errors.As(err, &unready) {
		return err
	}
	marshal := func(m resource.PropertyMap) (*structpb.Struct, error) {
		return plugin.MarshalProperties(m, plugin.MarshalOptions{
			KeepUnknowns: true, KeepSecrets: true, KeepResources: true, KeepOutputValues: true})
	}
	stateStruct, stateErr := marshal(state)
	inputStruct, inputErr := marshal(inputs)
	if encodeErr := errors.Join(stateErr, inputErr); encodeErr != nil {
		return fmt.Errorf("encoding a resource that is not ready (%w): %w", err, encodeErr)
	}
	return rpcerror.WithDetails(rpcerror.New(codes.Unknown, err.Error()), &pulumirpc.ErrorResourceInitFailed{
		Id: id, Properties: stateStruct, Inputs: inputStruct, Reasons: []string{err.Error()},
	})
}
