package par

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryIndexOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 1000} {
		for _, threads := range []int{0, 1, 3, 16} {
			seen := make([]atomic.Int32, n)
			err := Do(context.Background(), threads, n, func(w, i int) error {
				if w < 0 || w >= Workers(threads, n) {
					t.Errorf("worker %d", w)
				}
				seen[i].Add(1)
				return nil
			})
			require.NoError(t, err)
			for i := range seen {
				require.EqualValues(t, 1, seen[i].Load())
			}
			total := atomic.Int64{}
			require.NoError(t, Range(context.Background(), threads, n, 3, func(_, from, to int) error {
				total.Add(int64(to - from))
				return nil
			}))
			require.EqualValues(t, n, total.Load())
		}
	}
}

func TestErrorStops(t *testing.T) {
	bad := errors.New("bad")
	for _, threads := range []int{1, 4} {
		calls := atomic.Int32{}
		err := Do(context.Background(), threads, 100000, func(_, i int) error {
			calls.Add(1)
			if i == 5 {
				return bad
			}
			runtime.Gosched()
			return nil
		})
		require.ErrorIs(t, err, bad)
		require.Less(t, calls.Load(), int32(100000))
	}
}

func TestCancelStops(t *testing.T) {
	for _, threads := range []int{1, 4} {
		ctx, cancel := context.WithCancel(context.Background())
		calls := atomic.Int32{}
		err := Do(ctx, threads, 1000, func(_, i int) error {
			if calls.Add(1) == 10 {
				cancel()
			}
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Less(t, calls.Load(), int32(20))
		require.ErrorIs(t, Do(ctx, threads, 0, nil), context.Canceled)
	}
}

func TestWorkers(t *testing.T) {
	require.Equal(t, 1, Workers(4, 0))
	require.Equal(t, 3, Workers(4, 3))
	require.Equal(t, 4, Workers(4, 30))
	require.Equal(t, min(runtime.GOMAXPROCS(0), 1000), Workers(0, 1000))
}
