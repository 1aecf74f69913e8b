package filgroth

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/params"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

func TestPoStProofs(t *testing.T) {
	ctx := context.Background()
	before := pinning.Live()
	e := developer(t, nil)
	v := verifier(t)
	for _, name := range []string{"window", "window1_2", "winning"} {
		m := golden[postMeta](t, name+".json")
		want, randomness, sectors := m.read(t)
		gen := e.GenerateWindowPoStWithVanilla
		if want.Proof.Winning() {
			gen = e.GenerateWinningPoStWithVanilla
		}
		proof, rep, err := gen(ctx, want.Proof, testMiner, randomness, postVanilla(t, name))
		require.NoError(t, err, name)
		require.True(t, rep.DevelopmentKey)
		require.Equal(t, "cpu", rep.Partitions[0].Backend)
		require.NotEqual(t, want.Bytes, proof.Bytes, "proofs are blinded")
		// the development key is the one that the Rust stack made: its verifying key accepts our proof
		var ok bool
		if want.Proof.Winning() {
			ok, err = v.VerifyWinningPoSt(ctx, randomness, *proof, sectors[0])
		} else {
			ok, err = v.VerifyWindowPoSt(ctx, randomness, *proof, sectors)
		}
		require.NoError(t, err)
		require.True(t, ok, name)
	}
	require.NoError(t, e.Close())
	require.ErrorIs(t, e.Close(), ErrClosed)
	require.Equal(t, before, pinning.Live())
}

func TestSinglePartitionsMerge(t *testing.T) {
	ctx := context.Background()
	e := developer(t, nil)
	defer e.Close()
	m := golden[postMeta](t, "window1_2.json")
	want, randomness, sectors := m.read(t)
	proofs := postVanilla(t, "window1_2")
	// one sector a call: under API 1.2.0 challenges do not depend on the position, so these are partitions of their own
	var parts []PoStProof
	for i := range proofs {
		p, _, err := e.GenerateSinglePartitionWindowPoStWithVanilla(ctx, want.Proof, testMiner, randomness, proofs[i:i+1], uint(i))
		require.NoError(t, err)
		ok, err := e.VerifyWindowPoSt(ctx, randomness, *p, sectors[i:i+1])
		require.NoError(t, err)
		require.True(t, ok)
		parts = append(parts, *p)
	}
	all, err := MergeWindowPoStPartitionProofs(want.Proof, parts)
	require.NoError(t, err)
	require.Len(t, all.Bytes, 2*groth16.ProofSize)
	_, err = MergeWindowPoStPartitionProofs(want.Proof, nil)
	require.ErrorIs(t, err, ErrInput)
	_, err = MergeWindowPoStPartitionProofs(want.Proof, []PoStProof{{want.Proof - 5, parts[0].Bytes}})
	require.ErrorIs(t, err, ErrInput)
	_, _, err = e.GenerateSinglePartitionWindowPoStWithVanilla(ctx, want.Proof, testMiner, randomness, [][]byte{proofs[0], proofs[1], proofs[0]}, 0)
	require.ErrorIs(t, err, ErrInput, "more sectors than a partition has")
}

