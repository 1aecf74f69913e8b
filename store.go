package filgroth

import (
	"context"
	"errors"
	"sync"
)

// store keeps small values that are loaded at their first use, for the engine's life. Loading goes on under the context of
// the call that began it; others wait for it, each as long as its own context lasts. A failed load is not kept.
type store[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]*shared[V]
}

// shared is a value that may still be loading; v and err are set once ready is closed.
type shared[V any] struct {
	ready chan struct{}
	v     V
	err   error
}

func (s *store[K, V]) get(ctx context.Context, k K, load func(context.Context) (V, error)) (V, error) {
	for {
		s.mu.Lock()
		x, ok := s.m[k]
		if !ok {
			x = &shared[V]{ready: make(chan struct{}), err: errors.New("filgroth: loading panicked")}
			s.m[k] = x
			s.mu.Unlock()
			s.fill(ctx, k, x, load)
			return x.v, x.err
		}
		s.mu.Unlock()
		select {
		case <-x.ready:
		case <-ctx.Done():
			var none V
			return none, ctx.Err()
		}
		if x.err == nil || !gaveUp(x.err) || ctx.Err() != nil {
			return x.v, x.err
		}
	}
}

func (s *store[K, V]) fill(ctx context.Context, k K, x *shared[V], load func(context.Context) (V, error)) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if x.err != nil {
			delete(s.m, k)
		}
		close(x.ready)
	}()
	x.v, x.err = load(ctx)
}
