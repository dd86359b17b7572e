package crd

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type spec struct {
	Name  string            `json:"name"`
	Time  *metav1.Time      `json:"time"`
	Parts []map[string]*int `json:"parts"`
}

func TestFieldsHasNoNulls(t *testing.T) {
	one := 1
	got, err := Fields(&spec{Name: "x", Parts: []map[string]*int{{"a": nil, "b": &one}}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "x", "parts": []any{map[string]any{"b": int64(1)}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMetadataSendsOnlyWhatIsSet(t *testing.T) {
	m := Metadata(metav1.ObjectMeta{Name: "x"})
	if m.Namespace != nil || m.Labels != nil || m.Annotations != nil {
		t.Errorf("got %+v", m)
	}
}
