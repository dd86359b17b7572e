package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/infra"
	"ray-on-aks/internal/stacktest"
	"ray-on-aks/internal/strict"
	"ray-on-aks/queues"
	"ray-on-aks/workloads"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// referenceHead is what no Go type says.
const referenceHead = `# What a stack's configuration may say

Made from the Go types that it is decoded into: ` + "`go test -run TestReference . -update`" + `. What a key says of its default is the profile's; an
unknown key, and a value that cannot be, is an error at preview. Names in angle brackets are yours.

| key | type | meaning |
|---|---|---|
| ` + "`azure-native:location`" + ` | text | The Azure region. |
| ` + "`azure-native:subscriptionId`" + ` | text | The Azure subscription. |
| ` + "`ray-on-aks:profile`" + ` | text | dev or prod: a complete set of defaults. |
| ` + "`ray-on-aks:infra`, `ray-on-aks:queues`, `ray-on-aks:workloads`" + ` | object | The three parts, below. |
| ` + "`ray-on-aks:platform`" + ` | object | The stack whose platform is used in the place of one's own: only ` + "`ray-on-aks:workloads`" + ` may stand beside it. |
`

// TestReferenceIsWhatTheTypesSay: docs/config.md has each key that a stack file may have, with the words that stand on its field.
func TestReferenceIsWhatTheTypesSay(t *testing.T) {
	r := &reference{t: t, docs: map[string]map[string]string{}, paths: map[reflect.Type][]string{}}
	r.find("infra", reflect.TypeFor[infra.Args]())
	r.find("queues", reflect.TypeFor[queues.Args]())
	r.find("workloads.<name>", reflect.TypeFor[workloads.Workload]())
	r.find("platform", reflect.TypeFor[Platform]())
	r.WriteString(referenceHead)
	for _, object := range r.objects {
		r.table(object)
	}
	stacktest.GoldenText(t, filepath.Join("docs", "config.md"), r.String())
}

// reference writes tables of keys.
type reference struct {
	strings.Builder

	t *testing.T
	// docs are the comments of fields, by type and field.
	docs map[string]map[string]string
	// objects are the types of objects in the order in which they come, and paths where they are.
	objects []reflect.Type
	paths   map[reflect.Type][]string
}

// find collects the objects at path and below.
func (r *reference) find(path string, t reflect.Type) {
	if r.paths[t] == nil {
		r.objects = append(r.objects, t)
	}
	r.paths[t] = append(r.paths[t], "`"+path+"`")
	for key, f := range objectKeys(t) {
		if _, below, inner := shape(f.Type); inner != nil {
			r.find(path+"."+key+below, inner)
		}
	}
}

// table writes the keys of an object.
func (r *reference) table(t reflect.Type) {
	r.t.Helper()
	fmt.Fprintf(r, "\n## %s\n\n| key | type | meaning |\n|---|---|---|\n", strings.Join(r.paths[t], ", "))
	for key, f := range objectKeys(t) {
		kind, _, _ := shape(f.Type)
		owner := t
		for _, i := range f.Index[:len(f.Index)-1] {
			owner = owner.Field(i).Type
		}
		fmt.Fprintf(r, "| `%s` | %s | %s |\n", key, kind, r.doc(owner, f.Name))
	}
}

// objectKeys are those that an object is decoded from, in the order of its fields.
func objectKeys(t reflect.Type) iter.Seq2[string, reflect.StructField] {
	fields := strict.Fields(t)
	inOrder := slices.SortedFunc(maps.Keys(fields), func(a, b string) int { return slices.Compare(fields[a].Index, fields[b].Index) })
	return func(yield func(string, reflect.StructField) bool) {
		for _, key := range inOrder {
			if !yield(key, fields[key]) {
				return
			}
		}
	}
}

// shape names a type as a stack's author knows it; of an object it answers the type, and what its path has after the key.
func shape(t reflect.Type) (kind, below string, inner reflect.Type) {
	switch {
	case t == reflect.TypeFor[resource.Quantity]():
		return "quantity", "", nil
	case t == reflect.TypeFor[metav1.Duration]():
		return "duration", "", nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return shape(t.Elem())
	case reflect.Bool:
		return "true or false", "", nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "whole number", "", nil
	case reflect.Slice:
		kind, below, inner = shape(t.Elem())
		return "list of " + kind, below, inner
	case reflect.Map:
		kind, below, inner = shape(t.Elem())
		return kind + " by name", ".<name>" + below, inner
	case reflect.Struct:
		return "object", "", t
	default:
		return "text", "", nil
	}
}

// doc returns the comment of a field in one line, without the field's name at its beginning: the key stands beside it.
func (r *reference) doc(t reflect.Type, field string) string {
	r.t.Helper()
	name := t.PkgPath() + "." + t.Name()
	if r.docs[name] == nil {
		r.read(t.PkgPath())
	}
	text := strings.Join(strings.Fields(r.docs[name][field]), " ")
	if text == "" {
		r.t.Errorf("%s.%s has no comment", name, field)
	}
	if rest, ok := strings.CutPrefix(text, field+" "); ok && !strings.HasPrefix(rest, "and ") {
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, "is "), "are ")
		text = strings.ToUpper(rest[:1]) + rest[1:]
	}
	text = byKeys(text, t)
	return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(text)
}

// byKeys puts keys in the places of the fields that a comment names: those of its own type, within a sentence or with a capital within.
func byKeys(text string, t reflect.Type) string {
	for key, f := range objectKeys(t) {
		if name := strings.TrimSuffix(f.Name, "s"); strings.ToUpper(name) == name {
			continue // GPUs are a word of everybody's
		}
		inSentence := regexp.MustCompile(`([a-z,;:] )` + f.Name + `\b`)
		text = inSentence.ReplaceAllString(text, "${1}`"+key+"`")
		if strings.ToLower(f.Name[1:]) != f.Name[1:] {
			text = regexp.MustCompile("(^|[^`])\\b"+f.Name+`\b`).ReplaceAllString(text, "${1}`"+key+"`")
		}
	}
	return text
}

// read collects the comments of the fields of a package of this module.
func (r *reference) read(pkg string) {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(".", strings.TrimPrefix(pkg, "ray-on-aks"), "*.go"))
	if err != nil || len(files) == 0 {
		r.t.Fatalf("package %s: %v, %d files", pkg, err, len(files))
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			r.t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			r.t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if object, ok := spec.Type.(*ast.StructType); ok {
				r.docs[pkg+"."+spec.Name.Name] = comments(object)
			}
			return false
		})
	}
}

// comments are those of a struct's fields, by name.
func comments(object *ast.StructType) map[string]string {
	found := map[string]string{}
	for _, f := range object.Fields.List {
		for _, name := range f.Names {
			found[name.Name] = f.Doc.Text()
		}
	}
	return found
}