func TestBadVanillaProofsNameThePlace(t *testing.T) {
	ctx := context.Background()
	e := developer(t, nil)
	defer e.Close()
	m := golden[postMeta](t, "window.json")
	want, randomness, _ := m.read(t)
	good := postVanilla(t, "window")
	prove := func(r [32]byte, p ...[]byte) error {
		_, _, err := e.GenerateWindowPoStWithVanilla(ctx, want.Proof, testMiner, r, p)
		require.Error(t, err)
		return err
	}
	cut := good[0][:len(good[0])-1]
	require.ErrorContains(t, prove(randomness, cut, good[1]), "proofs[0]")
	err := prove(randomness, cut, cut)
	require.ErrorContains(t, err, "proofs[0]")
	require.ErrorContains(t, err, "proofs[1]")
	other := randomness
	other[3] ^= 4
	err = prove(other, good...)
	require.ErrorIs(t, err, ErrVanilla)
	require.Equal(t, []uint64{1, 2}, FaultySectors(err), "all faulty sectors in one pass")
	leaf := append([]byte(nil), good[1]...)
	leaf[8+32+8+8+4+32+5] ^= 1 // in the first inclusion proof's leaf
	err = prove(randomness, good[0], leaf)
	require.ErrorIs(t, err, ErrVanilla)
	require.Equal(t, []uint64{2}, FaultySectors(err))
	require.ErrorIs(t, prove(randomness), ErrInput)
	require.ErrorIs(t, prove(randomness, good[0], good[0]), ErrInput, "the same sector twice")
	other[31] |= 0xc0
	require.ErrorIs(t, prove(other, good...), ErrInput)
	_, _, err = e.GenerateSinglePartitionWindowPoStWithVanilla(ctx, want.Proof, testMiner, randomness, good, 1)
	require.ErrorIs(t, err, ErrVanilla, "under API 1.0.0 the challenges of partition 1 are others")
	require.Equal(t, []uint64{1, 2}, FaultySectors(err))
	_, _, err = e.GenerateWinningPoStWithVanilla(ctx, want.Proof, testMiner, randomness, good)
	require.ErrorIs(t, err, ErrUnsupported)
	_, _, err = e.GenerateWindowPoStWithVanilla(ctx, 99, testMiner, randomness, good)
	require.ErrorIs(t, err, ErrUnsupported)
	_, _, err = e.GenerateWinningPoStWithVanilla(ctx, 0, testMiner, randomness, postVanilla(t, "window")[:1])
	require.ErrorIs(t, err, ErrInput, "a proof of another kind")
}

// faulty is a backend that fails as told, in front of the CPU's.
type faulty struct {
	groth16.Backend
	calls atomic.Int64
	fail  func(call int64) error
	wrong bool
	wait  chan struct{}
}

func (f *faulty) Bind(ctx context.Context, s *synth.System, k *groth16.ProvingKey, c groth16.Config) (groth16.Session, error) {
	in, err := f.Backend.Bind(ctx, s, k, c)
	return &faultySession{in, f}, err
}

type faultySession struct {
	groth16.Session
	f *faulty
}

