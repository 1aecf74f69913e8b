package filgroth

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/vanillasim"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// smallDevice has room for so many sessions.
type smallDevice struct {
	groth16.Backend
	room int

	mu                sync.Mutex
	open, most, binds int
}

func (b *smallDevice) Bind(ctx context.Context, sys *synth.System, key *groth16.ProvingKey, cfg groth16.Config) (groth16.Session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == b.room {
		return nil, groth16.ErrNoRoom
	}
	s, err := b.Backend.Bind(ctx, sys, key, cfg)
	if err != nil {
		return nil, err
	}
	b.open++
	b.binds++
	b.most = max(b.most, b.open)
	return &smallSession{s, b, make(chan struct{}, 1)}, nil
}

// smallSession is closed only while no call runs on it: nothing waits for one then.
type smallSession struct {
	groth16.Session
	b    *smallDevice
	busy chan struct{}
}

var errClosedAtWork = errors.New("a session is closed while a call runs on it")

func (s *smallSession) Sums(ctx context.Context, as []*synth.Assignment) ([]groth16.Sums, error) {
	s.busy <- struct{}{}
	defer func() { <-s.busy }()
	return s.Session.Sums(ctx, as)
}

func (s *smallSession) Close() error {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.b.open--
	if len(s.busy) > 0 {
		return errors.Join(errClosedAtWork, s.Session.Close())
	}
	return s.Session.Close()
}

func proveWinning(ctx context.Context, e *Engine, seed uint64) error {
	cfg, err := post.ProofConfig(0)
	if err != nil {
		return err
	}
	pub, proofs, err := vanillasim.PoSt(ctx, cfg, 1, vanillasim.Options{Seed: seed, Sector: 7})
	if err != nil {
		return err
	}
	raw, err := proofs[0].AppendBincode(&cfg, nil)
	if err != nil {
		return err
	}
	_, _, err = e.GenerateWinningPoStWithVanilla(ctx, 0, 1000, pub.Randomness, [][]byte{raw})
	return err
}

// Two kinds of proof at the same time on a device that holds one session: each gets its turn there, none goes to the CPU, and
// no session is taken away from a call.
func TestKindsTakeTurnsOnASmallDevice(t *testing.T) {
	cpu, err := newCPU()
	require.NoError(t, err)
	w := newSimWindow(t, 4)
	before := pinning.LiveBytes()
	for _, calls := range []int{1, 2} {
		b := &smallDevice{Backend: cpu, room: 1}
		e := developer(t, func(c *Config) {
			c.Backends, c.NoFallback, c.WorkersPerBackend = []NamedBackend{{"gpu0", b}}, true, calls
		})
		g, ctx := errgroup.WithContext(t.Context())
		for i := range 2 {
			g.Go(func() error { _, _, err := w.prove(ctx, e, uint64(1000+i), 4); return err })
			g.Go(func() error { return proveWinning(ctx, e, uint64(i)) })
		}
		require.NoError(t, g.Wait())
		_, err := e.Preload(t.Context(), WindowPoSt, 2<<10)
		require.NoError(t, err)
		_, err = e.Preload(t.Context(), WinningPoSt, 2<<10)
		require.NoError(t, err)
		s := e.Status().Backends[0]
		require.Equal(t, 1, b.most)
		require.GreaterOrEqual(t, b.binds, 3)
		require.Equal(t, int64(b.binds-1), s.GaveWay)
		require.Zero(t, s.Failed)
		require.NoError(t, e.Close())
		require.Zero(t, b.open)
	}
	require.Equal(t, before, pinning.LiveBytes())
}

// What finds no room though nothing else is there says so, after one more try.
func TestNoRoomAtAll(t *testing.T) {
	cpu, err := newCPU()
	require.NoError(t, err)
	b := &smallDevice{Backend: cpu}
	e := developer(t, func(c *Config) { c.Backends, c.NoFallback = []NamedBackend{{"gpu0", b}}, true })
	_, err = e.Preload(t.Context(), WinningPoSt, 2<<10)
	require.ErrorIs(t, err, groth16.ErrNoRoom)
	require.ErrorIs(t, proveWinning(t.Context(), e, 1), groth16.ErrNoRoom)
	require.Equal(t, int64(2), e.Status().Backends[0].Failed) // another process may give some back
	require.NoError(t, e.Close())
}
