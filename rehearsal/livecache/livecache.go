// Package livecache keeps live copies of Kubernetes objects, by the client
// library's informers.
package livecache

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// Cache is a live copy of all objects of one kind.
type Cache[T runtime.Object] struct {
	store   cache.Store
	changed chan struct{}
}

// Watch starts a cache of the resource in all namespaces and waits for its
// first full list. The cache lives until ctx ends.
func Watch[T runtime.Object](ctx context.Context, getter cache.Getter, resource string, kind T) (*Cache[T], error) {
	c := &Cache[T]{changed: make(chan struct{}, 1)}
	notify := func() {
		select {
		case c.changed <- struct{}{}:
		default: // a notice is pending already
		}
	}
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(getter, resource, "", fields.Everything()),
		ObjectType:    kind,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { notify() },
			UpdateFunc: func(any, any) { notify() },
			DeleteFunc: func(any) { notify() },
		},
	})
	c.store = store
	go controller.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), controller.HasSynced) {
		return nil, fmt.Errorf("listing %s: %w", resource, ctx.Err())
	}
	return c, nil
}

// Changed receives a value after one or more changes.
func (c *Cache[T]) Changed() <-chan struct{} { return c.changed }

// List answers all objects. They are shared: copy before changing.
func (c *Cache[T]) List() []T {
	list := c.store.List()
	out := make([]T, 0, len(list))
	for _, object := range list {
		if t, ok := object.(T); ok {
			out = append(out, t)
		}
	}
	return out
}
