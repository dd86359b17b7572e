package azurenative

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite inputs.json")

const sdkModules = "github.com/pulumi/pulumi-azure-native-sdk/"

// sdkRoots says where the SDK declares the arguments of each emulated type.
var sdkRoots = map[string]struct{ module, folder, args string }{
	ResourceGroup:               {"resources/v2", "", "resourceGroupArgs"},
	ManagedCluster:              {"containerservice/v2", "v20240901", "managedClusterArgs"},
	AgentPool:                   {"containerservice/v2", "v20240901", "agentPoolArgs"},
	StorageAccount:              {"storage/v2", "", "storageAccountArgs"},
	BlobContainer:               {"storage/v2", "", "blobContainerArgs"},
	BlobServiceProperties:       {"storage/v2", "", "blobServicePropertiesArgs"},
	UserAssignedIdentity:        {"managedidentity/v2", "", "userAssignedIdentityArgs"},
	FederatedIdentityCredential: {"managedidentity/v2", "", "federatedIdentityCredentialArgs"},
	RoleAssignment:              {"authorization/v2", "", "roleAssignmentArgs"},
}

// TestInputTable reads the table out of the SDK modules of the program's own
// go.mod, at the versions that it pins: whoever moves one of them is told
// to run this test with -update and to look at what changed.
func TestInputTable(t *testing.T) {
	modules, folders := sdkFolders(t)
	table := inputTable{Modules: modules, Roots: map[string]string{}, Types: map[string]map[string]inputType{}}
	packages := map[string]map[string]ast.Expr{}
	for token, root := range sdkRoots {
		folder := filepath.Join(folders[root.module], root.folder)
		if packages[folder] == nil {
			packages[folder] = parseTypes(t, folder)
		}
		prefix, _, _ := strings.Cut(root.module, "/")
		reader := sdkReader{prefix: prefix, decls: packages[folder], types: table.Types}
		table.Roots[token] = string(reader.typeOf(&ast.Ident{Name: root.args}))
	}
	got := encodeTable(t, table)
	if *update {
		if err := os.WriteFile("inputs.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(got, inputsJSON) {
		t.Error("inputs.json is not what the pinned SDK modules say; run: go test ./azurenative -run TestInputTable -update")
	}
}

// sdkFolders answers version and folder of each SDK module, by its short name.
func sdkFolders(t *testing.T) (versions, folders map[string]string) {
	t.Helper()
	versions, folders = map[string]string{}, map[string]string{}
	args := []string{"mod", "download", "-json"}
	for _, root := range sdkRoots {
		if !slices.Contains(args, sdkModules+root.module) {
			args = append(args, sdkModules+root.module)
		}
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join("..", "..")
	// The program's module, not this one, pins the SDK.
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("finding the SDK's modules: %v\n%s", err, out)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var module struct{ Path, Version, Dir string }
		if err := decoder.Decode(&module); err != nil {
			t.Fatal(err)
		}
		short := strings.TrimPrefix(module.Path, sdkModules)
		versions[short], folders[short] = module.Version, module.Dir
	}
	return versions, folders
}

func parseTypes(t *testing.T, folder string) map[string]ast.Expr {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources in %s: %v", folder, err)
	}
	decls := map[string]ast.Expr{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					decls[spec.Name.Name] = spec.Type
				}
			}
		}
	}
	return decls
}

// sdkReader gathers the types that are reachable from a resource's arguments.
type sdkReader struct {
	prefix string
	decls  map[string]ast.Expr
	types  map[string]map[string]inputType
}

func (r sdkReader) typeOf(expr ast.Expr) inputType {
	switch expr := expr.(type) {
	case *ast.StarExpr:
		return r.typeOf(expr.X)
	case *ast.ArrayType:
		return "[]" + r.typeOf(expr.Elt)
	case *ast.MapType:
		return "map[]" + r.typeOf(expr.Value)
	case *ast.InterfaceType:
		return "any"
	case *ast.Ident:
		switch expr.Name {
		case "string", "bool", "int":
			return inputType(expr.Name)
		case "float64":
			return "number"
		}
		object, ok := r.decls[expr.Name].(*ast.StructType)
		if !ok { // a named string: an enum of the SDK
			return r.typeOf(r.decls[expr.Name])
		}
		name := r.prefix + ":" + strings.TrimSuffix(strings.ToUpper(expr.Name[:1])+expr.Name[1:], "Args")
		if r.types[name] == nil {
			r.types[name] = map[string]inputType{}
			r.fields(name, object)
		}
		return inputType(name)
	default:
		panic(fmt.Sprintf("unexpected type %T in the SDK", expr))
	}
}

func (r sdkReader) fields(name string, object *ast.StructType) {
	for _, field := range object.Fields.List {
		tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("pulumi")
		typ := r.typeOf(field.Type)
		switch field.Type.(type) {
		case *ast.StarExpr, *ast.MapType, *ast.ArrayType, *ast.InterfaceType:
		default:
			typ += "!"
		}
		r.types[name][tag] = typ
	}
}

// encodeTable writes a type a line: compact, yet a change shows as a line.
func encodeTable(t *testing.T, table inputTable) []byte {
	t.Helper()
	marshal := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\"modules\":%s,\n\"roots\":%s,\n\"types\":{\n", marshal(table.Modules), marshal(table.Roots))
	names := slices.Sorted(maps.Keys(table.Types))
	for i, name := range names {
		end := ",\n"
		if i == len(names)-1 {
			end = "\n}}\n"
		}
		fmt.Fprintf(&out, "%s:%s%s", marshal(name), marshal(table.Types[name]), end)
	}
	return out.Bytes()
}
