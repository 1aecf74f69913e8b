package gpu

import (
	"context"
	"errors"
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/groth16test"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

var faultStep = flag.Int64("faults.step", 0, "TestFaults lets every so-many-th call fail; 0 is all on a GPU, some on the emulated device")

// TestFaults makes the n-th CUDA call fail, for n = 1, 2, ... until a run is over before that: every run gives an error or
// the right sums, and nothing is left on the device or page-locked.
func TestFaults(t *testing.T) {
	d, real := testDevice(t, Options{})
	ctx := context.Background()
	c := groth16test.Circuit{Seed: 5, Values: 6, Inputs: 2, Bits: 40, Fields: 9, Products: 12, Blocks: 2, Rows: 100}
	sys, err := synth.Compile(ctx, c)
	require.NoError(t, err)
	trap := groth16.DevTrapdoor("gpu faults")
	key, err := groth16.Setup(ctx, sys, groth16.SetupOptions{Trapdoor: trap})
	require.NoError(t, err)
	defer func() { require.NoError(t, key.Close()) }()
	a, err := synth.AssignWitness(ctx, c, sys, synth.AssignConfig{})
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	want, err := groth16test.Expected(ctx, sys, a, trap)
	require.NoError(t, err)
	require.NoError(t, d.Trim())
	base := d.Held()
	step := *faultStep
	if step == 0 && !real {
		step = 499 // the emulated device takes a quarter of a second a run; -faults.step tries more
	}
	step = max(step, 1)
	failed := 0
	defer func() { d.choose = nil }()
	streamed := groth16.KeyConfig{Residence: groth16.ResidenceStreamed, ChunkPoints: 64}
	for i, cfg := range []groth16.Config{
		{Key: groth16.KeyConfig{Residence: groth16.ResidenceResident}},
		{Key: streamed},
		{Key: streamed, Pinning: pinning.Config{Policy: pinning.PolicyPool}},
		{Pinning: pinning.Config{Policy: pinning.PolicyRegister, ChunkBytes: 4096}},
		{Pinning: pinning.Config{Policy: pinning.PolicyRegisterOnce}},
	} {
		d.choose = func(c *sessionConfig) bool { return c.lowMemory == (i%2 == 0) }
		step := step
		if *faultStep == 0 && i >= 2 {
			step = max(step, 11) // differs from those before in how memory gets to the device only
		}
		for n := int64(1); ; n += step {
			d.InjectFault(n)
			got, err := sumsOnce(ctx, d, sys, key, a, cfg)
			over := d.FaultPending()
			d.InjectFault(0)
			if err == nil {
				require.True(t, got.H.Equal(&want.H) && got.L.Equal(&want.L) && got.A.Equal(&want.A) && got.B1.Equal(&want.B1) &&
					got.B2.Equal(&want.B2), "fault %d, %v: wrong sums and no error", n, cfg)
			} else {
				failed++
			}
			require.NoError(t, d.Trim())
			held := d.Held()
			require.Equal(t, base.Device, held.Device, "device bytes after fault %d, %v: %v", n, cfg, err)
			require.Equal(t, base.Pinned, held.Pinned, "pinned bytes after fault %d, %v: %v", n, cfg, err)
			if over {
				require.NoError(t, err)
				t.Logf("%v: a run makes fewer than %d checked calls", cfg, n)
				break
			}
			require.Error(t, err, "fault %d, %v, was swallowed", n, cfg)
		}
	}
	require.NotZero(t, failed)
}

func sumsOnce(ctx context.Context, d *Device, sys *synth.System, key *groth16.ProvingKey, a *synth.Assignment, cfg groth16.Config) (groth16.Sums, error) {
	s, err := d.Bind(ctx, sys, key, cfg)
	if err != nil {
		return groth16.Sums{}, err
	}
	out, err := s.Sums(ctx, []*synth.Assignment{a})
	if err = errors.Join(err, s.Close()); err != nil {
		return groth16.Sums{}, err
	}
	return out[0], nil
}

// TestOpenFaults does the same for Open.
func TestOpenFaults(t *testing.T) {
	d, _ := testDevice(t, Options{})
	base := d.Held()
	for n := int64(1); ; n++ {
		require.Less(t, n, int64(1000))
		d.InjectFault(n)
		e, err := openOn(d.lib, d.opts)
		over := d.FaultPending()
		d.InjectFault(0)
		if err == nil {
			require.NoError(t, e.Close())
		}
		require.Equal(t, base, d.Held(), "fault %d", n)
		if over {
			require.NoError(t, err)
			return
		}
		require.Error(t, err, "fault %d", n)
	}
}

// TestPolicies: how host memory gets to the device changes no sum; evaluations may come from the host.
func TestPolicies(t *testing.T) {
	d, _ := testDevice(t, Options{})
	ctx := context.Background()
	c := groth16test.Circuit{Seed: 9, Values: 10, Inputs: 3, Bits: 100, Fields: 20, Products: 10, Blocks: 1, Rows: 200}
	sys, err := synth.Compile(ctx, c)
	require.NoError(t, err)
	trap := groth16.DevTrapdoor("gpu policies")
	key, err := groth16.Setup(ctx, sys, groth16.SetupOptions{Trapdoor: trap})
	require.NoError(t, err)
	defer func() { require.NoError(t, key.Close()) }()
	a, err := synth.AssignWitness(ctx, c, sys, synth.AssignConfig{})
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	want, err := groth16test.Expected(ctx, sys, a, trap)
	require.NoError(t, err)
	for _, policy := range []pinning.Policy{pinning.PolicyAuto, pinning.PolicyNone, pinning.PolicyRegister, pinning.PolicyRing,
		pinning.PolicyRegisterOnce, pinning.PolicyPool} {
		for _, place := range []groth16.Place{groth16.PlaceDevice, groth16.PlaceHost} {
			got, err := sumsOnce(ctx, d, sys, key, a, groth16.Config{Pinning: pinning.Config{Policy: policy}, Evaluate: place})
			require.NoError(t, err, "%v %v", policy, place)
			require.True(t, got.H.Equal(&want.H) && got.L.Equal(&want.L) && got.A.Equal(&want.A) && got.B1.Equal(&want.B1) &&
				got.B2.Equal(&want.B2), "%v %v", policy, place)
		}
	}
	for _, ring := range []pinning.Config{{RingChunks: 1, ChunkBytes: 100}, {RingChunks: 3, ChunkBytes: 4096}, {RingChunks: 5}} {
		got, err := sumsOnce(ctx, d, sys, key, a, groth16.Config{Pinning: ring})
		require.NoError(t, err, "%v", ring)
		require.True(t, got.H.Equal(&want.H) && got.L.Equal(&want.L) && got.B2.Equal(&want.B2), "%v", ring)
	}
	_, err = d.Bind(ctx, sys, key, groth16.Config{Pinning: pinning.Config{RingChunks: 2000}})
	require.ErrorIs(t, err, groth16.ErrUnavailable)
}

// TestBudget makes the key too large for the device: it is streamed, or refused where the caller insists.
func TestBudget(t *testing.T) {
	const budget = 192 << 20
	d, _ := testDevice(t, Options{MemoryBudget: budget})
	ctx := context.Background()
	c := groth16test.Circuit{Seed: 7, Values: 8, Inputs: 1, Bits: 300, Fields: 30, Products: 20, Rows: 500}
	sys, err := synth.Compile(ctx, c)
	require.NoError(t, err)
	trap := groth16.DevTrapdoor("gpu budget")
	key, err := groth16.Setup(ctx, sys, groth16.SetupOptions{Trapdoor: trap})
	require.NoError(t, err)
	defer func() { require.NoError(t, key.Close()) }()
	a, err := synth.AssignWitness(ctx, c, sys, synth.AssignConfig{})
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	want, err := groth16test.Expected(ctx, sys, a, trap)
	require.NoError(t, err)
	d.ResetPeak()
	got, err := sumsOnce(ctx, d, sys, key, a, groth16.Config{})
	require.NoError(t, err)
	require.True(t, got.H.Equal(&want.H) && got.B2.Equal(&want.B2))
	require.LessOrEqual(t, d.Held().DevicePeak, int64(budget))

	tiny, err := openOn(d.lib, Options{MemoryBudget: 1 << 20})
	require.NoError(t, err)
	defer func() { require.NoError(t, tiny.Close()) }()
	var oom *OutOfDeviceMemoryError
	_, err = tiny.Bind(ctx, sys, key, groth16.Config{})
	require.ErrorAs(t, err, &oom)
	require.ErrorIs(t, err, ErrOutOfDeviceMemory)
	require.Greater(t, oom.Need, oom.Have)
}
