package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"
)

// rehearsed is the stack that is made to be rehearsed as it is.
const rehearsed = "rehearsal"

// overlay changes another stack's file where it cannot be rehearsed: operators
// come from where the rehearsal's own stack file has them, and the cluster lets
// in without Microsoft Entra.
func overlay(config, rehearsal []byte) ([]byte, error) {
	stack, err := decode(config)
	if err != nil {
		return nil, fmt.Errorf("the stack file: %w", err)
	}
	own, err := decode(rehearsal)
	if err != nil {
		return nil, fmt.Errorf("the rehearsal's stack file: %w", err)
	}
	// The rehearsal's state is encrypted by a key of its own.
	for _, key := range []string{"encryptionsalt", "encryptedkey", "secretsprovider"} {
		delete(stack, key)
	}
	if key := secretIn(stack["config"], "config"); key != "" {
		return nil, fmt.Errorf("the stack file: %s is encrypted, and a rehearsal has no key to it", key)
	}
	keys, err := child(stack, "config")
	if err != nil {
		return nil, fmt.Errorf("the stack file: %w", err)
	}
	if _, ok := keys["ray-on-aks:platform"]; ok {
		return nil, errors.New("the stack file: ray-on-aks:platform takes the platform from another stack, and a rehearsal has none; rehearse that one")
	}
	from, err := child(own, "config", "ray-on-aks:infra", "operators")
	if err != nil {
		return nil, fmt.Errorf("the rehearsal's stack file: %w", err)
	}
	for name := range from {
		operator, err := child(stack, "config", "ray-on-aks:infra", "operators", name)
		if err != nil {
			return nil, fmt.Errorf("the stack file: %w", err)
		}
		delete(operator, "version") // a chart in a folder has its own
		wanted, err := child(from, name)
		if err != nil {
			return nil, fmt.Errorf("the rehearsal's stack file: %w", err)
		}
		for key, value := range wanted {
			operator[key] = value
		}
	}
	cluster, err := child(stack, "config", "ray-on-aks:infra", "cluster")
	if err != nil {
		return nil, fmt.Errorf("the stack file: %w", err)
	}
	cluster["disableLocalAccounts"] = false
	for _, key := range []string{"adminGroups", "login"} {
		delete(cluster, key) // they go with Entra
	}
	return yaml.Marshal(stack)
}

func decode(data []byte) (map[string]any, error) {
	var object map[string]any
	if err := yaml.Unmarshal(data, &object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errors.New("is empty")
	}
	return object, nil
}

// child answers the object at path, which it makes where there is none.
func child(object map[string]any, path ...string) (map[string]any, error) {
	for i, key := range path {
		if object[key] == nil {
			object[key] = map[string]any{}
		}
		next, ok := object[key].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%v: is no object, but %v", path[:i+1], object[key])
		}
		object = next
	}
	return object, nil
}

// secretIn finds an encrypted value and answers its path.
func secretIn(value any, path string) string {
	object, _ := value.(map[string]any)
	if _, ok := object["secure"]; ok && len(object) == 1 {
		return path
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if found := secretIn(object[key], path+"."+key); found != "" {
			return found
		}
	}
	return ""
}
