// Package provider is the base of the rehearsal's emulated Pulumi providers:
// it speaks the engine's protocol, deals with unknowns, secrets, naming and
// diffs, and leaves to each resource type what is particular to it.
package provider

import "context"

// Kind is the behaviour of one resource type. Inputs and outputs are plain
// JSON values with secrets opened; a value that is not known yet (in a
// preview) is Unknown{}.
type Kind struct {
	// NameKey is the input that names the resource; it is filled in when the
	// program leaves it out. Empty: the type has no name of its own.
	NameKey string
	// AutoName makes up a name from the logical one. Nil: eight hexadecimal
	// digits are appended.
	AutoName func(logical string, seed []byte) (string, error)
	// IDKeys are the inputs that make the id. A replacement that keeps them
	// all must delete first, since two resources cannot have one id.
	IDKeys []string
	// ReplaceOn are the property paths that cannot change in place; [*] stands
	// for any index.
	ReplaceOn []string
	// SecretOutputs are marked secret in the state.
	SecretOutputs []string

	// Check answers everything that is wrong with the inputs, at once. Nil:
	// anything goes.
	Check func(inputs map[string]any) []Problem
	// Preview answers the outputs that a create (old is nil) or an update
	// would have, as far as they can be told before.
	Preview func(inputs, old map[string]any) map[string]any
	// Create makes the resource. With a *PartialError the resource exists,
	// though it is not ready.
	Create func(ctx context.Context, inputs map[string]any) (id string, outputs map[string]any, err error)
	// Read looks at the live resource. inputs and state are the engine's, both
	// empty in an import.
	Read func(ctx context.Context, id string, inputs, state map[string]any) (Live, error)
	// Update changes the resource in place.
	Update func(ctx context.Context, id string, inputs, old map[string]any) (outputs map[string]any, err error)
	// Delete removes the resource. One that is gone already is no error.
	Delete func(ctx context.Context, id string, inputs map[string]any) error
}

// Live is what Read found.
type Live struct {
	// Found is false where the resource is gone.
	Found bool
	// Inputs is what the program would have to say to get the live resource.
	Inputs map[string]any
	// Outputs is the live resource.
	Outputs map[string]any
}

// Problem is one thing wrong with a resource's inputs.
type Problem struct {
	// Path is the property's Pulumi path, e.g. upgradeSettings.maxSurge.
	Path string
	// Reason names the rule and, where there is one, a suggestion.
	Reason string
}

// Function is an invoke of the provider.
type Function func(ctx context.Context, args map[string]any) (map[string]any, error)

// PartialError says that the resource exists but did not become ready. The
// engine then records it, so that the next update finishes the work instead
// of creating the resource twice.
type PartialError struct{ Err error }

// Error is the reason.
func (e *PartialError) Error() string { return e.Err.Error() }

// Unwrap answers the reason.
func (e *PartialError) Unwrap() error { return e.Err }
