package filgroth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/filgroth/filgroth/synth/vanillasim"
	"github.com/stretchr/testify/require"
)

// jobName travels in a request's context to the backend.
type jobName struct{}

func named(name string, p Priority) context.Context {
	return WithPriority(context.WithValue(context.Background(), jobName{}, name), p)
}

// simWindow are several sectors of a WindowPoSt, as many partitions as two to one.
type simWindow struct {
	kind       vanilla.PoStProof
	randomness [32]byte
	proofs     [][]byte
	sectors    []PoStSector
}

func newSimWindow(t testing.TB, sectors int) *simWindow {
	w := &simWindow{kind: 10}
	cfg, err := post.ProofConfig(w.kind)
	require.NoError(t, err)
	pub, proofs, err := vanillasim.PoSt(context.Background(), cfg, sectors, vanillasim.Options{Sector: 7})
	require.NoError(t, err)
	w.randomness = pub.Randomness
	for i, p := range proofs {
		b, err := p.AppendBincode(&cfg, nil)
		require.NoError(t, err)
		w.proofs = append(w.proofs, b)
		w.sectors = append(w.sectors, PoStSector{pub.Sectors[i].ID, pub.Sectors[i].CommR})
	}
	return w
}

// prove makes a request of its own for each miner: the miner does not enter the circuit.
func (w *simWindow) prove(ctx context.Context, e *Engine, miner uint64, sectors int) (*PoStProof, *Report, error) {
	return e.GenerateWindowPoStWithVanilla(ctx, w.kind, miner, w.randomness, w.proofs[:sectors])
}

// stepped is a backend whose calls each wait for a token and whose order is recorded.
type stepped struct {
	groth16.Backend
	mu    sync.Mutex
	order []string
	token chan struct{}
}

func (s *stepped) Bind(ctx context.Context, sys *synth.System, k *groth16.ProvingKey, c groth16.Config) (groth16.Session, error) {
	in, err := s.Backend.Bind(ctx, sys, k, c)
	return &steppedSession{in, s}, err
}

func (s *stepped) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.order...)
}

type steppedSession struct {
	groth16.Session
	s *stepped
}

func (s *steppedSession) Sums(ctx context.Context, a []*synth.Assignment) ([]groth16.Sums, error) {
	name, _ := ctx.Value(jobName{}).(string)
	s.s.mu.Lock()
	s.s.order = append(s.s.order, name)
	s.s.mu.Unlock()
	select {
	case <-s.s.token:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.Session.Sums(ctx, a)
}

func eventually(t testing.TB, what string, ok func() bool) {
	for i := 0; !ok(); i++ {
		require.Less(t, i, 60000, what)
		time.Sleep(time.Millisecond)
	}
}

// An urgent job is the next that a backend takes, though others wait with their witnesses made, or for memory for them.
func TestUrgentWorkIsNext(t *testing.T) {
	w := newSimWindow(t, 1)
	for _, memory := range []int64{0, 5 << 20} { // plenty, and enough for one partition at a time
		b := &stepped{Backend: testCPU(), token: make(chan struct{})}
		e := developer(t, func(c *Config) { c.HostMemory, c.Backends = memory, []NamedBackend{{"gpu0", b}} })
		var wg sync.WaitGroup
		start := func(name string, miner uint64, p Priority) {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if _, _, err := w.prove(named(name, p), e, miner, 1); err != nil {
					panic(err)
				}
			}()
		}
		start("first", 1000, PriorityNormal) // binds the backend, which then tells what it takes
		b.token <- struct{}{}
		wg.Wait()
		for i := range 4 {
			start("normal", uint64(i), PriorityNormal)
		}
		queued := 1
		if memory > 0 {
			queued = 0
		}
		eventually(t, "one at work, one with a witness or waiting for memory, two before it", func() bool {
			s := e.Status()
			return len(b.calls()) == 2 && s.Queued == queued && s.Host.Waiting == 1-queued && s.Waiting == 2
		})
		start("urgent", 100, PriorityCritical)
		eventually(t, "the urgent one is as far as it can be", func() bool {
			s := e.Status()
			return s.Queued == 2*queued && s.Host.Waiting == 2*(1-queued)
		})
		for range 5 {
			b.token <- struct{}{}
		}
		wg.Wait()
		require.Equal(t, []string{"first", "normal", "urgent", "normal", "normal", "normal"}, b.calls())
		require.NoError(t, e.Close())
	}
}

func TestPrioritiesOfKinds(t *testing.T) {
	require.Equal(t, PriorityCritical, WinningPoSt.priority())
	require.Equal(t, PriorityHigh, WindowPoSt.priority())
	require.Equal(t, PriorityNormal, PoRep.priority())
	require.Equal(t, PriorityNormal, SnapDeals.priority())
	require.Equal(t, PriorityLow, priorityFrom(WithPriority(context.Background(), PriorityLow), PriorityHigh))
	require.Equal(t, PriorityHigh, priorityFrom(context.Background(), PriorityHigh))
}

