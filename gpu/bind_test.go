package gpu

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/groth16test"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// ledger is a library that only keeps accounts: of a device of so many bytes, and of the order of calls. Calls that it does
// not have are not made by Bind.
type ledger struct {
	native
	mu       sync.Mutex
	total    uint64
	used     uint64
	plan     func(c *sessionConfig) sessionBytes
	sessions map[unsafe.Pointer]*ledgerSession
	calls    []string
	onLoad   func() // at the next load, outside of the mutex
	onOpen   func()
}

type ledgerSession struct {
	held, perSection uint64
	loaded           [groth16.NumSections]bool
}

func (l *ledger) sessionPlan(_ handle, c *sessionConfig) (sessionBytes, result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.plan(c)
	b.available = l.total - l.used
	return b, result{}
}

// sessionOpen takes what a streamed key holds; a resident one's points come with the loads.
func (l *ledger) sessionOpen(_ handle, c *sessionConfig) (handle, result) {
	if l.onOpen != nil {
		l.onOpen()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.plan(c)
	s := &ledgerSession{}
	if c.resident {
		s.perSection = b.held / groth16.NumSections
	} else {
		if b.held > l.total-l.used {
			return nil, result{code: codeMemory}
		}
		l.used += b.held
		s.held = b.held
	}
	l.calls = append(l.calls, "open")
	h := unsafe.Pointer(s)
	if l.sessions == nil {
		l.sessions = map[unsafe.Pointer]*ledgerSession{}
	}
	l.sessions[h] = s
	return handle(h), result{}
}

func (l *ledger) sessionLoad(h handle, section, _, _ int, _ []byte, _ int, _ *int32) result {
	l.mu.Lock()
	on := l.onLoad
	l.onLoad = nil
	l.mu.Unlock()
	if on != nil {
		on()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, "load")
	s := l.sessions[unsafe.Pointer(h)]
	if s.loaded[section] {
		return result{}
	}
	if s.perSection > l.total-l.used {
		return result{code: codeMemory, message: "a section of the key"}
	}
	s.loaded[section] = true
	s.held += s.perSection
	l.used += s.perSection
	return result{}
}

func (l *ledger) note(what string) result {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, what)
	return result{}
}

func (l *ledger) sessionClose(h handle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used -= l.sessions[unsafe.Pointer(h)].held
	delete(l.sessions, unsafe.Pointer(h))
}

func (l *ledger) sessionSystem(handle, *synth.System) result       { return l.note("system") }
func (l *ledger) sessionTemplate(handle, *synth.Template) result   { return l.note("template") }
func (l *ledger) sessionSystemDone(handle) result                  { return l.note("done") }
func (l *ledger) sessionSection(handle, int, *sectionLists) result { return l.note("section") }
func (l *ledger) deviceClose(handle)                               {}
func (l *ledger) versions() (driver, runtime, devices int, r result) {
	return 1, 1, 1, result{}
}
func (l *ledger) query(int) (DeviceInfo, result)          { return DeviceInfo{}, result{} }
func (l *ledger) deviceOpen(int, uint64) (handle, result) { return nil, result{} }

func (l *ledger) open(t *testing.T) *Device {
	d, err := openOn(l, Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, d.Close())
		require.Zero(t, l.used)
	})
	return d
}

// sizes plans 60 bytes for a resident key, 20 for a streamed one, and scratch memory as told.
func sizes(arena func(c *sessionConfig) uint64) func(c *sessionConfig) sessionBytes {
	return func(c *sessionConfig) sessionBytes {
		b := sessionBytes{held: 20, leastArena: arena(c)}
		if c.resident {
			b.held = 60
		}
		return b
	}
}

func bindFixture(t *testing.T) *fixture {
	return newFixture(t, groth16test.Circuit{Seed: 91, Values: 1, Inputs: 1, Bits: 20, Fields: 5, Products: 3, Blocks: 1, Rows: 30}, 0)
}

