package faulty_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/faulty"
	"github.com/filgroth/filgroth/groth16/groth16test"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/msm/msmtest"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/ntt/ntttest"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

func cpuMSM(t testing.TB, faults ...faulty.Fault) *faulty.MSM {
	m, err := msm.NewCPU(msm.Config{})
	require.NoError(t, err)
	e, err := faulty.NewMSM(m, faults...)
	require.NoError(t, err)
	return e
}

func cpuNTT(t testing.TB, faults ...faulty.Fault) *faulty.NTT {
	n, err := ntt.NewCPU(ntt.Config{})
	require.NoError(t, err)
	e, err := faulty.NewNTT(n, faults...)
	require.NoError(t, err)
	return e
}

func backend(t testing.TB, faults ...faulty.Fault) *faulty.Backend {
	b, err := faulty.NewBackend(groth16.Compose(cpuMSM(t), cpuNTT(t)), faults...)
	require.NoError(t, err)
	return b
}

// TestConformance: without faults it is a backend like any other.
func TestConformance(t *testing.T) {
	t.Run("backend", func(t *testing.T) { groth16test.Run(t, backend(t), groth16test.Options{}) })
	t.Run("msm", func(t *testing.T) {
		msmtest.Run(t, func() msm.Engine { return cpuMSM(t) }, msmtest.Options{Large: 2000, Random: 4, Windows: []int{4, 9}})
	})
	t.Run("ntt", func(t *testing.T) {
		ntttest.Run(t, func() ntt.Engine { return cpuNTT(t) }, ntttest.Options{MaxLog: 9, NaiveLog: 5})
	})
}

