package groth16

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// close waits for those inside, and whoever comes meanwhile does not.
func TestLifecycle(t *testing.T) {
	for _, calls := range []int{0, 1, 5} {
		l := lifecycle{what: "thing"}
		for range calls {
			require.NoError(t, l.enter())
		}
		begun, closed := make(chan struct{}), make(chan error)
		go func() {
			close(begun)
			closed <- l.close()
		}()
		<-begun
		for err := l.enter(); err == nil; err = l.enter() { // until close has begun
			l.leave()
		}
		require.ErrorIs(t, l.enter(), ErrClosed)
		require.ErrorIs(t, l.close(), ErrClosed, "a second one does not wait")
		var wg sync.WaitGroup
		for i := range calls {
			select {
			case <-closed:
				t.Fatalf("closed with %d inside", calls-i)
			default:
			}
			wg.Go(l.leave)
			wg.Wait()
		}
		require.NoError(t, <-closed)
	}
}
