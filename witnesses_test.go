package filgroth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/filgroth/filgroth/synth/vanillasim"
	"github.com/stretchr/testify/require"
)

// watching is a backend that notes where the witnesses lie that it is given, and complains if two are in one place.
type watching struct {
	groth16.Backend
	mu     sync.Mutex
	inUse  map[*fr.Element]bool
	seen   map[*fr.Element]int
	shared error
}

func newWatching() *watching {
	return &watching{Backend: testCPU(), inUse: map[*fr.Element]bool{}, seen: map[*fr.Element]int{}}
}

func (w *watching) Bind(ctx context.Context, s *synth.System, k *groth16.ProvingKey, c groth16.Config) (groth16.Session, error) {
	in, err := w.Backend.Bind(ctx, s, k, c)
	return &watchingSession{in, w}, err
}

type watchingSession struct {
	groth16.Session
	w *watching
}

func (s *watchingSession) Sums(ctx context.Context, as []*synth.Assignment) ([]groth16.Sums, error) {
	mark := func(in bool) {
		s.w.mu.Lock()
		defer s.w.mu.Unlock()
		for _, a := range as {
			p := &a.Fields[0]
			if in && s.w.inUse[p] {
				s.w.shared = fmt.Errorf("two partitions at %p", p)
			}
			s.w.inUse[p] = in
			if in {
				s.w.seen[p]++
			}
		}
	}
	mark(true)
	defer mark(false)
	return s.Session.Sums(ctx, as)
}

func witnessBuffers() (n int) {
	for _, u := range pinning.Live() {
		if u.Purpose == "witness bits" || u.Purpose == "witness fields" {
			n += u.Buffers
		}
	}
	return n
}

// All partitions but the first take memory that was used before, in one job and from one to the next.
func TestWitnessMemoryIsReused(t *testing.T) {
	ctx := context.Background()
	before := pinning.Live()
	w := newSimWindow(t, 6) // three partitions
	watch := newWatching()
	e := developer(t, func(c *Config) { c.Backends, c.PartitionsInFlight = []NamedBackend{{"gpu0", watch}}, 1 })
	for miner := range uint64(2) {
		proof, _, err := w.prove(named("", PriorityNormal), e, miner, 6)
		require.NoError(t, err)
		ok, err := e.VerifyWindowPoSt(ctx, w.randomness, *proof, w.sectors)
		require.NoError(t, err)
		require.True(t, ok)
	}
	require.Len(t, watch.seen, 1, "one place for all six")
	st := e.Status()
	require.Equal(t, 1, st.Spare.Witnesses)
	require.Equal(t, int64(5), st.Spare.Reused)
	require.Positive(t, st.Spare.Bytes)
	require.Zero(t, st.Host.Used)
	was, freed, err := e.Evict(WindowPoSt, vanilla.Size2KiB)
	require.NoError(t, err)
	require.True(t, was)
	require.Greater(t, freed, st.Spare.Bytes)
	require.Zero(t, e.Status().Spare.Witnesses)
	require.Zero(t, witnessBuffers())
	_, _, err = w.prove(ctx, e, 3, 2)
	require.NoError(t, err)
	require.NoError(t, e.Close())
	require.Equal(t, before, pinning.Live())
}

// oddCircuit fails while it is assigned.
type oddCircuit struct{ err error }

func (c oddCircuit) Synthesize(b *synth.Builder) error {
	b.Alloc(fr.One())
	return c.err
}

