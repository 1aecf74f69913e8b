package gpu

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/groth16test"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

func TestJoined(t *testing.T) {
	p := os.Getpagesize()
	buf, err := pinning.Alloc(5*p, "joined")
	require.NoError(t, err)
	defer func() { require.NoError(t, buf.Close()) }()
	m := buf.Bytes()
	for _, c := range []struct{ in, want [][2]int }{
		{nil, nil},
		{[][2]int{{3, 3}}, nil},
		{[][2]int{{p, 2 * p}, {0, p}}, [][2]int{{0, p}, {p, 2 * p}}},
		{[][2]int{{p + 1, 2 * p}, {0, p + 1}}, [][2]int{{0, 2 * p}}},
		{[][2]int{{10, 20}, {30, p + 900}, {2*p - 2, 2 * p}, {2*p + 8, 2*p + 800}}, [][2]int{{10, 2 * p}, {2*p + 8, 2*p + 800}}},
		{[][2]int{{0, 2*p + 800}, {p, p + 900}, {4 * p, 5 * p}}, [][2]int{{0, 2*p + 800}, {4 * p, 5 * p}}},
	} {
		var in, want []region
		for _, x := range c.in {
			in = append(in, regionOf(m[x[0]:x[1]]))
		}
		for _, x := range c.want {
			want = append(want, regionOf(m[x[0]:x[1]]))
		}
		require.Equal(t, want, joined(in), "%v", c.in)
	}
}

// TestCut: the parts of a region cover it in order, none is larger than it may be, and no two share a page.
func TestCut(t *testing.T) {
	p := os.Getpagesize()
	buf, err := pinning.Alloc(9*p, "cut")
	require.NoError(t, err)
	defer func() { require.NoError(t, buf.Close()) }()
	for _, from := range []int{0, 1, p - 1} {
		for _, n := range []int{0, 1, p - 1, p, p + 1, 3*p + 7, 8 * p} {
			for _, chunk := range []int{0, 1, 100, p - 1, p, p + 1, 3*p - 1, 3 * p, 100 * p} {
				r := regionOf(buf.Bytes()[from : from+n])
				at := r.start()
				for part := range r.cut(chunk) {
					require.Equal(t, at, part.start())
					require.Positive(t, part.n)
					require.True(t, chunk == 0 || part.n <= max(chunk, p), "%d bytes in parts of %d: %d", n, chunk, part.n)
					at = part.end()
					require.True(t, at == r.end() || at%uintptr(p) == 0, "%d bytes from %d in parts of %d", n, from, chunk)
				}
				require.True(t, n == 0 || at == r.end())
			}
		}
	}
}

// TestRegister: memory is locked in pieces wherever it begins, and a failure leaves nothing locked.
func TestRegister(t *testing.T) {
	d, _ := testDevice(t, Options{})
	p := os.Getpagesize()
	buf, err := pinning.Alloc(9*p, "register")
	require.NoError(t, err)
	defer func() { require.NoError(t, buf.Close()) }()
	before := d.Held().Pinned
	mem := buf.Bytes()[77 : 8*p+5]
	for _, chunk := range []int{0, 100, p, 3*p + 1} {
		require.NoError(t, d.Register(mem, chunk))
		require.Equal(t, int64(len(mem)), d.Held().Pinned-before)
		require.NoError(t, d.Unregister(mem, chunk))
		require.Equal(t, before, d.Held().Pinned)
	}
	taken := buf.Bytes()[6*p : 7*p]
	require.NoError(t, d.Register(taken, 0))
	require.ErrorIs(t, d.Register(mem, p), ErrCUDA)
	require.NoError(t, d.Unregister(taken, 0))
	require.Equal(t, before, d.Held().Pinned)

	ctx, cancel := context.WithCancel(context.Background())
	pieces := &countedPieces{native: d.lib, at: 3, f: cancel}
	d.lib = pieces
	defer func() { d.lib = pieces.native }()
	r := d.registerNow(ctx, regionOf(mem), p)
	require.ErrorIs(t, r.err(0), errCancelled)
	require.Equal(t, 3, pieces.n)
	require.Equal(t, before, d.Held().Pinned)
}

