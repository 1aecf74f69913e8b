package gpu

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/groth16test"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
)

// never is how long a test waits for what must happen.
const never = time.Minute

// TestWitnessBeside: a call's witness is sent while another call has the device.
func TestWitnessBeside(t *testing.T) {
	d, _ := testDevice(t, Options{})
	f := newFixture(t, groth16test.Circuit{Seed: 61, Values: 1, Inputs: 1, Bits: 70, Fields: 10, Products: 5, Rows: 80}, 2)
	s, err := d.Bind(context.Background(), f.sys, f.key, groth16.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.Equal(t, 2, s.(*session).c.slots)
	rec := span.NewRecorder()
	sent := make(chan struct{}, 8)
	rec.Listen(func(r span.Record) {
		if r.Name == "prep" && !r.Open {
			sent <- struct{}{}
		}
	})
	ctx := span.With(context.Background(), rec)
	var got [2][]groth16.Sums
	var errs [2]error
	var wg sync.WaitGroup
	// While this job runs, nothing else has the device.
	require.NoError(t, d.submit(context.Background(), func(*int32) error {
		for i := range got {
			wg.Go(func() { got[i], errs[i] = s.Sums(ctx, f.as[i:i+1]) })
		}
		for range got {
			select {
			case <-sent:
			case <-time.After(never):
				t.Error("the witness waits for the device")
			}
		}
		return nil
	}))
	wg.Wait()
	for i := range got {
		require.NoError(t, errs[i])
		(&fixture{want: f.want[i : i+1]}).check(t, got[i])
	}
}

// fetchGate lets a sum go on only when so many ranges have been fetched.
type fetchGate struct {
	native
	t       *testing.T
	mu      sync.Mutex
	changed *sync.Cond
	fetched int
	staged  int
	total   int
}

func (g *fetchGate) sessionFetch(s handle, section, start, first, n int, raw []byte, cancel *int32) result {
	r := g.native.sessionFetch(s, section, start, first, n, raw, cancel)
	g.mu.Lock()
	g.fetched++
	g.changed.Broadcast()
	g.mu.Unlock()
	return r
}

func (g *fetchGate) sessionStage(s handle, check int) result {
	g.mu.Lock()
	g.staged++
	g.mu.Unlock()
	return g.native.sessionStage(s, check)
}

func (g *fetchGate) sessionSum(s handle, section, slot, at int, cancel *int32) result {
	g.mu.Lock()
	for g.fetched < min(g.staged+1, g.total) {
		g.changed.Wait()
	}
	g.mu.Unlock()
	return g.native.sessionSum(s, section, slot, at, cancel)
}

// TestFetchBeside: the next range of a streamed key arrives while the present one is being summed.
func TestFetchBeside(t *testing.T) {
	d, _ := testDevice(t, Options{})
	f := newFixture(t, groth16test.Circuit{Seed: 62, Values: 1, Inputs: 1, Bits: 70, Fields: 10, Products: 5, Rows: 80}, 2)
	cfg := groth16.Config{CircuitsPerCall: 2, Key: groth16.KeyConfig{Residence: groth16.ResidenceStreamed, ChunkPoints: 100}}
	s, err := d.Bind(context.Background(), f.sys, f.key, cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	w := &work{session: s.(*session), as: f.as}
	g := &fetchGate{native: d.lib, t: t, total: len(w.ranges())}
	g.changed = sync.NewCond(&g.mu)
	require.Greater(t, g.total, 5)
	d.lib = g
	defer func() { d.lib = g.native }()
	done := make(chan struct{})
	var got []groth16.Sums
	go func() {
		defer close(done)
		got, err = s.Sums(context.Background(), f.as)
	}()
	select {
	case <-done:
	case <-time.After(never):
		t.Fatal("a range waits for the sums over the one before")
	}
	require.NoError(t, err)
	f.check(t, got)
	require.Equal(t, g.total, g.fetched)
}

// TestCancelStream: a call that is cancelled while its key is being sent ends, and the session goes on working.
func TestCancelStream(t *testing.T) {
	d, _ := testDevice(t, Options{})
	f := newFixture(t, groth16test.Circuit{Seed: 63, Values: 1, Inputs: 1, Bits: 40, Fields: 10, Products: 5, Rows: 50}, 1)
	cfg := groth16.Config{CircuitsPerCall: 1, Key: groth16.KeyConfig{Residence: groth16.ResidenceStreamed, ChunkPoints: 40}}
	s, err := d.Bind(context.Background(), f.sys, f.key, cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for _, at := range []int{0, 1, 3} {
		rec := span.NewRecorder()
		ctx, cancel := context.WithCancel(span.With(context.Background(), rec))
		loads := 0
		rec.Listen(func(r span.Record) {
			if r.Name == "key.load" {
				if loads++; loads > at {
					cancel()
				}
			}
		})
		_, err := s.Sums(ctx, f.as)
		require.ErrorIs(t, err, context.Canceled)
		cancel()
	}
	got, err := s.Sums(context.Background(), []*synth.Assignment{f.as[0]})
	require.NoError(t, err)
	f.check(t, got)
}

// TestHostB2LeavesDevice: while the host still sums in G2, others have the device.
func TestHostB2LeavesDevice(t *testing.T) {
	d, _ := testDevice(t, Options{})
	f := newFixture(t, groth16test.Circuit{Seed: 64, Values: 1, Inputs: 1, Bits: 40, Fields: 10, Products: 5, Rows: 50}, 1)
	cfg := groth16.Config{B2: groth16.B2Config{Place: groth16.PlaceSequential, Threads: 1}}
	s, err := d.Bind(context.Background(), f.sys, f.key, cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	rec := span.NewRecorder()
	seen := 0
	rec.Listen(func(r span.Record) {
		if r.Name == "msm.b2" && r.Open {
			seen++
			ctx, cancel := context.WithTimeout(context.Background(), never)
			defer cancel()
			assertNoError(t, d.do(ctx, func(*int32) result { return result{} }))
		}
	})
	got, err := s.Sums(span.With(context.Background(), rec), f.as)
	require.NoError(t, err)
	f.check(t, got)
	require.Equal(t, 1, seen)
}
