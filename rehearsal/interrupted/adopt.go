// Package interrupted mends a stack whose engine was killed while it created
// resources.
//
// The engine notes a create before it begins and strikes it out when it has
// ended. One that stands there after the engine's death may have come about or
// not. Azure refuses to create what exists, so the next update would fail, and
// `pulumi refresh` only forgets such notes, or asks a person for ids.
package interrupted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"ray-on-aks/rehearsal/azurenative"
)

// Adopt changes a deployment, in the form of `pulumi stack export`: creates that
// were broken off become resources with the ids that Azure would have given
// them, which a refresh then finds, or takes out again. Those of other providers
// are struck out: Kubernetes takes an object that is there for the one that is
// asked for, and what is random is drawn anew. It answers the URNs of both.
func Adopt(export []byte) (edited []byte, adopted, dropped []string, err error) {
	stack := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(export))
	// So that nothing of what is not understood here changes.
	decoder.UseNumber()
	if err := decoder.Decode(&stack); err != nil {
		return nil, nil, nil, fmt.Errorf("decoding the stack's deployment: %w", err)
	}
	deployment, ok := stack["deployment"].(map[string]any)
	if !ok {
		return nil, nil, nil, errors.New("the stack's export has no deployment")
	}
	resources, _ := deployment["resources"].([]any)
	operations, _ := deployment["pending_operations"].([]any)
	delete(deployment, "pending_operations")
	for _, entry := range operations {
		operation, _ := entry.(map[string]any)
		resource, ok := operation["resource"].(map[string]any)
		if !ok {
			return nil, nil, nil, fmt.Errorf("an operation that was broken off has no resource: %v", entry)
		}
		// Of the other kinds the next update finds out by itself.
		if operation["type"] != "creating" {
			continue
		}
		urn, _ := resource["urn"].(string)
		if token, _ := resource["type"].(string); !strings.HasPrefix(token, "azure-native:") || present(resources, urn) {
			dropped = append(dropped, urn)
			continue
		}
		if resource["id"], err = id(resource, resources); err != nil {
			return nil, nil, nil, fmt.Errorf("%s: %w", urn, err)
		}
		resources = append(resources, resource)
		adopted = append(adopted, urn)
	}
	deployment["resources"] = resources
	edited, err = json.Marshal(stack)
	return edited, adopted, dropped, err
}

// present says whether the deployment has a resource of that URN, as while it is
// being replaced.
func present(resources []any, urn string) bool {
	return find(resources, func(r map[string]any) bool { return r["urn"] == urn }) != nil
}

// id is the ARM id of a resource of azure-native.
func id(resource map[string]any, resources []any) (string, error) {
	reference, _ := resource["provider"].(string)
	provider := find(resources, func(r map[string]any) bool {
		return reference == fmt.Sprintf("%v::%v", r["urn"], r["id"])
	})
	given, _ := provider["inputs"].(map[string]any)
	subscription, ok := given["subscriptionId"].(string)
	if !ok {
		return "", fmt.Errorf("its provider %q names no subscription", reference)
	}
	token, _ := resource["type"].(string)
	inputs, _ := resource["inputs"].(map[string]any)
	return azurenative.ID(token, subscription, inputs)
}

func find(resources []any, is func(map[string]any) bool) map[string]any {
	for _, entry := range resources {
		if r, ok := entry.(map[string]any); ok && is(r) {
			return r
		}
	}
	return nil
}