// TestBindTogether: of two sessions that are bound at the same time, one plans with what the other leaves.
func TestBindTogether(t *testing.T) {
	l := &ledger{total: 100, plan: sizes(func(*sessionConfig) uint64 { return 10 })}
	d, f := l.open(t), bindFixture(t)
	var second groth16.Session
	var err2 error
	var wg sync.WaitGroup
	l.onLoad = func() { // the first has planned, but has none of its points
		started := make(chan struct{})
		wg.Go(func() {
			close(started)
			second, err2 = d.Bind(context.Background(), f.sys, f.key, groth16.Config{})
		})
		<-started
		for range 100 {
			runtime.Gosched()
		}
	}
	first, err := d.Bind(context.Background(), f.sys, f.key, groth16.Config{})
	wg.Wait()
	require.NoError(t, err)
	require.NoError(t, err2)
	require.True(t, first.(*session).c.resident)
	require.False(t, second.(*session).c.resident)
	require.NoError(t, first.Close())
	require.NoError(t, second.Close())
}

// TestBindLeavesScratch: a session takes no memory that one which is open needs for its calls.
func TestBindLeavesScratch(t *testing.T) {
	l := &ledger{total: 100, plan: sizes(func(c *sessionConfig) uint64 {
		if c.circuits == 7 {
			return 50
		}
		return 10
	})}
	d, f := l.open(t), bindFixture(t)
	ctx := context.Background()
	streamed := groth16.KeyConfig{Residence: groth16.ResidenceStreamed}
	first, err := d.Bind(ctx, f.sys, f.key, groth16.Config{Key: streamed, CircuitsPerCall: 7})
	require.NoError(t, err)
	second, err := d.Bind(ctx, f.sys, f.key, groth16.Config{}) // 60 and 10 of the 80 that are left would do for it alone
	require.NoError(t, err)
	require.False(t, second.(*session).c.resident)
	_, err = d.Bind(ctx, f.sys, f.key, groth16.Config{}) // 40 are left below the 50
	require.ErrorIs(t, err, ErrOutOfDeviceMemory)
	require.NoError(t, first.Close())
	third, err := d.Bind(ctx, f.sys, f.key, groth16.Config{})
	require.NoError(t, err)
	require.True(t, third.(*session).c.resident)
	require.NoError(t, second.Close())
	require.NoError(t, third.Close())
}

// TestBindUnbroken: between a session's plan and what it allocates without asking, no other call has the device, whose
// scratch memory could be all that there is.
func TestBindUnbroken(t *testing.T) {
	l := &ledger{total: 100, plan: sizes(func(*sessionConfig) uint64 { return 10 })}
	d, f := l.open(t), bindFixture(t)
	var wg sync.WaitGroup
	l.onOpen = func() {
		started := make(chan struct{})
		wg.Go(func() {
			close(started)
			assertNoError(t, d.do(context.Background(), func(*int32) result { return l.note("other") }))
		})
		<-started
		time.Sleep(10 * time.Millisecond) // so that it waits for the device
	}
	s, err := d.Bind(context.Background(), f.sys, f.key, groth16.Config{})
	require.NoError(t, err)
	wg.Wait()
	other, last := slices.Index(l.calls, "other"), 0
	for i, c := range l.calls {
		if c == "section" {
			last = i
		}
	}
	require.Greater(t, other, last, "%v", l.calls)
	require.NoError(t, s.Close())
}

