package workloads

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"ray-on-aks/internal/strict"

	"k8s.io/apimachinery/pkg/api/resource"
)

// change gives a field another value than it has.
func change(t *testing.T, key string, v reflect.Value) {
	t.Helper()
	switch value := v.Addr().Interface().(type) {
	case *resource.Quantity:
		value.Add(resource.MustParse("1"))
	case *time.Duration:
		*value += time.Second
	case *map[string]string:
		*value = map[string]string{"CHANGED": ""}
	case *bool:
		*value = !*value
	default:
		switch v.Kind() {
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Int, reflect.Int32:
			v.SetInt(v.Int() + 1)
		case reflect.Struct:
			for i := range v.NumField() {
				change(t, key, v.Field(i))
			}
		default:
			t.Fatalf("the test cannot change %s of type %s: teach it to", key, v.Type())
		}
	}
}

// TestEveryFieldIsPartOfTheIdentity fails for a new field that decides neither name nor run id and is on neither list.
func TestEveryFieldIsPartOfTheIdentity(t *testing.T) {
	scripts := map[string]string{"smoke.py": "print()"}
	before, err := newRun("smoke", smoke(), scripts)
	if err != nil {
		t.Fatal(err)
	}
	for key, field := range strict.Fields(reflect.TypeFor[Workload]()) {
		w := smoke()
		change(t, key, reflect.ValueOf(&w).Elem().FieldByIndex(field.Index))
		after, err := newRun("smoke", w, scripts)
		if err != nil {
			t.Fatal(err)
		}
		if changed, want := after.Name != before.Name, !slices.Contains(notIdentity, key); changed != want {
			t.Errorf("%s changes the name: %t, want %t", key, changed, want)
		}
		result := !slices.Contains(notIdentity, key) && !slices.Contains(notResult, key)
		if changed := after.ID != before.ID; changed != result {
			t.Errorf("%s changes the run id: %t, want %t", key, changed, result)
		}
	}
}

func TestListsNameFieldsThatExist(t *testing.T) {
	fields := strict.Fields(reflect.TypeFor[Workload]())
	for _, key := range slices.Concat(notIdentity, notResult) {
		if _, ok := fields[key]; !ok {
			t.Errorf("there is no field %s", key)
		}
	}
}

func TestScriptBytesArePartOfTheIdentity(t *testing.T) {
	a, err := newRun("smoke", smoke(), map[string]string{"smoke.py": "a"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := newRun("smoke", smoke(), map[string]string{"smoke.py": "b"})
	if err != nil {
		t.Fatal(err)
	}
	if a.Name == b.Name || a.ID == b.ID || a.ScriptsName == b.ScriptsName {
		t.Errorf("%+v and %+v", a, b)
	}
}

// TestIdentityIsStable pins a hash: if it changes without a change to the workload, an upgrade of this program runs every job again.
func TestIdentityIsStable(t *testing.T) {
	w := Workload{
		Kind: KindRayJob, Queue: "q", Image: "i:1", Workers: 2, Entrypoint: "true",
		Worker: size("1000m", "4Gi"), Head: size("1", "4096Mi"), Env: map[string]string{"B": "2", "A": ""},
	}
	run, err := newRun("job", w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Run{Workload: "job", Name: "job-" + pinnedName, ID: "job-" + pinnedResult}); run != want {
		t.Errorf("got %+v, want %+v", run, want)
	}
}

const (
	pinnedName   = "b9de5796"
	pinnedResult = "bb33e7b1"
)
