package keys_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/faulty"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gnarkcs/keys"
)

// plain is a fixture whose gnark key serves the plain prover as it is.
func plain(t *testing.T) (*fixture, func(cfg keys.PlainConfig, faults ...faulty.Fault) (*keys.PlainProver, error)) {
	f := newFixture(t, 41, 20, true)
	pk, vk := f.gnarkSetup(t)
	return f, func(cfg keys.PlainConfig, faults ...faulty.Fault) (*keys.PlainProver, error) {
		m, n := engines(t)
		fm, err := faulty.NewMSM(m, faults...)
		require.NoError(t, err)
		fn, err := faulty.NewNTT(n, faults...)
		require.NoError(t, err)
		return keys.NewPlainProver(f.c, pk, vk, fm, fn, cfg)
	}
}

// TestPlainFaults: whatever engine fails, there is an error, no proof, and all memory is back.
func TestPlainFaults(t *testing.T) {
	f, prover := plain(t)
	live := pinning.LiveBytes()
	for op, calls := range map[faulty.Op]int{faulty.Quotient: 1, faulty.G1: 4, faulty.G2: 1} {
		for call := 1; call <= calls; call++ {
			for kind, want := range map[faulty.Kind]error{faulty.Fail: faulty.ErrInjected, faulty.Wrong: groth16.ErrSelfCheck} {
				p, err := prover(keys.PlainConfig{}, faulty.Fault{Op: op, Kind: kind, Call: call})
				require.NoError(t, err)
				proof, err := p.Prove(t.Context(), f.a)
				require.ErrorIs(t, err, want, "%v %v %d", op, kind, call)
				require.Nil(t, proof)
				_, err = p.Prove(t.Context(), f.a)
				require.NoError(t, err, "the next call is good")
			}
		}
	}
	p, err := prover(keys.PlainConfig{SkipSelfCheck: true}, faulty.Fault{Op: faulty.G1, Kind: faulty.Wrong, Call: 1})
	require.NoError(t, err)
	proof, err := p.Prove(t.Context(), f.a)
	require.NoError(t, err)
	ok, err := groth16.Verify(p.VerifyingKey(), f.pub, proof)
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, live, pinning.LiveBytes())
}

func TestPlainRefuses(t *testing.T) {
	f, prover := plain(t)
	_, err := prover(keys.PlainConfig{Threads: -1})
	require.ErrorIs(t, err, groth16.ErrConfig)
	p, err := prover(keys.PlainConfig{Threads: 1, Windows: groth16.Windows{H: 5, L: 4, A: 6, B1: 4, B2: 5}})
	require.NoError(t, err)
	_, err = p.Prove(t.Context(), nil)
	require.ErrorIs(t, err, synth.ErrShape)
	_, err = p.Prove(t.Context(), newFixture(t, 42, 5, true).a)
	require.ErrorIs(t, err, synth.ErrShape)
	live := pinning.LiveBytes()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Prove(ctx, f.a)
	require.ErrorIs(t, err, context.Canceled)
	f.a.Eval = &synth.Evaluations{}
	_, err = p.Prove(t.Context(), f.a)
	require.ErrorIs(t, err, synth.ErrLength)
	f.a.Eval = nil
	_, err = p.Prove(ctx, f.a)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, live, pinning.LiveBytes())
}

func TestPlainConcurrent(t *testing.T) {
	f, prover := plain(t)
	p, err := prover(keys.PlainConfig{Threads: 1})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			proof, err := p.Prove(t.Context(), f.a)
			if err != nil {
				t.Error(err)
				return
			}
			if ok, err := groth16.Verify(p.VerifyingKey(), f.pub, proof); err != nil || !ok {
				t.Error("a concurrent proof does not verify", err)
			}
		}()
	}
	wg.Wait()
}

// TestImportCancelled: no goroutine and no memory stay behind.
func TestImportCancelled(t *testing.T) {
	f := newFixture(t, 43, 20, true)
	pk, vk := f.gnarkSetup(t)
	live, routines := pinning.LiveBytes(), runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := keys.ImportProvingKey(ctx, f.c, pk, vk)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, live, pinning.LiveBytes())
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > routines && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), routines)
}