// TestBindWaits: whoever waits for another Bind goes when the context ends.
func TestBindWaits(t *testing.T) {
	l := &ledger{total: 100, plan: sizes(func(*sessionConfig) uint64 { return 10 })}
	d, f := l.open(t), bindFixture(t)
	done, err := d.bindAlone(context.Background())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = d.Bind(ctx, f.sys, f.key, groth16.Config{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Empty(t, l.calls)
	done()
	s, err := d.Bind(context.Background(), f.sys, f.key, groth16.Config{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// TestCloseOrder: a device is not closed under a session, from Bind's first step on, and what comes after Close is refused.
func TestCloseOrder(t *testing.T) {
	l := &ledger{total: 100, plan: sizes(func(*sessionConfig) uint64 { return 10 })}
	f := bindFixture(t)
	d, err := openOn(l, Options{})
	require.NoError(t, err)
	l.onOpen = func() { // Close would wait for this call for ever
		if d.Close() == nil {
			t.Error("the device was closed")
		}
	}
	s, err := d.Bind(context.Background(), f.sys, f.key, groth16.Config{})
	require.NoError(t, err)
	require.Error(t, d.Close())
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Close(), groth16.ErrClosed)
	_, err = s.Sums(context.Background(), nil)
	require.ErrorIs(t, err, groth16.ErrClosed)
	require.NoError(t, d.Close())
	require.ErrorIs(t, d.Close(), ErrClosed)
	_, err = d.Bind(context.Background(), f.sys, f.key, groth16.Config{})
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, f.key.Retain()) // Bind has let it go
	require.NoError(t, f.key.Release())
}

// TestClosing: while a device or a session is being closed, other calls are refused instead of waiting for those that
// run.
func TestClosing(t *testing.T) {
	d, err := openOn(&ledger{}, Options{})
	require.NoError(t, err)
	busy, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = d.do(context.Background(), func(*int32) result { close(busy); <-release; return result{} })
	})
	<-busy
	wg.Go(func() { assertNoError(t, d.Close()) })
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		return errors.Is(d.do(ctx, func(*int32) result { return result{} }), ErrClosed)
	}, never, time.Millisecond)
	close(release)
	wg.Wait()

	l := &ledger{total: 100, plan: sizes(func(*sessionConfig) uint64 { return 10 })}
	e, f := l.open(t), bindFixture(t)
	s, err := e.Bind(context.Background(), f.sys, f.key, groth16.Config{})
	require.NoError(t, err)
	require.NoError(t, s.(*session).enter()) // a call that runs
	wg.Go(func() { assertNoError(t, s.Close()) })
	require.Eventually(t, func() bool {
		_, err := s.Sums(context.Background(), nil)
		return errors.Is(err, groth16.ErrClosed)
	}, never, time.Millisecond)
	s.(*session).calls.Done()
	wg.Wait()
}

// TestAccounts: what a session says that it holds is what it has allocated, and a call's share is told with it.
func TestAccounts(t *testing.T) {
	l := &ledger{total: 100, plan: sizes(func(*sessionConfig) uint64 { return 10 })}
	d, f := l.open(t), bindFixture(t)
	n := f.key.Len(groth16.SectionB2)
	matrix := int64(32 * f.sys.Constraints())
	for _, c := range []struct {
		cfg          groth16.Config
		host, pinned int64 // of a call
	}{
		{groth16.Config{B2: groth16.B2Config{Place: groth16.PlaceParallel}}, 0, 0},
		{groth16.Config{B2: groth16.B2Config{Place: groth16.PlaceSequential}, Key: groth16.KeyConfig{Residence: groth16.ResidenceStreamed}}, int64(192 * n), 0},
		{groth16.Config{Evaluate: groth16.PlaceHost}, 3 * matrix, 0},
		{groth16.Config{Evaluate: groth16.PlaceHost, Pinning: pinning.Config{Policy: pinning.PolicyPool}}, 3 * matrix, matrix},
		{groth16.Config{Pinning: pinning.Config{Policy: pinning.PolicyPool}}, 0, 0},
	} {
		before := pinning.LiveBytes()
		gs, err := d.Bind(context.Background(), f.sys, f.key, c.cfg)
		require.NoError(t, err)
		s := gs.(*session)
		held, call := s.Held(), s.Footprint(1)
		require.Equal(t, pinning.LiveBytes()-before, held.Host, "%v", c.cfg)
		require.Equal(t, c.host, call.Host, "%v", c.cfg)
		if c.pinned != 0 {
			require.Equal(t, c.pinned, call.Pinned+held.Pinned, "%v", c.cfg)
		} else {
			require.Zero(t, call.Pinned)
		}
		require.NoError(t, s.Close())
	}
}
