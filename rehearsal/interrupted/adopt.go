// Package interrupted mends a stack whose engine was killed in an update.
//
// The engine notes a create before it begins and strikes it out when it has
// ended. One that stands there after the engine's death may have come about or
// not. Azure refuses to create what exists, so the next update would fail, and
// `pulumi refresh` only forgets such notes, or asks a person for ids. Helm keeps
// notes of its own, and refuses to touch a release that is in the middle of
// something.
package interrupted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ray-on-aks/rehearsal/azurenative"
)

// Adopt changes a deployment, in the form of `pulumi stack export`: creates that
// were broken off become resources with the ids that Azure would have given
// them, which a refresh then finds, or takes out again. Others are struck out:
// Kubernetes takes an object that is there for the one that is asked for, so does
// Helm when its own record of the install is gone, and what is random is drawn anew.
// The operations on the URNs that are left stay as they are. It answers the URNs of
// both.
func Adopt(export []byte, left []string) (edited []byte, adopted, dropped []string, err error) {
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
	if len(operations) == 0 {
		return export, nil, nil, nil
	}
	var kept []any
	for _, entry := range operations {
		operation, _ := entry.(map[string]any)
		resource, ok := operation["resource"].(map[string]any)
		if !ok {
			return nil, nil, nil, fmt.Errorf("an operation that was broken off has no resource: %v", entry)
		}
		urn, _ := resource["urn"].(string)
		if slices.Contains(left, urn) {
			kept = append(kept, entry)
			continue
		}
		// Of the other kinds the next update finds out by itself.
		if operation["type"] != "creating" {
			continue
		}
		place := indexOf(resources, func(r map[string]any) bool { return r["urn"] == urn })
		if !adoptable(resource) || place >= 0 && !isGone(resources[place]) {
			dropped = append(dropped, urn)
			continue
		}
		if resource["id"], err = id(resource, resources); err != nil {
			return nil, nil, nil, fmt.Errorf("%s: %w", urn, err)
		}
		if place >= 0 {
			resources[place] = resource
		} else {
			resources = append(resources, resource)
		}
		adopted = append(adopted, urn)
	}
	deployment["resources"] = resources
	if delete(deployment, "pending_operations"); len(kept) > 0 {
		deployment["pending_operations"] = kept
	}
	edited, err = json.Marshal(stack)
	return edited, adopted, dropped, err
}

func adoptable(resource map[string]any) bool {
	token, _ := resource["type"].(string)
	return strings.HasPrefix(token, "azure-native:")
}

// isGone says whether the resource was deleted, and stands there until that which
// replaces it has been created.
func isGone(resource any) bool {
	r, _ := resource.(map[string]any)
	return r["pendingReplacement"] == true
}

// id is the ARM id of a resource of azure-native.
func id(resource map[string]any, resources []any) (string, error) {
	token, _ := resource["type"].(string)
	inputs, _ := resource["inputs"].(map[string]any)
	reference, _ := resource["provider"].(string)
	var given map[string]any
	if i := indexOf(resources, func(r map[string]any) bool { return reference == fmt.Sprintf("%v::%v", r["urn"], r["id"]) }); i >= 0 {
		given, _ = resources[i].(map[string]any)["inputs"].(map[string]any)
	}
	subscription, ok := given["subscriptionId"].(string)
	if !ok {
		return "", fmt.Errorf("its provider %q names no subscription", reference)
	}
	return azurenative.ID(token, subscription, inputs)
}

func indexOf(resources []any, is func(map[string]any) bool) int {
	return slices.IndexFunc(resources, func(entry any) bool {
		r, ok := entry.(map[string]any)
		return ok && is(r)
	})
}
