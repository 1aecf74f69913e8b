package filgroth

import (
	"context"
	"sync"
	"testing"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
)

// joining is a backend that likes several circuits a call, and several calls at a time, and notes what it gets.
type joining struct {
	groth16.Backend
	per, calls int

	mu   sync.Mutex
	got  []int
	busy int
	most int
}

func (b *joining) CallsInFlight() int { return b.calls }

func (b *joining) Bind(ctx context.Context, sys *synth.System, key *groth16.ProvingKey, cfg groth16.Config) (groth16.Session, error) {
	s, err := b.Backend.Bind(ctx, sys, key, cfg)
	return &joiningSession{s, b}, err
}

type joiningSession struct {
	groth16.Session
	b *joining
}

func (s *joiningSession) CircuitsPerCall() int { return s.b.per }

func (s *joiningSession) Sums(ctx context.Context, as []*synth.Assignment) ([]groth16.Sums, error) {
	b := s.b
	b.mu.Lock()
	b.got = append(b.got, len(as))
	b.busy++
	b.most = max(b.most, b.busy)
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.busy--
		b.mu.Unlock()
	}()
	return s.Session.Sums(ctx, as)
}

func (b *joining) calling() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]int{}, b.got...)
}

// Where a pass over the key is shared, a call waits for the witnesses that are being made: the partitions of a job come
// together, whatever PartitionsInFlight was before the backend told how many it takes.
func TestSharedCallsAreFull(t *testing.T) {
	const partitions = 7
	cpu, err := newCPU()
	require.NoError(t, err)
	w := newSimWindow(t, 2*partitions)
	for _, c := range []struct{ per, inFlight, least, most int }{{10, 0, 1, 1}, {4, 0, 2, 2}, {1, 0, 7, 7}, {10, 2, 4, 7}} {
		b := &joining{Backend: cpu, per: c.per, calls: 1}
		e := developer(t, func(cfg *Config) {
			cfg.Backends, cfg.PartitionsInFlight = []NamedBackend{{"gpu0", b}}, c.inFlight
		})
		_, err := e.Preload(t.Context(), WindowPoSt, 2<<10)
		require.NoError(t, err)
		_, rep, err := w.prove(t.Context(), e, 1000, 2*partitions)
		require.NoError(t, err)
		require.Len(t, rep.Partitions, partitions)
		calls := b.calling()
		require.True(t, len(calls) >= c.least && len(calls) <= c.most, "%+v: %v", c, calls)
		require.NoError(t, e.Close())
	}
}

// A backend is given as many calls at a time as it asks for, unless the configuration says another number.
func TestBackendChoosesItsCalls(t *testing.T) {
	cpu, err := newCPU()
	require.NoError(t, err)
	for _, c := range []struct{ asks, workers, want int }{{2, 0, 2}, {0, 0, 1}, {1000, 0, maxWorkers}, {2, 1, 1}, {1, 3, 3}} {
		b := &joining{Backend: cpu, per: 1, calls: c.asks}
		cfg := Config{DevelopmentKeys: true, CacheDir: t.TempDir(), Backends: []NamedBackend{{"gpu0", b}}, WorkersPerBackend: c.workers}
		require.Equal(t, c.want, cfg.workers(b))
		full, err := cfg.withDefaults()
		require.NoError(t, err)
		require.Equal(t, c.want+1, full.PartitionsInFlight)
	}
}
