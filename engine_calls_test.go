package filgroth

import (
	"context"
	"runtime"
	"testing"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/aggregate"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// everyCall are all calls of an engine that do work, on good input.
func everyCall(t *testing.T) map[string]func(context.Context, *Engine) error {
	c1 := readGolden(t, "2k-v1_1-s1.c1.json.gz")
	sm := golden[sealMeta](t, "2k-v1_1-s1.meta.json")
	seal := sm.info(t)
	wm := golden[postMeta](t, "window.json")
	window, wr, ws := wm.read(t)
	nm := golden[postMeta](t, "winning.json")
	winning, nr, ns := nm.read(t)
	um := golden[updateMeta](t, "update.json")
	update := um.info(t)
	agg := AggregateInfo{Miner: testMiner, Proof: seal.Proof, Aggregation: 1, Sectors: []AggregateSector{
		{Number: seal.Sector, Ticket: seal.Ticket, Seed: seal.Seed, CommR: seal.CommR, CommD: seal.CommD}}}
	wv, nv := postVanilla(t, "window"), postVanilla(t, "winning")
	return map[string]func(context.Context, *Engine) error{
		"SealCommitPhase2": func(ctx context.Context, e *Engine) error {
			_, _, err := e.SealCommitPhase2(ctx, c1, seal.Sector, testMiner)
			return err
		},
		"SealCommitPhase2CircuitProofs": func(ctx context.Context, e *Engine) error {
			_, _, err := e.SealCommitPhase2CircuitProofs(ctx, c1, seal.Sector, testMiner)
			return err
		},
		"ProveC1": func(ctx context.Context, e *Engine) error { _, _, err := e.ProveC1(ctx, c1); return err },
		"GenerateWinningPoStWithVanilla": func(ctx context.Context, e *Engine) error {
			_, _, err := e.GenerateWinningPoStWithVanilla(ctx, winning.Proof, testMiner, nr, nv)
			return err
		},
		"GenerateWindowPoStWithVanilla": func(ctx context.Context, e *Engine) error {
			_, _, err := e.GenerateWindowPoStWithVanilla(ctx, window.Proof, testMiner, wr, wv)
			return err
		},
		"GenerateSinglePartitionWindowPoStWithVanilla": func(ctx context.Context, e *Engine) error {
			_, _, err := e.GenerateSinglePartitionWindowPoStWithVanilla(ctx, window.Proof, testMiner, wr, wv, 0)
			return err
		},
		"VerifySeal": func(ctx context.Context, e *Engine) error { _, err := e.VerifySeal(ctx, seal); return err },
		"VerifyWinningPoSt": func(ctx context.Context, e *Engine) error {
			_, err := e.VerifyWinningPoSt(ctx, nr, winning, ns[0])
			return err
		},
		"VerifyWindowPoSt": func(ctx context.Context, e *Engine) error {
			_, err := e.VerifyWindowPoSt(ctx, wr, window, ws)
			return err
		},
		"VerifySectorUpdate": func(ctx context.Context, e *Engine) error { _, err := e.VerifySectorUpdate(ctx, update); return err },
		"VerifyAggregateSeals": func(ctx context.Context, e *Engine) error {
			_, err := e.VerifyAggregateSeals(ctx, agg, make([]byte, aggregate.Size(2)))
			return err
		},
		"AggregateSealProofs": func(ctx context.Context, e *Engine) error {
			_, err := e.AggregateSealProofs(ctx, agg, [][]byte{seal.Bytes})
			return err
		},
		"Preload": func(ctx context.Context, e *Engine) error {
			_, err := e.Preload(ctx, WindowPoSt, vanilla.Size2KiB)
			return err
		},
		"Preflight": func(ctx context.Context, e *Engine) error {
			return e.Preflight(ctx, []Kind{WindowPoSt}, []vanilla.SectorSize{vanilla.Size2KiB}, true)
		},
	}
}

// Every call gives the error of a context that has ended, and ErrClosed after Close; nothing is started.
func TestEndedContextsAndClosedEngines(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e, err := New(Config{Parameters: "testdata"})
	require.NoError(t, err)
	calls := everyCall(t)
	for name, call := range calls {
		require.ErrorIs(t, call(ctx, e), context.Canceled, name)
	}
	require.Zero(t, e.Status().Keys.Loads)
	require.NoError(t, e.Close())
	for name, call := range calls {
		require.ErrorIs(t, call(context.Background(), e), ErrClosed, name)
	}
}

// A list of sectors that no aggregate holds is refused before anything is computed for it.
func TestTooManySectors(t *testing.T) {
	e := verifier(t)
	info := AggregateInfo{Proof: 8, Aggregation: 1, Sectors: make([]AggregateSector, 1<<20)} // 32 GiB: ten proofs each
	_, err := e.VerifyAggregateSeals(context.Background(), info, nil)
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, "Sectors: 1048576 of 10 proofs each")
	_, err = e.AggregateSealProofs(context.Background(), info, nil)
	require.ErrorIs(t, err, ErrInput)
	ok, err := e.VerifyWindowPoSt(context.Background(), [32]byte{}, PoStProof{Proof: 8, Bytes: make([]byte, groth16.ProofSize)}, make([]PoStSector, 1<<20))
	require.ErrorIs(t, err, ErrInput)
	require.False(t, ok)
}

// Many verifications leave nothing behind: no goroutine, no memory, no entry in a context.
func TestManyVerificationsKeepNothing(t *testing.T) {
	e := verifier(t)
	m := golden[postMeta](t, "window.json")
	proof, randomness, sectors := m.read(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	run := func(n int) (objects uint64, goroutines int) {
		for range n {
			ok, err := e.VerifyWindowPoSt(ctx, randomness, proof, sectors)
			require.NoError(t, err)
			require.True(t, ok)
			_, err = e.VerifyWindowPoSt(ctx, randomness, PoStProof{Proof: proof.Proof, Bytes: make([]byte, groth16.ProofSize)}, sectors)
			require.Error(t, err)
		}
		runtime.GC()
		runtime.GC() // pools are emptied by the second
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapObjects, runtime.NumGoroutine()
	}
	const calls = 300
	before, goroutines := run(10)
	after, now := run(calls)
	require.Less(t, after, before+calls, "less than one object a call")
	require.LessOrEqual(t, now, goroutines)
}