// A job whose partitions fail here and there has each proof at its own place, and the retry keeps nothing of the first try.
func TestFailedPartitionsKeepTheirPlaces(t *testing.T) {
	ctx := context.Background()
	w := newSimWindow(t, 5) // three partitions, the last padded
	for _, fails := range []int64{1, 3} {
		f := &faulty{Backend: testCPU(), fail: func(call int64) error {
			if call == fails {
				return errors.New("once")
			}
			return nil
		}}
		e := developer(t, func(c *Config) { c.Backends, c.NoFallback, c.Retries = []NamedBackend{{"gpu0", f}}, true, -1 })
		_, rep, err := w.prove(ctx, e, 1, 5)
		var pe *PartitionError
		require.ErrorAs(t, err, &pe)
		require.ErrorContains(t, err, "gpu0: once")
		require.Len(t, rep.Partitions, 3)
		proof, rep, err := w.prove(ctx, e, 1, 5)
		require.NoError(t, err)
		require.Len(t, proof.Bytes, 3*groth16.ProofSize)
		for k, p := range rep.Partitions {
			require.Equal(t, k, p.Index)
			require.Empty(t, p.Attempts)
		}
		ok, err := e.VerifyWindowPoSt(ctx, w.randomness, *proof, w.sectors)
		require.NoError(t, err)
		require.True(t, ok)
		swapped := *proof
		swapped.Bytes = append(append([]byte(nil), proof.Bytes[192:384]...), proof.Bytes[:192]...)
		swapped.Bytes = append(swapped.Bytes, proof.Bytes[384:]...)
		ok, err = e.VerifyWindowPoSt(ctx, w.randomness, swapped, w.sectors)
		require.NoError(t, err)
		require.False(t, ok)
		require.NoError(t, e.Close())
	}
}

// A backend that claims a cancellation that nobody asked for has failed; it is not asked again for ever.
func TestFalseCancellationIsAFailure(t *testing.T) {
	w := newSimWindow(t, 7)
	f := &faulty{Backend: testCPU(), fail: func(int64) error { return context.Canceled }}
	e := developer(t, func(c *Config) {
		c.Backends, c.Prover.CircuitsPerCall = []NamedBackend{{"gpu0", f}}, 4
	})
	defer e.Close()
	require.Equal(t, 5, e.cfg.PartitionsInFlight, "enough for full calls")
	proof, rep, err := w.prove(context.Background(), e, 1, 7)
	require.NoError(t, err)
	require.Len(t, proof.Bytes, 4*groth16.ProofSize)
	for _, p := range rep.Partitions {
		require.Equal(t, "cpu", p.Backend)
		require.Len(t, p.Attempts, 2, "once more on the same")
	}
}

func TestJoinedRequestOutlivesItsFirstCaller(t *testing.T) {
	w := newSimWindow(t, 1)
	f := &faulty{Backend: testCPU(), wait: make(chan struct{})}
	e := developer(t, func(c *Config) { c.Backends = []NamedBackend{{"slow", f}} })
	defer e.Close()
	ctx, cancel := context.WithCancel(context.Background())
	first, second := make(chan error), make(chan error)
	go func() { _, _, err := w.prove(ctx, e, 1, 1); first <- err }()
	eventually(t, "at work", func() bool { return f.calls.Load() == 1 })
	go func() {
		_, rep, err := w.prove(context.Background(), e, 1, 1)
		if err == nil && !rep.Joined {
			err = errors.New("not joined")
		}
		second <- err
	}()
	eventually(t, "two wait", func() bool {
		e.jobs.mu.Lock()
		defer e.jobs.mu.Unlock()
		for _, j := range e.jobs.now {
			return j.waiters == 2
		}
		return false
	})
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	close(f.wait)
	require.NoError(t, <-second)
	require.Equal(t, int64(1), f.calls.Load())
}

// sized is a backend that says what it takes.
type sized struct {
	faulty
	host int64
}

func (s *sized) Bind(ctx context.Context, sys *synth.System, k *groth16.ProvingKey, c groth16.Config) (groth16.Session, error) {
	in, err := s.faulty.Bind(ctx, sys, k, c)
	return &sizedSession{in, s.host}, err
}

type sizedSession struct {
	groth16.Session
	host int64
}

func (s *sizedSession) Footprint(int) pinning.Footprint { return pinning.Footprint{Host: s.host} }

