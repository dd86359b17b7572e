// Package randomprovider emulates the random provider's RandomString and
// RandomPassword. As in the real one, the results live in the stack's state
// alone.
package randomprovider

import (
	"context"
	"fmt"
	"maps"

	"golang.org/x/crypto/bcrypt"

	"ray-on-aks/rehearsal/provider"
)

// Version is the version of the random provider that is emulated.
const Version = "4.18.0"

// The emulated resource types.
const (
	RandomString   = "random:index/randomString:RandomString"
	RandomPassword = "random:index/randomPassword:RandomPassword"
)

// bcryptLimit is how much of a password bcrypt takes; the real provider cuts
// longer ones off, too.
const bcryptLimit = 72

// New makes the emulated random provider.
func New() (*provider.Provider, error) {
	return provider.New(provider.Spec{
		Name: "random", Version: Version,
		Kinds: map[string]provider.Kind{
			RandomString:   kind(false),
			RandomPassword: kind(true),
		},
	})
}

// kind is the behaviour of both types; a password's result is secret and comes
// with a hash.
func kind(password bool) provider.Kind {
	computed := []string{"result"}
	if password {
		computed = append(computed, "bcryptHash")
	}
	out := provider.Kind{
		// Every input decides the result, so none changes in place.
		ReplaceOn: inputKeys(),
		Check:     check,
		Preview: func(inputs, old map[string]any) map[string]any {
			state := withDefaults(inputs)
			for _, key := range computed {
				state[key] = provider.Unknown{}
				if value, ok := old[key]; ok {
					state[key] = value
				}
			}
			return state
		},
		Create: func(_ context.Context, inputs map[string]any) (string, map[string]any, error) {
			return create(inputs, password)
		},
		Read: func(_ context.Context, _ string, inputs, state map[string]any) (provider.Live, error) {
			if len(state) == 0 {
				return provider.Live{}, fmt.Errorf("importing a random value: the emulated random provider cannot, its values live in the state alone")
			}
			return provider.Live{Found: true, Inputs: inputs, Outputs: state}, nil
		},
		Update: func(_ context.Context, _ string, inputs, old map[string]any) (map[string]any, error) {
			state := withDefaults(inputs)
			for _, key := range computed {
				state[key] = old[key]
			}
			return state, nil
		},
		Delete: func(context.Context, string, map[string]any) error { return nil },
	}
	if password {
		out.SecretOutputs = computed
	}
	return out
}

func create(inputs map[string]any, password bool) (string, map[string]any, error) {
	state := withDefaults(inputs)
	result, err := generate(state)
	if err != nil {
		return "", nil, err
	}
	state["result"] = result
	if !password {
		return result, state, nil
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(result[:min(len(result), bcryptLimit)]), bcrypt.DefaultCost)
	if err != nil {
		return "", nil, fmt.Errorf("hashing the password: %w", err)
	}
	state["bcryptHash"] = string(hash)
	// An id is shown in the clear, so it must not be the password.
	return "none", state, nil
}

// withDefaults fills in what the program left out.
func withDefaults(inputs map[string]any) map[string]any {
	state := map[string]any{}
	for _, class := range classes {
		state[class.key], state[class.minimum] = true, 0.0
	}
	maps.Copy(state, inputs)
	// number is the former name of numeric; either speaks for both.
	for from, to := range map[string]string{"number": "numeric", "numeric": "number"} {
		if value, given := inputs[from]; given {
			state[to] = value
		}
	}
	if _, ok := state["number"]; !ok {
		state["number"] = true
	}
	return state
}
