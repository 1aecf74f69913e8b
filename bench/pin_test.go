package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
	"github.com/stretchr/testify/require"
)

// What is locked is unlocked, every kind of pages is measured in every round, locked and not.
func TestPinMemory(t *testing.T) {
	ctx := context.Background()
	before := pinning.LiveBytes()
	engine, err := ntt.NewCPU(ntt.Config{})
	require.NoError(t, err)
	f := &pinFlags{bytes: 1 << 16, pages: []string{"base", "huge"}}
	l := &ledger{locked: map[*byte]int{}}
	r := &PinResult{Bytes: 1 << 16}
	for round := range 3 {
		require.NoError(t, f.memory(ctx, l, engine, r, round))
	}
	require.Empty(t, l.locked)
	require.Equal(t, before, pinning.LiveBytes())
	require.Equal(t, 3*2*3, l.total, "touched, untouched, transform")
	require.Len(t, r.Locks, 2)
	require.Len(t, r.Copies, 4)
	for _, x := range r.Locks {
		for _, v := range [][]float64{x.Touch, x.Register, x.Unregister, x.Fresh} {
			require.Len(t, v, 3)
		}
	}
	for _, c := range r.Copies {
		require.Len(t, c.Seconds, 3)
		require.Equal(t, int64(1<<17), c.Bytes)
	}
	for fail := 1; fail <= 3; fail++ {
		l := &ledger{locked: map[*byte]int{}, fail: fail}
		require.ErrorContains(t, f.memory(ctx, l, engine, &PinResult{}, 1), "cannot lock")
		require.Empty(t, l.locked)
		require.Equal(t, before, pinning.LiveBytes())
	}
}

// The proofs under each policy: here without a device, so that all but none are unavailable.
func TestPinProofs(t *testing.T) {
	ctx := context.Background()
	before := pinning.LiveBytes()
	w, err := newWorkload(ctx, "window-2k", 1, true, t.TempDir())
	require.NoError(t, err)
	w.ready = true
	f := &pinFlags{n: 2, policies: []string{"none", "register"}, pages: []string{"base", "huge"}}
	s := defaultSettings()
	s.Evaluation = "whole"
	r := &PinResult{}
	require.NoError(t, f.proofs(ctx, w, s, r, func(round int) bool { return round < f.n }))
	require.Len(t, r.Proofs, 4)
	for _, p := range r.Proofs {
		require.Equal(t, p.Policy == "register", p.Unavailable != "")
		require.Len(t, p.Total, map[bool]int{true: 2}[p.Policy == "none"])
	}
	require.NoError(t, w.close())
	require.Equal(t, before, pinning.LiveBytes())
}

// Seconds that are made up give the number of uses that they must.
func TestPinBreakEven(t *testing.T) {
	const gib = 1 << 30
	same := func(v float64) []float64 { return []float64{v, v, v} }
	r := &PinResult{Bytes: 2 * gib, Shape: "made-up",
		Locks:  []PinLock{{Pages: "base", Touch: same(1), Register: same(0.2), Unregister: same(0.1), Fresh: same(1.1)}},
		Copies: []PinCopy{{"base", false, gib, same(0.2)}, {"base", true, gib, same(0.05)}},
		Proofs: []PinProof{{Pages: "base", Policy: "none", Bytes: gib, Send: same(0.1), Pin: same(0), Total: same(1)},
			{Pages: "base", Policy: "register", Bytes: gib, Send: same(0.02), Pin: same(0.15), Total: same(1.1)},
			{Pages: "base", Policy: "ring", Bytes: gib, Send: same(0.01), Pin: same(0), Total: same(0.9)},
			{Pages: "base", Policy: "pool", Unavailable: "no device"}}}
	r.breakEven()
	require.Len(t, r.BreakEven, 3)
	for i, want := range []float64{1, 0.15 / 0.08, 0} {
		require.InDelta(t, 0.15, r.BreakEven[i].Cost, 1e-9)
		require.InDelta(t, want, r.BreakEven[i].Uses, 1e-9, r.BreakEven[i].Against)
	}
	var b bytes.Buffer
	r.table(&b)
	require.Contains(t, b.String(), "never")
	require.Contains(t, b.String(), "10.74 GB/s")
	require.Contains(t, b.String(), "unavailable: no device")
}

// Without a device the mode says so; flags that make no sense are refused.
func TestPinMode(t *testing.T) {
	var out, errOut bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.Error(t, run(ctx, []string{"pin", "-n", "0"}, &out, &errOut))
	require.Error(t, run(ctx, []string{"pin", "-bytes", "1"}, &out, &errOut))
	var d devices
	if _, err := d.get(0); err != nil {
		require.ErrorIs(t, run(ctx, []string{"pin", "-bytes", "1MiB", "-n", "1"}, &out, &errOut), groth16.ErrUnavailable)
	} else {
		require.NoError(t, run(ctx, []string{"pin", "-bytes", "1MiB", "-n", "1"}, &out, &errOut))
	}
	require.NoError(t, d.close())
}