// countedPieces calls f when so many pieces have been locked.
type countedPieces struct {
	native
	n, at int
	f     func()
}

func (c *countedPieces) hostRegister(ordinal int, p unsafe.Pointer, n uint64) result {
	if c.n++; c.n == c.at {
		c.f()
	}
	return c.native.hostRegister(ordinal, p, n)
}

// TestRegisterAnyMemory: a witness that lies across pages, anywhere, is locked in small pieces while it is sent.
func TestRegisterAnyMemory(t *testing.T) {
	d, _ := testDevice(t, Options{})
	f := newFixture(t, groth16test.Circuit{Seed: 81, Values: 3, Inputs: 1, Bits: 80, Fields: 300, Products: 6, Rows: 100}, 1)
	before := d.Held().Pinned
	a := *f.as[0]
	require.Greater(t, len(bytesOf(a.Fields)), os.Getpagesize())
	a.Bits, a.Fields = slices.Clone(a.Bits), slices.Clone(a.Fields)
	got, err := d.sumsOf(&fixture{sys: f.sys, key: f.key, as: []*synth.Assignment{&a}},
		groth16.Config{Pinning: pinning.Config{Policy: pinning.PolicyRegister, ChunkBytes: 100}})
	require.NoError(t, err)
	f.check(t, got)
	require.Equal(t, before, d.Held().Pinned)
}

// TestRegisterOnceShared: memory that sessions of several devices meet is locked once, until the last of them is closed.
func TestRegisterOnceShared(t *testing.T) {
	d, _ := testDevice(t, Options{})
	e, err := openOn(d.lib, d.opts) // stands for another device
	require.NoError(t, err)
	c := groth16test.Circuit{Seed: 82, Values: 3, Inputs: 1, Bits: 80, Fields: 12, Products: 6, Rows: 100}
	f := newFixture(t, c, 1)
	ctx := context.Background()
	other, err := synth.AssignWitness(ctx, c, f.sys, synth.AssignConfig{})
	require.NoError(t, err)
	cfg := groth16.Config{Pinning: pinning.Config{Policy: pinning.PolicyRegisterOnce}}
	before := d.Held().Pinned
	var sessions []groth16.Session
	for _, x := range []*Device{d, e} {
		s, err := x.Bind(ctx, f.sys, f.key, cfg)
		require.NoError(t, err)
		sessions = append(sessions, s)
	}
	bound := d.Held().Pinned
	one := int64(len(f.as[0].Bits)*8 + len(f.as[0].Fields)*32)
	for _, s := range sessions {
		for _, a := range []*synth.Assignment{f.as[0], other} {
			got, err := s.Sums(ctx, []*synth.Assignment{a})
			require.NoError(t, err)
			f.check(t, got)
		}
		require.Equal(t, 2*one, d.Held().Pinned-bound)
	}
	ring := (bound - before) / 2
	require.NoError(t, sessions[0].Close())
	require.Equal(t, before+ring+2*one, d.Held().Pinned, "the other session still uses it")
	require.NoError(t, other.Close())
	require.Equal(t, before+ring+one, d.Held().Pinned)
	require.NoError(t, d.do(ctx, func(*int32) result { return result{} }))
	require.NoError(t, sessions[1].Close())
	require.Equal(t, before, d.Held().Pinned)
	require.Empty(t, once.buffers)
	require.NoError(t, e.Close())
}

// TestOnceWaits: whoever waits for memory of others to be locked goes when the context ends.
func TestOnceWaits(t *testing.T) {
	buf, err := pinning.Alloc(64, "once")
	require.NoError(t, err)
	defer func() { require.NoError(t, buf.Close()) }()
	once.enter()
	defer once.leave()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = once.keep(ctx, &session{}, buf.Bytes())
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