func (s *faultySession) Sums(ctx context.Context, a []*synth.Assignment) ([]groth16.Sums, error) {
	n := s.f.calls.Add(1)
	if s.f.wait != nil {
		select {
		case <-s.f.wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if s.f.fail != nil {
		if err := s.f.fail(n); err != nil {
			return nil, err
		}
	}
	r, err := s.Session.Sums(ctx, a)
	if s.f.wrong && err == nil {
		_, _, g, _ := bls12381.Generators()
		r[0].H.AddMixed(&g)
	}
	return r, err
}

func testCPU() groth16.Backend {
	b, err := newCPU()
	if err != nil {
		panic(err)
	}
	return b
}

func windowJob(t *testing.T) func(context.Context, *Engine) (*PoStProof, *Report, error) {
	m := golden[postMeta](t, "window.json")
	want, randomness, _ := m.read(t)
	proofs := postVanilla(t, "window")
	return func(ctx context.Context, e *Engine) (*PoStProof, *Report, error) {
		return e.GenerateWindowPoStWithVanilla(ctx, want.Proof, testMiner, randomness, proofs)
	}
}

func TestFallback(t *testing.T) {
	job := windowJob(t)
	boom := errors.New("device fell off the bus")
	for name, f := range map[string]*faulty{
		"error": {fail: func(int64) error { return boom }},
		"panic": {fail: func(int64) error { panic("kaboom") }},
		"wrong": {wrong: true},
	} {
		f.Backend = testCPU()
		backends := []NamedBackend{{"gpu0", f}}
		e := developer(t, func(c *Config) { c.Backends = backends })
		proof, rep, err := job(context.Background(), e)
		require.NoError(t, err, name)
		require.Len(t, proof.Bytes, groth16.ProofSize)
		p := rep.Partitions[0]
		require.Equal(t, "cpu", p.Backend, name)
		attempts := 1
		if name == "error" {
			attempts = 2 // what may pass is tried once more in the same place
		}
		require.Len(t, p.Attempts, attempts)
		require.Equal(t, "gpu0", p.Attempts[0].Backend)
		switch name {
		case "error":
			require.ErrorIs(t, p.Attempts[0].Err, boom)
		case "panic":
			require.ErrorContains(t, p.Attempts[0].Err, "kaboom")
		case "wrong":
			require.ErrorIs(t, p.Attempts[0].Err, groth16.ErrSelfCheck)
		}
		st := e.Status()
		require.Equal(t, int64(attempts), st.Backends[0].Failed)
		require.Equal(t, int64(1), st.Backends[1].Proofs)
		require.NoError(t, e.Close())

		e = developer(t, func(c *Config) { c.Backends, c.NoFallback = backends, true })
		_, _, err = job(context.Background(), e)
		var be *BackendError
		require.ErrorAs(t, err, &be, name)
		require.Len(t, be.Attempts, attempts)
		require.NoError(t, e.Close())
	}
}

// lasting says of itself whether it may pass.
type lasting bool

func (l lasting) Error() string   { return "lasting" }
func (l lasting) Transient() bool { return !bool(l) }

// A fault that may pass costs one more call of the same backend and no work of the CPU, in the middle of a job too; both are
// in the report.
func TestPassingFaultIsTriedAgainInPlace(t *testing.T) {
	w := newSimWindow(t, 7) // four partitions
	for _, c := range []struct {
		name    string
		retries int
		err     error
		backend string
		calls   int64
	}{
		{"by itself", 0, errors.New("a kernel failed"), "gpu0", 5},
		{"it says so", 0, lasting(false), "gpu0", 5},
		{"it says that it lasts", 0, lasting(true), "cpu", 4},
		{"never", -1, errors.New("a kernel failed"), "cpu", 4},
		{"cannot", 0, fmt.Errorf("%w: no room", groth16.ErrUnavailable), "cpu", 4},
		{"too much", 0, &pinning.BudgetError{}, "cpu", 4},
	} {
		f := &faulty{Backend: testCPU(), fail: func(call int64) error {
			if call == 3 {
				return c.err
			}
			return nil
		}}
		e := developer(t, func(x *Config) { x.Backends, x.Retries = []NamedBackend{{"gpu0", f}}, c.retries })
		proof, rep, err := w.prove(context.Background(), e, 1, 7)
		require.NoError(t, err, c.name)
		ok, err := e.VerifyWindowPoSt(context.Background(), w.randomness, *proof, w.sectors)
		require.NoError(t, err)
		require.True(t, ok)
		failed := 0
		for _, p := range rep.Partitions {
			if len(p.Attempts) == 0 {
				require.Equal(t, "gpu0", p.Backend)
				continue
			}
			failed++
			require.Len(t, p.Attempts, 1)
			require.Equal(t, "gpu0", p.Attempts[0].Backend)
			require.ErrorIs(t, p.Attempts[0].Err, c.err)
			require.Equal(t, c.backend, p.Backend, c.name)
		}
		require.Equal(t, 1, failed, c.name)
		require.Equal(t, c.calls, f.calls.Load(), c.name)
		require.NoError(t, e.Close())
	}
}

// crowded fails the first call that has several circuits.
type crowded struct {
	groth16.Backend
	hit atomic.Int64
}

func (c *crowded) Bind(ctx context.Context, s *synth.System, k *groth16.ProvingKey, cfg groth16.Config) (groth16.Session, error) {
	in, err := c.Backend.Bind(ctx, s, k, cfg)
	return &crowdedSession{in, c}, err
}

type crowdedSession struct {
	groth16.Session
	c *crowded
}

var errCrowded = errors.New("too many")

func (s *crowdedSession) Sums(ctx context.Context, a []*synth.Assignment) ([]groth16.Sums, error) {
	if len(a) > 1 && s.c.hit.CompareAndSwap(0, int64(len(a))) {
		return nil, errCrowded
	}
	return s.Session.Sums(ctx, a)
}

// A shared call that failed is an attempt of each of its partitions, though the backend made the proofs after all.
func TestFailedSharedCallIsReported(t *testing.T) {
	w := newSimWindow(t, 15) // eight partitions
	c := &crowded{Backend: testCPU()}
	e := developer(t, func(x *Config) {
		x.Backends, x.Prover.CircuitsPerCall, x.PartitionsInFlight = []NamedBackend{{"gpu0", c}}, 4, 8
	})
	proof, rep, err := w.prove(context.Background(), e, 1, 15)
	require.NoError(t, err)
	ok, err := e.VerifyWindowPoSt(context.Background(), w.randomness, *proof, w.sectors)
	require.NoError(t, err)
	require.True(t, ok)
	told := int64(0)
	for _, p := range rep.Partitions {
		require.Equal(t, "gpu0", p.Backend)
		for _, a := range p.Attempts {
			require.Equal(t, Attempt{"gpu0", errCrowded}, a)
			told++
		}
	}
	require.Positive(t, told)
	require.Equal(t, c.hit.Load(), told)
	require.Equal(t, told, e.Status().Backends[0].Failed)
	require.Equal(t, int64(8), e.Status().Backends[0].Proofs)
	require.NoError(t, e.Close())
}

func TestTwoBackendsShareAndReplaceEachOther(t *testing.T) {
	job := windowJob(t)
	bad := &faulty{Backend: testCPU(), fail: func(int64) error { return errors.New("gone") }}
	good := &faulty{Backend: testCPU()}
	e := developer(t, func(c *Config) { c.Backends, c.NoFallback = []NamedBackend{{"bad", bad}, {"good", good}}, true })
	defer e.Close()
	for range 4 {
		_, rep, err := job(context.Background(), e)
		require.NoError(t, err)
		require.Equal(t, "good", rep.Partitions[0].Backend)
	}
}

func TestEqualRequestsJoin(t *testing.T) {
	job := windowJob(t)
	f := &faulty{Backend: testCPU(), wait: make(chan struct{})}
	e := developer(t, func(c *Config) { c.Backends = []NamedBackend{{"slow", f}} })
	defer e.Close()
	var wg sync.WaitGroup
	var joined atomic.Int64
	results := make([]string, 5)
	for i := range results {
		wg.Add(1)
		go func() {
			defer wg.Done()
			p, rep, err := job(context.Background(), e)
			if err != nil {
				results[i] = err.Error()
				return
			}
			if rep.Joined {
				joined.Add(1)
			}
			results[i] = string(p.Bytes)
		}()
	}
	// one of the waiters gives up: the others still get their proof
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error)
	go func() { _, _, err := job(ctx, e); gone <- err }()
	waiters := func() (n int) {
		e.jobs.mu.Lock()
		defer e.jobs.mu.Unlock()
		for _, j := range e.jobs.now {
			n += j.waiters
		}
		return n
	}
	for waiters() < 6 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	close(f.wait)
	wg.Wait()
	require.Equal(t, int64(1), f.calls.Load(), "one computation for all")
	for _, r := range results {
		require.Equal(t, results[0], r)
		require.Len(t, r, groth16.ProofSize)
	}
	require.GreaterOrEqual(t, joined.Load(), int64(4))
}

func TestCancelAndCloseGiveEverythingBack(t *testing.T) {
	job := windowJob(t)
	before, goroutines := pinning.Live(), runtime.NumGoroutine()
	f := &faulty{Backend: testCPU(), wait: make(chan struct{})}
	e := developer(t, func(c *Config) { c.Backends = []NamedBackend{{"slow", f}} })
	ctx, cancel := context.WithCancel(context.Background())
	errs := make(chan error)
	go func() { _, _, err := job(ctx, e); errs <- err }()
	for f.calls.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	require.ErrorIs(t, <-errs, context.Canceled)
	require.Zero(t, e.Status().Host.Used)
	_, _, err := job(ctx, e)
	require.ErrorIs(t, err, context.Canceled)

	go func() { _, _, err := job(context.Background(), e); errs <- err }()
	for f.calls.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, e.Close())
	require.Error(t, <-errs)
	_, _, err = job(context.Background(), e)
	require.ErrorIs(t, err, ErrClosed)
	require.Equal(t, before, pinning.Live())
	for i := 0; runtime.NumGoroutine() > goroutines && i < 500; i++ {
		time.Sleep(10 * time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
}

func TestMissingParametersAreAnError(t *testing.T) {
	e, err := New(Config{Parameters: t.TempDir()})
	require.NoError(t, err)
	defer e.Close()
	_, _, err = windowJob(t)(context.Background(), e)
	require.ErrorIs(t, err, params.ErrKeyNotFound)
	e2, err := New(Config{})
	require.NoError(t, err)
	defer e2.Close()
	_, _, err = windowJob(t)(context.Background(), e2)
	require.ErrorIs(t, err, ErrConfig)
}

func TestSealCommitPhase2(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a 1.1 GB key and a proof of 2.7 million constraints; run without -short")
	}
	ctx := context.Background()
	before := pinning.Live()
	e := developer(t, nil)
	v := verifier(t)
	for _, name := range []string{"2k-v1_1-s1", "2k-synth-s1"} {
		m := golden[sealMeta](t, name+".meta.json")
		c1 := readGolden(t, name+".c1.json.gz")
		proof, rep, err := e.SealCommitPhase2(ctx, c1, m.Sector, testMiner)
		require.NoError(t, err)
		info := m.info(t)
		info.Bytes = proof
		ok, err := v.VerifySeal(ctx, info)
		require.NoError(t, err)
		require.True(t, ok, "the Rust stack's verifying key accepts our proof")
		require.NotEmpty(t, rep.Spans)
	}
	require.NoError(t, e.Close())
	require.Equal(t, before, pinning.Live())
}

func TestBadC1(t *testing.T) {
	ctx := context.Background()
	e := developer(t, nil)
	defer e.Close()
	c1 := readGolden(t, "2k-v1_1-s1.c1.json.gz")
	_, _, err := e.SealCommitPhase2(ctx, c1, 2, testMiner)
	require.ErrorIs(t, err, ErrRejected, "another sector")
	_, _, err = e.SealCommitPhase2(ctx, c1, 1, testMiner+1)
	require.ErrorIs(t, err, ErrRejected, "another miner")
	_, _, err = e.SealCommitPhase2(ctx, c1[:len(c1)/2], 1, testMiner)
	require.ErrorIs(t, err, ErrInput)
	var fe *vanilla.FieldError
	require.ErrorAs(t, err, &fe)
}

// Without a cache directory of its own or the user's, an engine keeps no keys in a place that others can write to.
func TestNoCacheDirectory(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData", "home"} {
		t.Setenv(name, "")
	}
	_, err := New(Config{DevelopmentKeys: true})
	require.ErrorIs(t, err, ErrConfig)
	e, err := New(Config{Parameters: t.TempDir()})
	require.NoError(t, err)
	require.True(t, e.cfg.NoNativeKeys)
	require.Empty(t, e.cfg.CacheDir)
	require.NoError(t, e.Close())
}

func TestConfigValidate(t *testing.T) {
	for _, c := range []Config{{WorkersPerBackend: -1}, {PartitionsInFlight: -1}, {HostMemory: -1}, {KeyMemory: -1}, {AgeingStep: -1},
		{Threads: -1}, {NoFallback: true}, {Backends: []NamedBackend{{"cpu", testCPU()}}}, {Backends: []NamedBackend{{"x", nil}}},
		{Backends: []NamedBackend{{"x", testCPU()}, {"x", testCPU()}}}, {Prover: groth16.Config{Threads: -1}}} {
		_, err := New(c)
		require.ErrorIs(t, err, ErrConfig)
	}
}
