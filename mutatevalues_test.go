package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// typed makes a value of a type, down to some depth.
func (m *mutator) typed(as reflect.Type, old any, depth int) any {
	switch {
	case as == nil || depth < 0:
		return m.value(old, 6)
	case as.Kind() == reflect.Pointer:
		return m.typed(as.Elem(), old, depth)
	case as == reflect.TypeFor[metav1.Duration]():
		return durations[m.next(len(durations))]
	case as == reflect.TypeFor[resource.Quantity]():
		return quantities[m.next(len(quantities))]
	}
	switch as.Kind() {
	case reflect.Bool:
		return m.next(2) == 0
	case reflect.Int, reflect.Int32, reflect.Int64:
		return counts[m.next(len(counts))]
	case reflect.String:
		return m.name(fmt.Sprint(old))
	case reflect.Slice:
		list := []any{}
		for range m.next(6) {
			list = append(list, m.typed(as.Elem(), "models", depth-1))
		}
		return list
	case reflect.Map, reflect.Struct:
		object, ok := clone(old).(map[string]any)
		if !ok {
			object = map[string]any{}
		}
		for range 1 + m.next(3) {
			key := m.known(as, "a")
			object[key] = m.typed(childType(as, key), object[key], depth-1)
		}
		return object
	}
	return m.value(old, 6)
}

// name changes a name, or takes one that is of interest.
func (m *mutator) name(name string) string {
	switch m.next(8) {
	case 0:
		return strings.ToUpper(name)
	case 1:
		return strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]
	case 2:
		return name[:len(name)/2]
	case 3:
		return name + "-x"
	case 4:
		return name + strings.Repeat("x", m.next(300))
	case 5:
		return name + names[m.next(len(names))]
	default:
		return names[m.next(len(names))]
	}
}

// value changes a value, or takes one that is of interest.
func (m *mutator) value(old any, operation int) any {
	text, isText := old.(string)
	number, isNumber := old.(float64)
	switch {
	case isText && operation == 6:
		return m.name(text)
	case isNumber && operation == 6:
		return number + float64(m.next(5)-2)
	case isNumber && operation == 7:
		return number * float64(m.next(40))
	case operation == 8:
		return []any{clone(old), clone(old)}
	case operation == 9:
		return numbers[m.next(len(numbers))]
	}
	if m.next(2) == 0 {
		return names[m.next(len(names))]
	}
	return clone(values[m.next(len(values))])
}

func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		copied := map[string]any{}
		for key, child := range v {
			copied[key] = clone(child)
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i, child := range v {
			copied[i] = clone(child)
		}
		return copied
	}
	return value
}

// names are of interest as keys and as texts.
var names = []string{
	"", " ", "a", "A", "0", "-", "default", "kube-system", "kueue-system", "system", "cpu", "a100", "serve", "ray", "ray-a", "smoke", "x.y", "x y", "a\nb", "a\x00b", "a\tb", "é", "日本", "\u202e",
	"%d", "$(A)", "${A}", "a/b", "../a", "a--b", "low", "normal", "models", "aurora", "language", "weather", "head", "workers", "enabled", "RayService", "RayJob", "null", "true",
	"Standard_D4ds_v6", "Standard_NC24ads_A100_v4", "Standard_ND96amsr_A100_v4", "standard_nc96ads_a100_v4", "1.34", "oci://a/b", "./a", "/", "/-/", "/a", "models/x", "aurora/runs",
	"python a.py", "a | b", "a:b", "smoke.py", "serve_llm.py", "llm_finetune.py", "teams", "single", "prod", "dev", "preinstalled", "1h", "-1s", "0s", "9999999h", "1ns", "RUN_ID", "PYTHONPATH", "LLM_X",
	strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("b", 38), strings.Repeat("c", 255), strings.Repeat("é", 5000), strings.Repeat("ab-", 21) + "c",
}

// numbers are of interest as numbers and quantities.
var numbers = []any{
	0.0, 1.0, -1.0, 2.0, 3.0, 0.5, 49.0, 50.0, 64.0, 100.0, 254.0, 255.0, 1000.0, 1001.0, 65536.0, 2147483647.0, 2147483648.0,
	json.Number("9223372036854775807"), json.Number("9223372036854775808"), json.Number("-9223372036854775808"), json.Number("1e30"), json.Number("1e-30"), 1e300,
	"1", "-1", "1m", "0.0001", "1Gi", "512Mi", "64Ti", "65Ti", "8Ei", "1e18", "1e99", "1E99", "1e999999999", "1n", "9223372036854775", "9223372036854775807", "4 GB",
}

// counts, durations and quantities may be meant.
var (
	counts     = []any{0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 8.0, 12.0, 38.0, 39.0, 50.0, 100.0, 250.0, 254.0, 1000.0, -1.0, 2147483647.0}
	durations  = []any{"1s", "1m", "14m", "30m", "44m59s", "45m", "1h", "90m", "24h", "596523h", "1.5s", "0s", "-1h", "2540400h", "forever"}
	quantities = []any{"1m", "500m", "1", 2.0, "3500m", "7", "16", "31", "100", "2048", "2049", "512Mi", "511Mi", "4Gi", "16Gi", "110Gi", "1Ti", "64Ti", "4294967296", "1e9", "1.5Gi", "0", "-1", "1n", "12E"}
)

// values are of interest where something else is meant.
var values = []any{
	nil, true, false, "", []any{}, map[string]any{}, []any{nil}, map[string]any{"": nil}, map[string]any{"a": map[string]any{}}, []any{"models"}, []any{"models", "aurora", "models"},
	map[string]any{"gpus": 1.0}, map[string]any{"cpus": "1", "memory": "4Gi"}, map[string]any{"vmSize": "Standard_NC24ads_A100_v4", "max": 1.0},
	map[string]any{"vmSize": "Standard_ND96amsr_A100_v4", "max": 1.0, "serving": true}, map[string]any{"a100": map[string]any{"gpus": 1.0}}, map[string]any{"cpu": map[string]any{"cpu": "7", "memory": "20Gi"}},
	map[string]any{"enabled": true, "entrypoint": "true"}, map[string]any{"enabled": true, "kind": "RayService", "entrypoint": "a:b", "pool": "serve"}, map[string]any{"a": 1.0, "A": 2.0}, map[string]any{"share": 2.0},
}
