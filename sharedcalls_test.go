package filgroth

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Where a pass over the key is shared, a call waits for the witnesses that are being made: the partitions of a job come
// together, whatever PartitionsInFlight was before the backend told how many it takes.
func TestSharedCallsAreFull(t *testing.T) {
	const partitions = 7
	w := newSimWindow(t, 2*partitions)
	for _, c := range []struct{ per, inFlight, least, most int }{{10, 0, 1, 1}, {4, 0, 2, 2}, {1, 0, 7, 7}, {10, 2, 4, 7}} {
		b := &sharing{stepped{Backend: testCPU(), token: make(chan struct{})}, c.per, 1}
		close(b.token) // no call waits
		e := developer(t, func(cfg *Config) {
			cfg.Backends, cfg.PartitionsInFlight = []NamedBackend{{"gpu0", b}}, c.inFlight
		})
		_, err := e.Preload(t.Context(), WindowPoSt, 2<<10)
		require.NoError(t, err)
		_, rep, err := w.prove(t.Context(), e, 1000, 2*partitions)
		require.NoError(t, err)
		require.Len(t, rep.Partitions, partitions)
		calls := b.calls()
		require.True(t, len(calls) >= c.least && len(calls) <= c.most, "%+v: %v", c, calls)
		require.NoError(t, e.Close())
	}
}

// A backend is given as many calls at a time as it asks for, unless the configuration says another number; the others wait
// with their witness made.
func TestBackendChoosesItsCalls(t *testing.T) {
	w := newSimWindow(t, 8) // four partitions
	for _, c := range []struct{ asks, workers, want int }{{2, 0, 2}, {0, 0, 1}, {2, 1, 1}, {1, 3, 3}} {
		b := &sharing{stepped{Backend: testCPU(), token: make(chan struct{})}, 1, c.asks}
		e := developer(t, func(cfg *Config) {
			cfg.Backends, cfg.WorkersPerBackend = []NamedBackend{{"gpu0", b}}, c.workers
		})
		done := make(chan error)
		go func() { _, _, err := w.prove(t.Context(), e, 1000, 8); done <- err }()
		eventually(t, "calls at work, and one partition more with its witness", func() bool { return e.Status().Queued == 1 && len(b.calls()) == c.want })
		close(b.token)
		require.NoError(t, <-done)
		require.NoError(t, e.Close())
	}
	b := &sharing{inFlight: 1000}
	require.Equal(t, maxWorkers, (&Config{}).workers(b))
}
