// Package crdchart packs custom resource definitions as a Helm chart. What a chart has in its folder crds/ Helm installs once and never
// upgrades. What comes of its templates Helm does upgrade, and leaves in the cluster when the release goes, if it is told to.
package crdchart

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	// Folder is where a chart has the definitions that Helm installs once.
	Folder = "crds"
	// recipe is raised when this package packs the same definitions otherwise; a test holds the bytes to it.
	recipe    = 1
	chartFile = "Chart.yaml"
	// keepKey and keepValue are Helm's annotation of what outlives its release.
	keepKey, keepValue = "helm.sh/resource-policy", "keep"
	// definitions is where they lie in the chart. In crds/ they would be Helm's own matter, in templates/ it would look for actions in them.
	definitions = "definitions"
	template    = `{{ range $path, $_ := .Files.Glob "` + definitions + `/*" }}
---
{{ $.Files.Get $path }}
{{ end }}
`
)

// Pack writes a chart with all definitions that lie in folder, and returns its path: <to>/<name>-<version>-<hash>.tgz. The hash is one of
// the definitions, so that the path tells others apart, and a chart that is there already is left alone.
func Pack(to, name, version, folder string) (string, error) {
	files, hash, err := read(folder)
	if err != nil {
		return "", err
	}
	archive := filepath.Join(to, fmt.Sprintf("%s-%s-%s.tgz", name, version, hash))
	if _, err := os.Stat(archive); err == nil {
		return archive, nil
	}
	objects, err := kept(files)
	if err != nil {
		return "", fmt.Errorf("%s: %w", folder, err)
	}
	meta, err := yaml.Marshal(map[string]string{
		"apiVersion": "v2", "name": name, "version": version, "description": "Custom resource definitions that stay when the release goes.",
	})
	if err != nil {
		return "", err
	}
	objects[chartFile], objects["templates/"+definitions+".yaml"] = meta, []byte(template)
	packed, err := pack(name, objects)
	if err != nil {
		return "", err
	}
	return archive, write(archive, packed)
}

// Version returns the version of the chart in a folder.
func Version(chart string) (string, error) {
	path := filepath.Join(chart, chartFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var meta struct{ Version string }
	if err := yaml.Unmarshal(data, &meta); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if meta.Version == "" {
		return "", fmt.Errorf("%s: has no version", path)
	}
	return meta.Version, nil
}

// Has says whether the folder holds definitions, as Helm finds them.
func Has(folder string) bool {
	names, err := find(folder)
	return err == nil && len(names) > 0
}

// find returns the paths of the files that Helm takes for definitions, in their order: those of these extensions, in folders of the folder, too.
func find(folder string) (names []string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			names = append(names, path)
		}
		return err
	})
	return names, err
}

// file is one of those that definitions are read from.
type file struct {
	name string
	data []byte
}

// read returns the files of definitions in folder, by name, and a hash of them.
func read(folder string) ([]file, string, error) {
	names, err := find(folder)
	if err != nil {
		return nil, "", err
	}
	if len(names) == 0 {
		return nil, "", fmt.Errorf("%s holds no definitions", folder)
	}
	var files []file
	hash := sha256.New()
	fmt.Fprintln(hash, recipe)
	for _, path := range names {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, "", err
		}
		name := strings.ReplaceAll(strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(folder)+"/"), "/", ".")
		files = append(files, file{name, data})
		fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data)
	}
	return files, hex.EncodeToString(hash.Sum(nil))[:8], nil
}

// kept returns the objects of the files as files of a chart, marked as to be kept.
func kept(files []file) (map[string][]byte, error) {
	objects := map[string][]byte{}
	for _, f := range files {
		documents := yamlreader.NewYAMLReader(bufio.NewReader(bytes.NewReader(f.data)))
		for i := 0; ; i++ {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
			var object map[string]any
			if err := yaml.Unmarshal(document, &object); err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
			if object == nil {
				continue // nothing but comments
			}
			metadata := child(object, "metadata")
			child(metadata, "annotations")[keepKey] = keepValue
			// As JSON it has no more than a quarter of the bytes, and Helm keeps the chart in a Secret.
			data, err := json.Marshal(object)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
			objects[fmt.Sprintf("%s/%s.%d.json", definitions, f.name, i)] = data
		}
	}
	return objects, nil
}

// child returns the object at key, which it makes where there is none.
func child(object map[string]any, key string) map[string]any {
	found, ok := object[key].(map[string]any)
	if !ok {
		found = map[string]any{}
		object[key] = found
	}
	return found
}

// pack makes an archive of a chart; the same files always make the same bytes.
func pack(name string, files map[string][]byte) ([]byte, error) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zip)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: path.Join(name, file), Mode: 0o644, Size: int64(len(files[file])), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(files[file]); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// write makes the file at once or not at all: two updates may do so at the same time.
func write(archive string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		return err
	}
	half, err := os.CreateTemp(filepath.Dir(archive), ".half-*")
	if err != nil {
		return err
	}
	_, err = half.Write(data)
	// Others may share the checkout, and what has a name is taken for whole from then on.
	if err = errors.Join(err, half.Chmod(0o644), half.Sync(), half.Close()); err == nil {
		err = os.Rename(half.Name(), archive)
	}
	if err != nil {
		return errors.Join(err, os.Remove(half.Name()))
	}
	return nil
}
