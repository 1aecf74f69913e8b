package aggregate

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/span"
)

// cancelAfter gives a context that ends when the named span does.
func cancelAfter(name string) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	rec := span.NewRecorder()
	rec.Listen(func(r span.Record) {
		if r.Name == name {
			cancel()
		}
	})
	return span.With(ctx, rec)
}

func TestProveStops(t *testing.T) {
	c := mimcCases(t)[1]
	prover, verifier, err := c.srs.Specialize(8)
	require.NoError(t, err)
	before := runtime.NumGoroutine()
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for _, ctx := range []context.Context{done, cancelAfter("aggregate.commit"), cancelAfter("aggregate.fold")} {
		out, err := Prove(ctx, prover, c.proofs, c.transcript, V2)
		require.ErrorIs(t, err, context.Canceled)
		require.Nil(t, out)
	}
	ok, err := Verify(done, verifier, c.vk, c.inputs, c.aggregate, c.transcript, V2)
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, ok)
	for i := 0; runtime.NumGoroutine() > before && i < 1000; i++ {
		time.Sleep(5 * time.Millisecond) // those that were told to stop may still be returning
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}

// TestConcurrent shares one key among provers and verifiers. It means most under -race.
func TestConcurrent(t *testing.T) {
	ctx := context.Background()
	c := mimcCases(t)[1]
	prover, verifier, err := c.srs.Specialize(8)
	require.NoError(t, err)
	var wg sync.WaitGroup
	outs, oks, errs := make([][]byte, 3), make([]bool, 3), make([]error, 6)
	for i := range 3 {
		wg.Go(func() { outs[i], errs[i] = Prove(ctx, prover, c.proofs, c.transcript, V2) })
		wg.Go(func() {
			oks[i], errs[3+i] = Verify(ctx, verifier, c.vk, c.inputs, c.aggregate, c.transcript, V2)
		})
	}
	wg.Wait()
	for i := range 3 {
		require.NoError(t, errs[i])
		require.NoError(t, errs[3+i])
		require.Equal(t, c.aggregate, outs[i])
		require.True(t, oks[i])
	}
}

// TestSpans: the phases are told apart.
func TestSpans(t *testing.T) {
	c := mimcCases(t)[1]
	prover, verifier, err := c.srs.Specialize(8)
	require.NoError(t, err)
	rec := span.NewRecorder()
	ctx := span.With(context.Background(), rec)
	_, err = Prove(ctx, prover, c.proofs, c.transcript, V2)
	require.NoError(t, err)
	_, err = Verify(ctx, verifier, c.vk, c.inputs, c.aggregate, c.transcript, V2)
	require.NoError(t, err)
	var names []string
	for _, r := range rec.Records() {
		names = append(names, r.Name)
	}
	require.Equal(t, []string{"aggregate.prove", "aggregate.commit", "aggregate.fold", "aggregate.open", "aggregate.verify"}, names)
}
