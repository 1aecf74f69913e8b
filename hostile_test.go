package filgroth

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// claiming is a backend that says what it likes about the memory that it takes, or panics instead.
type claiming struct {
	groth16.Backend
	host  int64
	panic bool
}

func (c *claiming) Bind(ctx context.Context, s *synth.System, k *groth16.ProvingKey, g groth16.Config) (groth16.Session, error) {
	in, err := c.Backend.Bind(ctx, s, k, g)
	return &claimingSession{in, c}, err
}

type claimingSession struct {
	groth16.Session
	c *claiming
}

func (s *claimingSession) Footprint(int) pinning.Footprint {
	if s.c.panic {
		panic("no idea")
	}
	return pinning.Footprint{Host: s.c.host}
}

// Budgets of a byte, of one byte less than the need, of exactly that, and of more than one partition but less than two with what
// is kept: an error that says so, or proofs; never a wait for ever, and nothing is left. Figures that cannot be are no way around it.
func TestHostBudgetAtItsEdges(t *testing.T) {
	before := pinning.Live()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	w := newSimWindow(t, 1)
	e := developer(t, nil)
	k, release, err := e.keys.acquire(ctx, circuitSpec{WindowPoSt, vanilla.Size2KiB})
	require.NoError(t, err)
	witness := k.witnessBytes()
	release()
	require.NoError(t, e.Close())
	const takes = 12345
	for _, c := range []struct {
		memory int64
		b      *claiming
		fits   bool
	}{
		{1, &claiming{}, false},
		{witness - 1, &claiming{}, false},
		{witness, &claiming{host: math.MinInt64}, true},
		{witness, &claiming{panic: true}, true},
		{witness + takes - 1, &claiming{host: takes}, false},
		{witness + takes, &claiming{host: takes}, true},
		{2*witness + takes, &claiming{host: takes}, true},
		{1 << 60, &claiming{host: math.MaxInt64}, false},
		{math.MaxInt64, &claiming{host: takes}, true},
	} {
		c.b.Backend = testCPU()
		e := developer(t, func(x *Config) {
			x.Backends, x.NoFallback, x.HostMemory, x.KeyMemory = []NamedBackend{{"gpu0", c.b}}, true, c.memory, 1<<40
		})
		var wg sync.WaitGroup
		for miner := range uint64(2) {
			wg.Go(func() {
				ctx := ctx
				if miner == 1 {
					ctx = WithPriority(ctx, PriorityHigh)
				}
				_, _, err := w.prove(ctx, e, miner, 1)
				if c.fits && err != nil || !c.fits && !errors.Is(err, pinning.ErrBudget) {
					t.Errorf("%d bytes, %+v: %v", c.memory, c.b, err)
				}
			})
		}
		wg.Wait()
		st := e.Status()
		require.Zero(t, st.Host.Used)
		require.LessOrEqual(t, st.Host.Peak, st.Host.Total)
		require.LessOrEqual(t, st.Spare.Bytes, st.Host.Total)
		require.NoError(t, e.Close())
		require.Equal(t, before, pinning.Live())
	}
}

// counted fails every call with an error of its own.
type counted struct {
	groth16.Backend
	err   error
	calls atomic.Int64
	binds atomic.Int64
}

func (c *counted) Bind(ctx context.Context, s *synth.System, k *groth16.ProvingKey, g groth16.Config) (groth16.Session, error) {
	c.binds.Add(1)
	in, err := c.Backend.Bind(ctx, s, k, g)
	return &countedSession{in, c}, err
}

type countedSession struct {
	groth16.Session
	c *counted
}

func (s *countedSession) Sums(context.Context, []*synth.Assignment) ([]groth16.Sums, error) {
	s.c.calls.Add(1)
	return nil, s.c.err
}

