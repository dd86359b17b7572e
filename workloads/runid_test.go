package workloads

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ray-on-aks/internal/crd"
	"ray-on-aks/internal/strict"

	"k8s.io/apimachinery/pkg/api/resource"
)

var jobs = bound{Queue: "jobs", ServiceAccount: "ray-workload"}

// leaves returns, for each field by its config key, a function that gives it another value. The parts of a pod's size are fields of their
// own: worker.cpus.
func leaves(t *testing.T) map[string]func(*Workload) {
	t.Helper()
	found := map[string]func(*Workload){}
	for key, field := range strict.Fields(reflect.TypeFor[Workload]()) {
		nested := map[string][]int{key: nil}
		if field.Type == reflect.TypeFor[Size]() || field.Type == reflect.TypeFor[WorkerSize]() {
			delete(nested, key)
			for inner, f := range strict.Fields(field.Type) {
				nested[key+"."+inner] = f.Index
			}
		}
		for key, index := range nested {
			found[key] = func(w *Workload) {
				change(t, key, reflect.ValueOf(w).Elem().FieldByIndex(slices.Concat(field.Index, index)))
			}
		}
	}
	return found
}

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
	case *[]string:
		*value = append(slices.Clone(*value), "changed")
	case *bool:
		*value = !*value
	default:
		switch v.Kind() {
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Int, reflect.Int32, reflect.Int64:
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

// on reports whether key, or the field that it is a part of, is on the list.
func on(list []string, key string) bool {
	outer, _, _ := strings.Cut(key, ".")
	return slices.Contains(list, key) || slices.Contains(list, outer)
}

// TestEveryFieldIsPartOfTheIdentity fails for a new field that decides neither name nor run id and is on neither list.
func TestEveryFieldIsPartOfTheIdentity(t *testing.T) {
	scripts := map[string]string{"smoke.py": "print()"}
	before, err := newRun("smoke", smoke(), jobs, scripts)
	if err != nil {
		t.Fatal(err)
	}
	for key, change := range leaves(t) {
		w := smoke()
		change(&w)
		if key == "kind" {
			w.Kind = "Other" // a service has no hash in its name
		}
		after, err := newRun("smoke", w, jobs, scripts)
		if err != nil {
			t.Fatal(err)
		}
		if changed, want := after.Name != before.Name, !on(notIdentity, key); changed != want {
			t.Errorf("%s changes the name: %t, want %t", key, changed, want)
		}
		if changed, want := after.ID != before.ID, !on(slices.Concat(notIdentity, notResult), key); changed != want {
			t.Errorf("%s changes the run id: %t, want %t", key, changed, want)
		}
	}
}

// TestWhatDecidesTheResult says where the line is, for the fields where one could think otherwise.
func TestWhatDecidesTheResult(t *testing.T) {
	for key, want := range map[string]bool{
		"team": false, "priority": false, "pool": false, "worker.cpus": false, "worker.memory": false,
		"worker.gpus": true, "workers": true, "output": true, "storage": true, "image": true, "generation": true,
	} {
		if got := !on(slices.Concat(notIdentity, notResult), key); got != want {
			t.Errorf("%s is part of the result: %t, want %t", key, got, want)
		}
	}
}

// effectIsTheName lists the fields by which a run differs from another that is otherwise the same.
var effectIsTheName = []string{"generation"}

// TestNoFieldIsWithoutEffect: each field that a kind takes changes what is created, and not only the names that it goes by.
func TestNoFieldIsWithoutEffect(t *testing.T) {
	for name, declared := range map[string]Declared{"aurora-finetune": entry("aurora-finetune"), "online-serving": service()} {
		before := rendered(t, stack(declared), name)
		for key, change := range leaves(t) {
			w := declared[name]
			change(&w)
			if key == "script" {
				w.Script = "smoke.py"
			}
			if slices.Contains(notIdentity, key) || slices.Contains(effectIsTheName, key) || key == "kind" || onlyFor[key] != "" && onlyFor[key] != w.Kind {
				continue
			}
			if key == "entrypoint" {
				w.Script = ""
			}
			if reflect.DeepEqual(rendered(t, stack(Declared{name: w}), name), before) {
				t.Errorf("%s has no effect on %s", key, name)
			}
		}
	}
}

// rendered builds the object under names that do not follow its fields.
func rendered(t *testing.T, a Args, name string) crd.Object {
	t.Helper()
	w := a.resolved(a.Declared[name])
	run, err := a.run(name, w)
	if err != nil {
		t.Fatal(err)
	}
	run.Name, run.ID, run.ScriptsName = "name", "id", "scripts"
	object, err := a.object(run, w)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func TestListsNameFieldsThatExist(t *testing.T) {
	fields := strict.Fields(reflect.TypeFor[Workload]())
	known := leaves(t)
	for _, key := range slices.Concat(notIdentity, notResult) {
		if _, ok := fields[key]; !ok && known[key] == nil {
			t.Errorf("there is no field %s", key)
		}
	}
	for key := range onlyFor {
		if _, ok := fields[key]; !ok {
			t.Errorf("there is no field %s", key)
		}
	}
}

func TestScriptBytesArePartOfTheIdentity(t *testing.T) {
	with := func(shared string) Run {
		run, err := newRun("smoke", smoke(), jobs, map[string]string{"smoke.py": "a", "raylib/run.py": shared})
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	a, b := with("a"), with("b")
	if a.Name == b.Name || a.ID == b.ID || a.ScriptsName == b.ScriptsName {
		t.Errorf("%+v and %+v", a, b)
	}
}

func TestTheOrderOfMountsIsNoOther(t *testing.T) {
	of := func(storage ...string) string {
		run, err := newRun("smoke", job(func(w *Workload) { w.Storage = storage })["smoke"], jobs, nil)
		if err != nil {
			t.Fatal(err)
		}
		return run.Name
	}
	if of("a", "b") != of("b", "a") {
		t.Error("the order of storage makes another run")
	}
}

// TestIdentityIsStable pins a hash: if it changes without a change to the workload, an upgrade of this program runs every job again.
func TestIdentityIsStable(t *testing.T) {
	w := Workload{
		Kind: KindRayJob, Team: "t", Priority: "p", Image: "i:1", Workers: 2, Entrypoint: "true",
		Worker: WorkerSize{Size: size("1000m", "4Gi")}, Head: size("1", "4096Mi"), Env: map[string]string{"B": "2", "A": ""},
	}
	run, err := newRun("job", w, jobs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Run{Workload: "job", Kind: KindRayJob, Name: "job-" + pinnedName, ID: "job-" + pinnedResult}); !reflect.DeepEqual(run, want) {
		t.Errorf("got %+v, want %+v", run, want)
	}
}

const (
	pinnedName   = "a77b9691"
	pinnedResult = "bb33e7b1"
)
