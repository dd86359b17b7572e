// Package livecache keeps live copies of Kubernetes objects, by the client
// library's informers.
package livecache

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Cache is a live copy of all objects of one kind.
type Cache[T runtime.Object] struct {
	store   cache.Store
	changed chan struct{}
}

// API is the typed client of one kind.
type API[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// Watch starts a cache of all that the API answers and waits for the first full
// list. The cache lives until ctx ends. client is what the API is of.
func Watch[T, L runtime.Object](ctx context.Context, client kubernetes.Interface, api API[L], kind T) (*Cache[T], error) {
	c := &Cache[T]{changed: make(chan struct{}, 1)}
	notify := func() {
		select {
		case c.changed <- struct{}{}:
		default: // a notice is pending already
		}
	}
	listWatch := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return api.List(ctx, options)
		},
		WatchFuncWithContext: api.Watch,
	}
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.ToListWatcherWithWatchListSemantics(listWatch, client),
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
		return nil, fmt.Errorf("listing objects of type %T: %w", kind, ctx.Err())
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