// A witness that fails, one of another statement and one that is given up return their memory like a good one.
func TestFailedWitnessesReturnTheirMemory(t *testing.T) {
	ctx := context.Background()
	before := pinning.Live()
	cfg, err := post.ProofConfig(10)
	require.NoError(t, err)
	pub0, proofs, err := vanillasim.PoSt(ctx, cfg, 2, vanillasim.Options{Sector: 7})
	require.NoError(t, err)
	var raw [][]byte
	for _, p := range proofs {
		b, err := p.AppendBincode(&cfg, nil)
		require.NoError(t, err)
		raw = append(raw, b)
	}
	parts, pub, err := decodePoSt(ctx, cfg, pub0.Randomness, raw, 0)
	require.NoError(t, err)
	right, err := pub.AllInputs(ctx)
	require.NoError(t, err)
	wrong := append([]fr.Element(nil), right[0]...)
	wrong[1].SetInt64(-5)
	boom := errors.New("boom")
	f := &faulty{Backend: testCPU(), wait: make(chan struct{})}
	e := developer(t, func(c *Config) { c.Backends, c.PartitionsInFlight = []NamedBackend{{"gpu0", f}}, 1 })
	run := func(ctx context.Context, id byte, public []fr.Element, circuit func(int) (synth.Circuit, error)) error {
		_, _, err := e.run(ctx, &request{spec: circuitSpec{WindowPoSt, vanilla.Size2KiB}, id: [32]byte{id}, partitions: 1, circuit: circuit,
			public: func(int) ([]fr.Element, error) { return public, nil }})
		require.Equal(t, SpareStats{1, e.Status().Spare.Bytes, int64(id)}, e.Status().Spare, "call %d", id)
		require.Zero(t, e.Status().Host.Used)
		return err
	}
	good := func(int) (synth.Circuit, error) { return parts[0].Circuit() }
	require.ErrorIs(t, run(ctx, 0, right[0], func(int) (synth.Circuit, error) { return oddCircuit{boom}, nil }), boom)
	require.ErrorIs(t, run(ctx, 1, right[0], func(int) (synth.Circuit, error) { return oddCircuit{}, nil }), synth.ErrShape)
	require.ErrorContains(t, run(ctx, 2, right[0], func(int) (synth.Circuit, error) { panic("boom") }), "panic in the witness")
	var pe *PublicInputError
	require.ErrorAs(t, run(ctx, 3, wrong, good), &pe)
	require.Equal(t, 1, pe.Index)
	cctx, cancel := context.WithCancel(ctx)
	go func() {
		for f.calls.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	require.ErrorIs(t, run(cctx, 4, right[0], good), context.Canceled)
	close(f.wait)
	require.NoError(t, run(ctx, 5, right[0], good), "and what it is used for next is right")
	require.NoError(t, e.Close())
	require.Equal(t, before, pinning.Live())
}

// Jobs at the same time never share memory.
func TestConcurrentWitnessesAreApart(t *testing.T) {
	ctx := context.Background()
	before := pinning.Live()
	w := newSimWindow(t, 3)
	watch := newWatching()
	e := developer(t, func(c *Config) {
		c.Backends, c.WorkersPerBackend, c.PartitionsInFlight = []NamedBackend{{"gpu0", watch}}, 2, 3
	})
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for g := range 4 {
		wg.Go(func() {
			for i := range 3 {
				p, _, err := w.prove(named("", []Priority{PriorityNormal, PriorityHigh}[g%2]), e, uint64(100*g+i), 3)
				if err == nil {
					var ok bool
					if ok, err = e.VerifyWindowPoSt(ctx, w.randomness, *p, w.sectors); err == nil && !ok {
						err = errors.New("does not verify")
					}
				}
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.NoError(t, watch.shared)
	st := e.Status().Spare
	require.LessOrEqual(t, st.Witnesses, 3)
	require.GreaterOrEqual(t, st.Reused, int64(24-6), "three places each of the two sorts")
	require.NoError(t, e.Close())
	require.Equal(t, before, pinning.Live())
}

// Memory that nobody uses goes after its time, and is not kept at all where that is not wanted.
func TestSpareWitnessesExpire(t *testing.T) {
	w := newSimWindow(t, 1)
	for _, idle := range []time.Duration{time.Millisecond, -1} {
		e := developer(t, func(c *Config) { c.WitnessIdle = idle })
		_, _, err := w.prove(context.Background(), e, 1, 1)
		require.NoError(t, err)
		eventually(t, "given back", func() bool { return e.Status().Spare.Witnesses == 0 })
		require.Zero(t, e.Status().Spare.Bytes)
		require.Zero(t, witnessBuffers())
		require.NoError(t, e.Close())
	}
}

// What is kept and what is reserved never exceed the budget together, and what is kept never makes work wait.
func TestSpareWitnessesGiveWay(t *testing.T) {
	ctx := context.Background()
	before := pinning.Live()
	sys, err := synth.Compile(ctx, oddCircuit{})
	require.NoError(t, err)
	const size = 8 + 32 // a word of bits and a field element
	host := pinning.NewBudget(4 * size)
	p := &witnessPool{host: host, limit: 1, idle: time.Hour}
	p.widen(2)
	p.widen(1)
	keys := []*keyEntry{{system: sys}, {system: sys}}
	put := func(key *keyEntry) {
		mem, err := host.Reserve(ctx, size, "test")
		require.NoError(t, err)
		a, err := synth.NewAssignment(sys)
		require.NoError(t, err)
		require.NoError(t, p.put(key, a, mem))
		require.Zero(t, host.Stats().Used)
	}
	for range 3 {
		put(keys[0])
		put(keys[1])
	}
	require.Equal(t, SpareStats{4, 4 * size, 0}, p.stats(), "two of each")
	mem, err := host.Reserve(ctx, 3*size, "test")
	require.NoError(t, err, "at once")
	a, err := p.take(keys[1])
	require.NoError(t, err)
	require.Equal(t, SpareStats{1, size, 1}, p.stats(), "the others made room, the longest unused first")
	require.Equal(t, 1, p.count(keys[0]))
	all, err := host.Reserve(ctx, size, "test")
	require.NoError(t, err)
	b, err := p.take(keys[1])
	require.NoError(t, err)
	require.NotSame(t, &a.Fields[0], &b.Fields[0])
	require.Equal(t, SpareStats{0, 0, 1}, p.stats())
	require.NoError(t, p.put(keys[0], a, mem))
	require.NoError(t, p.put(keys[1], b, all))
	require.Equal(t, int64(size), p.held(keys[0]))
	require.NoError(t, p.drop(keys[0]))
	require.Equal(t, 1, p.stats().Witnesses)
	require.NoError(t, p.close())
	mem, err = host.Reserve(ctx, size, "test")
	require.NoError(t, err)
	a, err = p.take(keys[0])
	require.NoError(t, err)
	require.NoError(t, p.put(keys[0], a, mem), "closed: nothing is kept")
	require.Equal(t, before, pinning.Live())
}