// A device that never works costs so many calls and not more, whatever it says, shared calls or not, and several jobs at a time.
func TestRetriesAreBounded(t *testing.T) {
	w := newSimWindow(t, 7) // four partitions
	const jobs, partitions, retries = 3, 4, 3
	for _, per := range []int{1, 4} {
		for name, c := range map[string]struct {
			err   error
			tries int64
		}{
			"passing":  {errors.New("lost"), retries + 1},
			"says so":  {lasting(false), retries + 1},
			"deadline": {context.DeadlineExceeded, retries + 1},
			"canceled": {context.Canceled, retries + 1},
			"wrapped":  {fmt.Errorf("%w", errors.Join(errors.New("x"), lasting(true))), 1},
			"lasting":  {groth16.ErrUnavailable, 1},
			"closed":   {groth16.ErrClosed, 1},
		} {
			a, b := &counted{Backend: testCPU(), err: c.err}, &counted{Backend: testCPU(), err: c.err}
			e := developer(t, func(x *Config) {
				x.Backends, x.NoFallback, x.Retries, x.Prover.CircuitsPerCall = []NamedBackend{{"a", a}, {"b", b}}, true, retries, per
			})
			var wg sync.WaitGroup
			for miner := range uint64(jobs) {
				wg.Go(func() {
					_, rep, err := w.prove(context.Background(), e, miner, 7)
					if err == nil || rep == nil {
						t.Errorf("%s: %v %v", name, rep, err)
					}
				})
			}
			wg.Wait()
			for _, x := range []*counted{a, b} {
				require.LessOrEqual(t, x.calls.Load(), 2*c.tries*jobs*partitions, name)
				require.Equal(t, int64(1), x.binds.Load())
			}
			require.Zero(t, e.Status().Queued)
			require.NoError(t, e.Close())
		}
	}
	require.ErrorIs(t, Config{Retries: 1 << 20}.Validate(), ErrConfig)
}

// sulking hangs until its context ends, and only then fails, with an error of its own or none at all.
type sulking struct {
	groth16.Backend
	in  atomic.Int64
	err error
}

func (b *sulking) Bind(ctx context.Context, s *synth.System, k *groth16.ProvingKey, g groth16.Config) (groth16.Session, error) {
	in, err := b.Backend.Bind(ctx, s, k, g)
	return &sulkingSession{in, b}, err
}

type sulkingSession struct {
	groth16.Session
	b *sulking
}

func (s *sulkingSession) Sums(ctx context.Context, as []*synth.Assignment) ([]groth16.Sums, error) {
	s.b.in.Add(1)
	<-ctx.Done()
	if s.b.err == nil {
		return make([]groth16.Sums, len(as)), nil // too late, and nothing
	}
	return nil, s.b.err
}

// A hanging device is left by the callers that give up, one by one or all by Close; what it says then starts nothing anew.
func TestHangingBackend(t *testing.T) {
	w := newSimWindow(t, 3)
	before, goroutines := pinning.Live(), runtime.NumGoroutine()
	for _, per := range []int{1, 3} {
		for _, said := range []error{nil, errors.New("late"), lasting(false), context.Canceled} {
			b := &sulking{Backend: testCPU(), err: said}
			e := developer(t, func(x *Config) {
				x.Backends, x.WorkersPerBackend, x.Prover.CircuitsPerCall = []NamedBackend{{"gpu0", b}}, 2, per
			})
			errs := make(chan error, 2)
			ctx, cancel := context.WithCancel(context.Background())
			go func() { _, _, err := w.prove(ctx, e, 1, 3); errs <- err }()
			go func() { _, _, err := w.prove(context.Background(), e, 2, 3); errs <- err }()
			eventually(t, "both calls hang", func() bool { return b.in.Load() >= 2 })
			cancel()
			if per == 1 { // else the other job's partition keeps a shared call alive
				require.ErrorIs(t, <-errs, context.Canceled)
			}
			require.NoError(t, e.Close())
			for range cap(errs) - 1 + per/3 {
				require.Error(t, <-errs)
			}
			require.Equal(t, before, pinning.Live())
		}
	}
	eventually(t, "all goroutines gone", func() bool { return runtime.NumGoroutine() <= goroutines })
}