// A budget that one partition does not fit into is an error at once, whether its witness or its sums are too large.
func TestHostMemoryBelowOnePartition(t *testing.T) {
	ctx := context.Background()
	w := newSimWindow(t, 1)
	for _, memory := range []int64{1, 1 << 19, 2 << 20} { // the witness has 0.7 MB, the sums take 3 MB
		e := developer(t, func(c *Config) { c.HostMemory = memory })
		for range 2 {
			_, _, err := w.prove(ctx, e, 1, 1)
			var be *pinning.BudgetError
			require.ErrorAs(t, err, &be, "%d bytes", memory)
			require.Equal(t, memory, be.Have)
			require.Greater(t, be.Need, memory)
			require.ErrorContains(t, err, "window-2KiB")
		}
		require.Zero(t, e.Status().Host.Used)
		require.NoError(t, e.Close())
	}
}

// The memory of the stand-in does not count for the device that it stood in for.
func TestFallbackDoesNotRaiseTheDevicesNeed(t *testing.T) {
	ctx := context.Background()
	w := newSimWindow(t, 1)
	s := &sized{host: 1000}
	s.Backend = testCPU()
	s.fail = func(call int64) error {
		if call == 1 {
			return errors.New("once")
		}
		return nil
	}
	e := developer(t, func(c *Config) { c.HostMemory, c.Backends, c.Retries = 2<<20, []NamedBackend{{"gpu0", s}}, -1 })
	defer e.Close()
	_, _, err := w.prove(ctx, e, 1, 1)
	var all *BackendError
	require.ErrorAs(t, err, &all)
	require.Len(t, all.Attempts, 2)
	require.EqualError(t, all.Attempts[0].Err, "once")
	require.ErrorIs(t, all.Attempts[1].Err, pinning.ErrBudget)
	_, rep, err := w.prove(ctx, e, 1, 1)
	require.NoError(t, err)
	require.Equal(t, "gpu0", rep.Partitions[0].Backend)
}

// What the CPU backend takes and holds is counted, and bounds what is kept.
func TestBackendMemoryIsCounted(t *testing.T) {
	ctx := context.Background()
	w := newSimWindow(t, 1)
	e := developer(t, func(c *Config) { c.NoNativeKeys = true }) // what is mapped from a file is not counted
	defer e.Close()
	for range 2 {
		_, _, err := w.prove(ctx, e, 1, 1)
		require.NoError(t, err)
	}
	const vector = 32768 * 32
	require.GreaterOrEqual(t, e.Status().Host.Peak, int64(3*vector))
	keys := e.Keys()
	require.Len(t, keys, 1)
	require.Greater(t, keys[0].Bytes, keys[0].FileBytes/2, "the points in native form")
	require.Equal(t, keys[0].Bytes, e.Status().Keys.Bytes)
	require.Equal(t, []string{"cpu"}, keys[0].Backends)

	// with room for nothing, a key goes as soon as nobody uses it, and not before
	f := &faulty{Backend: testCPU(), wait: make(chan struct{})}
	tight := developer(t, func(c *Config) { c.KeyMemory, c.Backends = 1, []NamedBackend{{"slow", f}} })
	defer tight.Close()
	done := make(chan error)
	for i := range 2 {
		go func() { _, _, err := w.prove(ctx, tight, uint64(i), 1); done <- err }()
	}
	eventually(t, "at work", func() bool { return f.calls.Load() == 1 })
	was, _, err := tight.Evict(WindowPoSt, vanilla.Size2KiB)
	require.True(t, was)
	require.ErrorIs(t, err, ErrKeyInUse)
	close(f.wait)
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	eventually(t, "nothing kept", func() bool { return len(tight.Keys()) == 0 })
	require.GreaterOrEqual(t, tight.Status().Keys.Evicted, int64(1))
}

// slowBind is a backend whose first binding lasts until its context ends.
type slowBind struct {
	groth16.Backend
	binds atomic.Int64
}

func (s *slowBind) Bind(ctx context.Context, sys *synth.System, k *groth16.ProvingKey, c groth16.Config) (groth16.Session, error) {
	if s.binds.Add(1) == 1 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Backend.Bind(ctx, sys, k, c)
}

// A preload that runs out of time does not take the proof with it that waits for the same binding.
func TestPreloadThatGivesUp(t *testing.T) {
	w := newSimWindow(t, 1)
	for _, deadline := range []bool{false, true} {
		b := &slowBind{Backend: testCPU()}
		e := developer(t, func(c *Config) { c.Backends = []NamedBackend{{"gpu0", b}} })
		ctx, cancel := context.WithCancel(context.Background())
		if deadline {
			ctx, cancel = context.WithTimeout(context.Background(), 200*time.Millisecond)
		}
		loaded := make(chan error)
		go func() { _, err := e.Preload(ctx, WindowPoSt, vanilla.Size2KiB); loaded <- err }()
		eventually(t, "binding", func() bool { return b.binds.Load() == 1 })
		_ = e.Status() // reads while it is bound
		_ = e.Keys()
		done := make(chan error)
		go func() {
			_, rep, err := w.prove(context.Background(), e, 1, 1)
			if err == nil && len(rep.Partitions[0].Attempts) > 0 {
				err = rep.Partitions[0].Attempts[0].Err
			}
			done <- err
		}()
		eventually(t, "waiting for it", func() bool { return e.Status().Backends[0].Busy == 1 || ctx.Err() != nil })
		if !deadline {
			cancel()
		}
		require.Error(t, <-loaded)
		require.NoError(t, <-done)
		cancel()
		require.NoError(t, e.Close())
	}
}

