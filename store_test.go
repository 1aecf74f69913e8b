package filgroth

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func newStore() *store[int, string] { return &store[int, string]{m: map[int]*shared[string]{}} }

func TestStoreLoadsOnceForAll(t *testing.T) {
	s, loads := newStore(), atomic.Int64{}
	open := make(chan struct{})
	load := func(context.Context) (string, error) { loads.Add(1); <-open; return "v", nil }
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			v, err := s.get(context.Background(), 1, load)
			if v != "v" || err != nil {
				panic(err)
			}
		}()
	}
	// a value that is loading keeps neither other values nor those who give up
	v, err := s.get(context.Background(), 2, func(context.Context) (string, error) { return "other", nil })
	require.NoError(t, err)
	require.Equal(t, "other", v)
	for loads.Load() == 0 {
		v, err = s.get(context.Background(), 2, nil)
		require.NoError(t, err)
		require.Equal(t, "other", v)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = s.get(ctx, 1, load)
	require.ErrorIs(t, err, context.Canceled)
	close(open)
	wg.Wait()
	require.Equal(t, int64(1), loads.Load())
}

func TestStoreForgetsFailures(t *testing.T) {
	s, boom := newStore(), errors.New("boom")
	_, err := s.get(context.Background(), 1, func(context.Context) (string, error) { return "", boom })
	require.ErrorIs(t, err, boom)
	require.Panics(t, func() {
		_, _ = s.get(context.Background(), 1, func(context.Context) (string, error) { panic("kaboom") })
	})
	v, err := s.get(context.Background(), 1, func(context.Context) (string, error) { return "v", nil })
	require.NoError(t, err)
	require.Equal(t, "v", v)
}

func TestStoreLoadOutlivesItsFirstCaller(t *testing.T) {
	s := newStore()
	ctx, cancel := context.WithCancel(context.Background())
	started := make(chan struct{})
	first := make(chan error)
	go func() {
		_, err := s.get(ctx, 1, func(ctx context.Context) (string, error) { close(started); <-ctx.Done(); return "", ctx.Err() })
		first <- err
	}()
	<-started
	second := make(chan string)
	go func() {
		v, err := s.get(context.Background(), 1, func(context.Context) (string, error) { return "again", nil })
		if err != nil {
			v = err.Error()
		}
		second <- v
	}()
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	require.Equal(t, "again", <-second)
}