// fixture is a circuit with a key and an assignment.
func fixture(t *testing.T) (*synth.System, *groth16.ProvingKey, *synth.Assignment) {
	c := groth16test.Circuit{Seed: 3, Values: 4, Inputs: 2, Bits: 20, Fields: 5, Products: 5, Rows: 40}
	sys, err := synth.Compile(t.Context(), c)
	require.NoError(t, err)
	k, err := groth16.Setup(t.Context(), sys, groth16.SetupOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.Close()) })
	a, err := synth.AssignWitness(t.Context(), c, sys, synth.AssignConfig{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return sys, k, a
}

// TestFaults: each fault shows as it should at the call that it is for, and at no other one.
func TestFaults(t *testing.T) {
	sys, k, a := fixture(t)
	lost := errors.New("the device is lost")
	for _, x := range []struct {
		fault faulty.Fault
		want  error
	}{
		{faulty.Fault{Op: faulty.Sums, Kind: faulty.Fail, Call: 2, Err: lost}, lost},
		{faulty.Fault{Op: faulty.Sums, Kind: faulty.Fail, Call: 2}, faulty.ErrInjected},
		{faulty.Fault{Op: faulty.Sums, Kind: faulty.Wrong, Call: 2}, groth16.ErrSelfCheck},
		{faulty.Fault{Op: faulty.Sums, Kind: faulty.Panic, Call: 2}, groth16.ErrBackend},
		{faulty.Fault{Op: faulty.Sums, Kind: faulty.Slow, Call: 2, Delay: time.Hour}, context.DeadlineExceeded},
	} {
		b := backend(t, x.fault)
		p, err := groth16.NewProver(t.Context(), b, sys, k, groth16.Config{})
		require.NoError(t, err)
		for call := 1; call <= 3; call++ {
			ctx, cancel := t.Context(), func() {}
			if x.fault.Kind == faulty.Slow && call == 2 {
				ctx, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
			}
			_, rep, err := p.Prove(ctx, a)
			cancel()
			if call == 2 {
				require.ErrorIs(t, err, x.want, x.fault)
				var sc *groth16.SelfCheckError
				if errors.As(err, &sc) {
					require.NoError(t, sc.Cause, "the witness is good: the backend is to blame")
				}
				continue
			}
			require.NoError(t, err)
			require.Contains(t, rep.Backend, "faulty")
		}
		require.Equal(t, 3, b.Calls(faulty.Sums))
		require.Equal(t, 1, b.Calls(faulty.Bind))
		require.Equal(t, 1, b.Injected())
		require.NoError(t, p.Close())
	}
}

// picky is a session that fails whenever a certain assignment is among those it is given, and likes many at a time.
type picky struct {
	groth16.Backend
	bad   *synth.Assignment
	calls []int
}

type pickySession struct {
	groth16.Session
	b *picky
}

func (b *picky) Bind(ctx context.Context, s *synth.System, k *groth16.ProvingKey, c groth16.Config) (groth16.Session, error) {
	in, err := b.Backend.Bind(ctx, s, k, c)
	return &pickySession{in, b}, err
}

func (s *pickySession) Held() pinning.Footprint { return pinning.Footprint{Host: 7} }
func (s *pickySession) DeviceBytes() int64      { return 9 }
func (s *pickySession) Sums(ctx context.Context, as []*synth.Assignment) ([]groth16.Sums, error) {
	s.b.calls = append(s.b.calls, len(as))
	if slices.Contains(as, s.b.bad) {
		return nil, errors.New("not this one")
	}
	return s.Session.Sums(ctx, as)
}

// TestSharedCall: a call of many circuits that fails is tried in halves, and what failed is in the reports: a passing fault
// costs two more calls, one bad circuit its own proof only.
func TestSharedCall(t *testing.T) {
	sys, k, a := fixture(t)
	as := make([]*synth.Assignment, 8)
	for i := range as {
		b := *a
		as[i] = &b
	}
	inner := &picky{Backend: backend(t)}
	b, err := faulty.NewBackend(inner, faulty.Fault{Op: faulty.Sums, Kind: faulty.Fail, Call: 1})
	require.NoError(t, err)
	p, err := groth16.NewProver(t.Context(), b, sys, k, groth16.Config{CircuitsPerCall: 8})
	require.NoError(t, err)
	rs, err := p.ProveBatch(t.Context(), as)
	require.NoError(t, err)
	require.Equal(t, []int{4, 4}, inner.calls)
	for _, r := range rs {
		require.NoError(t, r.Err)
		require.Len(t, r.Report.Failed, 1)
		require.ErrorIs(t, r.Report.Failed[0], faulty.ErrInjected)
		require.Equal(t, 4, r.Report.Circuits)
		require.Equal(t, int64(9), r.Report.DeviceBytes)
	}
	require.Equal(t, int64(7), p.(interface{ Held() pinning.Footprint }).Held().Host)

	inner.bad, inner.calls = as[5], nil
	rs, err = p.ProveBatch(t.Context(), as)
	require.NoError(t, err)
	require.Equal(t, []int{8, 4, 4, 2, 1, 1, 2}, inner.calls)
	for i, r := range rs {
		if i == 5 {
			require.EqualError(t, r.Err, "not this one")
			continue
		}
		require.NoError(t, r.Err)
		require.Len(t, r.Report.Failed, []int{1, 1, 1, 1, 3, 0, 2, 2}[i])
	}
	inner.bad = nil
	rs, err = p.ProveBatch(t.Context(), as)
	require.NoError(t, err)
	for _, r := range rs {
		require.Empty(t, r.Report.Failed)
	}
	require.NoError(t, p.Close())
}

// TestEngineFaults: a wrong engine inside of the CPU backend is found whatever it is asked for.
func TestEngineFaults(t *testing.T) {
	sys, k, a := fixture(t)
	injected := 0
	for op, want := range map[faulty.Op]int{faulty.G1: 4, faulty.G2: 1, faulty.Quotient: 1} {
		for call := 1; call <= want; call++ {
			for _, kind := range []faulty.Kind{faulty.Wrong, faulty.Fail} {
				f := faulty.Fault{Op: op, Kind: kind, Call: call}
				m, n := cpuMSM(t, f), cpuNTT(t, f)
				p, err := groth16.NewProver(t.Context(), groth16.Compose(m, n), sys, k, groth16.Config{})
				require.NoError(t, err)
				_, _, err = p.Prove(t.Context(), a)
				if kind == faulty.Wrong {
					require.ErrorIs(t, err, groth16.ErrSelfCheck, f)
				} else {
					var e *faulty.InjectedError
					require.ErrorAs(t, err, &e, f)
					require.Equal(t, op, e.Op)
					require.Equal(t, call, e.Call)
				}
				_, _, err = p.Prove(t.Context(), a)
				require.NoError(t, err, "the next call is good")
				injected += m.Injected() + n.Injected()
				require.NoError(t, p.Close())
			}
		}
	}
	require.Equal(t, 12, injected)
}

// TestBindFault: and every call.
func TestBindFault(t *testing.T) {
	sys, k, a := fixture(t)
	b := backend(t, faulty.Fault{Op: faulty.Bind, Kind: faulty.Fail})
	for range 2 {
		_, err := groth16.NewProver(t.Context(), b, sys, k, groth16.Config{})
		require.ErrorIs(t, err, faulty.ErrInjected)
	}
	require.NoError(t, b.SetFaults())
	p, err := groth16.NewProver(t.Context(), b, sys, k, groth16.Config{})
	require.NoError(t, err)
	_, _, err = p.Prove(t.Context(), a)
	require.NoError(t, err)
	require.NoError(t, p.Close())
	require.Equal(t, 3, b.Calls(faulty.Bind))
	require.Equal(t, 0, b.Calls(99))
}

// TestTransform: the engine's other call.
func TestTransform(t *testing.T) {
	d, err := ntt.NewDomain(8)
	require.NoError(t, err)
	v := ntttest.Vector("random", 8, 1)
	w := append(v[:0:0], v...)
	n := cpuNTT(t, faulty.Fault{Op: faulty.Transform, Kind: faulty.Wrong, Call: 1}, faulty.Fault{Op: faulty.Transform, Kind: faulty.Slow, Call: 2, Delay: time.Millisecond})
	require.NoError(t, n.Transform(t.Context(), d, v, ntt.Forward, ntt.Plain))
	require.NoError(t, n.Transform(t.Context(), d, w, ntt.Forward, ntt.Plain))
	require.NotEqual(t, w[0], v[0])
	require.Equal(t, w[1:], v[1:])
}

func TestValidate(t *testing.T) {
	for _, f := range []faulty.Fault{
		{Op: 99}, {Kind: 99}, {Call: -1}, {Kind: faulty.Slow, Delay: -1}, {Op: faulty.Bind, Kind: faulty.Wrong},
		{Op: faulty.Sums, Kind: faulty.Slow}, {Op: faulty.Sums, Kind: faulty.Fail, Delay: 1},
	} {
		_, err := faulty.NewMSM(cpuMSM(t), f)
		require.ErrorIs(t, err, faulty.ErrConfig, f.String())
	}
	_, err := faulty.NewBackend(nil)
	require.ErrorIs(t, err, faulty.ErrConfig)
	_, err = faulty.NewMSM(nil)
	require.ErrorIs(t, err, faulty.ErrConfig)
	_, err = faulty.NewNTT(nil)
	require.ErrorIs(t, err, faulty.ErrConfig)
	require.Equal(t, "sums:slow:3:1s", faulty.Fault{Op: faulty.Sums, Kind: faulty.Slow, Call: 3, Delay: time.Second}.String())
}