// Close ends a Preload that is under way, and waits for it.
func TestCloseEndsPreload(t *testing.T) {
	before := pinning.Live()
	b := &slowBind{Backend: testCPU()}
	e := developer(t, func(c *Config) { c.Backends = []NamedBackend{{"gpu0", b}} })
	loaded := make(chan error)
	go func() { _, err := e.Preload(context.Background(), WindowPoSt, vanilla.Size2KiB); loaded <- err }()
	eventually(t, "binding", func() bool { return b.binds.Load() == 1 })
	require.NoError(t, e.Close())
	require.Error(t, <-loaded)
	require.Equal(t, before, pinning.Live())
	_, err := e.Preload(context.Background(), WindowPoSt, vanilla.Size2KiB)
	require.ErrorIs(t, err, ErrClosed)
	_, _, err = e.Evict(WindowPoSt, vanilla.Size2KiB)
	require.ErrorIs(t, err, ErrClosed)
	_, err = e.VerifyWindowPoSt(context.Background(), [32]byte{}, PoStProof{Proof: 5}, nil)
	require.ErrorIs(t, err, ErrClosed)
}

// storm is what a backend does at random.
func storm(call int64) error {
	switch rand.IntN(8) {
	case 0:
		return errors.New("lost")
	case 1:
		panic("kaboom")
	case 2:
		return context.Canceled
	case 3:
		time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
	}
	return nil
}

// Whatever is called in whatever order, with backends that fail, panic and lie, and callers that give up: every proof that
// comes out verifies, and after Close nothing is left.
func TestStorm(t *testing.T) {
	w := newSimWindow(t, 3)
	before, goroutines := pinning.Live(), runtime.NumGoroutine()
	for round := range 3 {
		bad := &faulty{Backend: testCPU(), fail: storm}
		liar := &faulty{Backend: testCPU(), wrong: true}
		e := developer(t, func(c *Config) {
			c.Backends, c.WorkersPerBackend = []NamedBackend{{"bad", bad}, {"liar", liar}}, 1+round%2
			c.KeyMemory, c.Prover.CircuitsPerCall = []int64{1, 0, 1 << 40}[round], round+1
		})
		var wg sync.WaitGroup
		var proofs atomic.Int64
		fail := make(chan error, 64)
		for g := range 8 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := 0; !e.closed.Load() && i < 50; i++ {
					if err := stormCall(e, w, g, i, &proofs); err != nil {
						fail <- err
						return
					}
				}
			}()
		}
		eventually(t, "some proofs", func() bool { return proofs.Load() >= 3 || len(fail) > 0 })
		require.NoError(t, e.Close())
		wg.Wait()
		close(fail)
		for err := range fail {
			require.NoError(t, err)
		}
		require.Zero(t, e.Status().Jobs)
		require.Zero(t, e.Status().Host.Used)
		require.Equal(t, before, pinning.Live())
	}
	eventually(t, "all goroutines gone", func() bool { return runtime.NumGoroutine() <= goroutines })
}

func stormCall(e *Engine, w *simWindow, g, i int, proofs *atomic.Int64) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch g {
	case 0:
		_, _ = e.Preload(ctx, WindowPoSt, vanilla.Size2KiB)
		_, _, _ = e.Evict(WindowPoSt, vanilla.Size2KiB)
	case 1:
		_, _ = e.Status(), e.Keys()
		time.Sleep(time.Millisecond)
	case 2, 3:
		time.AfterFunc(time.Duration(rand.IntN(40))*time.Millisecond, cancel)
		fallthrough
	default:
		p, _, err := w.prove(ctx, e, uint64(i%3), 3)
		if err != nil {
			return nil
		}
		ok, err := e.VerifyWindowPoSt(context.Background(), w.randomness, *p, w.sectors)
		if errors.Is(err, ErrClosed) {
			return nil
		}
		if err != nil || !ok || len(p.Bytes) != 2*groth16.ProofSize {
			return fmt.Errorf("proof of %d bytes: %v, %w", len(p.Bytes), ok, err)
		}
		proofs.Add(1)
	}
	return nil
}
