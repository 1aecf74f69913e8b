package gpu

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/groth16test"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// TestTwoSessions: sessions of different systems share a device, one resident, one streamed, with calls at the same time.
func TestTwoSessions(t *testing.T) {
	d, real := testDevice(t, Options{})
	ctx := context.Background()
	calls := 1
	if real {
		calls = 20
	}
	var wg sync.WaitGroup
	for i, c := range []struct {
		circuit groth16test.Circuit
		cfg     groth16.Config
	}{
		{groth16test.Circuit{Seed: 21, Values: 1, Inputs: 1, Bits: 70, Fields: 10, Products: 5, Blocks: 1, Rows: 120}, groth16.Config{}},
		{groth16test.Circuit{Seed: 22, Values: 9, Inputs: 2, Bits: 20, Fields: 40, Products: 9, Rows: 70},
			groth16.Config{CircuitsPerCall: 2, Key: groth16.KeyConfig{Residence: groth16.ResidenceStreamed, ChunkPoints: 60}}},
	} {
		f := newFixture(t, c.circuit, 2)
		s, err := d.Bind(ctx, f.sys, f.key, c.cfg)
		require.NoError(t, err)
		require.Equal(t, i == 0, s.(*session).c.resident)
		defer func() { require.NoError(t, s.Close()) }()
		for range calls {
			wg.Go(func() {
				got, err := s.Sums(ctx, f.as)
				if !assertNoError(t, err) {
					return
				}
				f.check(t, got)
			})
		}
	}
	wg.Wait()
}

func assertNoError(t *testing.T, err error) bool {
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

// TestLeaks makes many calls, some of which fail or are cancelled: a session goes on working, and in the end all is given
// back that was taken, on the device, of page-locked memory and on the heap.
func TestLeaks(t *testing.T) {
	d, real := testDevice(t, Options{})
	rounds := 3
	if real {
		rounds = 50
	}
	f := newFixture(t, groth16test.Circuit{Seed: 31, Values: 2, Inputs: 1, Bits: 60, Fields: 12, Products: 6, Blocks: 1, Rows: 100}, 2)
	require.NoError(t, d.Trim())
	held, live, heap := d.Held(), pinning.LiveBytes(), heapBytes()
	r := rand.New(rand.NewPCG(7, 8))
	failed, cancelled := 0, 0
	for _, cfg := range []groth16.Config{
		{Pinning: pinning.Config{Policy: pinning.PolicyRegisterOnce}},
		{Pinning: pinning.Config{Policy: pinning.PolicyPool}, CircuitsPerCall: 2,
			Key: groth16.KeyConfig{Residence: groth16.ResidenceStreamed, ChunkPoints: 90}},
		{B2: groth16.B2Config{Place: groth16.PlaceParallel, Threads: 1}},
	} {
		s, err := d.Bind(context.Background(), f.sys, f.key, cfg)
		require.NoError(t, err)
		for i := range rounds {
			ctx, cancel := context.WithCancel(context.Background())
			switch i % 3 {
			case 1:
				d.InjectFault(1 + r.Int64N(400))
			case 2:
				time.AfterFunc(time.Duration(r.IntN(300))*time.Millisecond, cancel)
			}
			got, err := s.Sums(ctx, f.as)
			d.InjectFault(0)
			cancel()
			switch {
			case err == nil:
				f.check(t, got, cfg)
			case errors.Is(err, context.Canceled):
				require.Equal(t, 2, i%3, "round %d", i)
				cancelled++
			default:
				require.Equal(t, 1, i%3, "round %d: %v", i, err)
				failed++
			}
		}
		require.NoError(t, s.Close())
	}
	t.Logf("%d failed, %d cancelled", failed, cancelled)
	require.NotZero(t, failed)
	require.NoError(t, d.Trim())
	now := d.Held()
	require.Equal(t, held.Device, now.Device)
	require.Equal(t, held.Pinned, now.Pinned)
	require.Equal(t, live, pinning.LiveBytes())
	require.Less(t, heapBytes(), heap+4<<20)
}

func heapBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestHostB2: the sum in G2 on the host, with the key's section for it not on the device.
func TestHostB2(t *testing.T) {
	d, _ := testDevice(t, Options{})
	f := newFixture(t, groth16test.Circuit{Seed: 41, Values: 3, Inputs: 2, Bits: 200, Fields: 12, Products: 6, Blocks: 1, Rows: 100}, 2)
	ctx := context.Background()
	for _, key := range []groth16.KeyConfig{{}, {Residence: groth16.ResidenceStreamed, ChunkPoints: 500}} {
		for _, place := range []groth16.Place{groth16.PlaceSequential, groth16.PlaceParallel} {
			s, err := d.Bind(ctx, f.sys, f.key, groth16.Config{Key: key, B2: groth16.B2Config{Place: place, Threads: 1}})
			require.NoError(t, err)
			require.Zero(t, s.(*session).c.counts[groth16.SectionB2])
			got, err := s.Sums(ctx, f.as)
			require.NoError(t, err)
			f.check(t, got, place)
			require.NoError(t, s.Close())
		}
	}
}

// TestRegisterOnce: buffers stay page-locked from their first use until they are closed, or the session is.
func TestRegisterOnce(t *testing.T) {
	d, _ := testDevice(t, Options{})
	c := groth16test.Circuit{Seed: 51, Values: 3, Inputs: 1, Bits: 80, Fields: 12, Products: 6, Rows: 100}
	f := newFixture(t, c, 1)
	ctx := context.Background()
	before := d.Held().Pinned
	s, err := d.Bind(ctx, f.sys, f.key, groth16.Config{Pinning: pinning.Config{Policy: pinning.PolicyRegisterOnce}})
	require.NoError(t, err)
	bound := d.Held().Pinned
	got, err := s.Sums(ctx, f.as)
	require.NoError(t, err)
	f.check(t, got)
	one := d.Held().Pinned - bound
	require.Equal(t, int64(len(f.as[0].Bits)*8+len(f.as[0].Fields)*32), one)

	other, err := synth.AssignWitness(ctx, c, f.sys, synth.AssignConfig{})
	require.NoError(t, err)
	for range 2 {
		_, err = s.Sums(ctx, []*synth.Assignment{other})
		require.NoError(t, err)
		require.Equal(t, 2*one, d.Held().Pinned-bound)
	}
	require.NoError(t, other.Close())
	require.Equal(t, one, d.Held().Pinned-bound, "memory that was given back is still registered")

	// Memory that is nobody's is locked while it is sent.
	own := *f.as[0]
	own.Bits, own.Fields = append(own.Bits[:0:0], own.Bits...), append(own.Fields[:0:0], own.Fields...)
	got, err = s.Sums(ctx, []*synth.Assignment{&own})
	require.NoError(t, err)
	f.check(t, got)
	require.Equal(t, one, d.Held().Pinned-bound)
	require.NoError(t, s.Close())
	require.Equal(t, before, d.Held().Pinned)
}
