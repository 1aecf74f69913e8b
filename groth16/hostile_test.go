package groth16_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
)

// hostile is a backend that panics where it is told to, or lies about what it holds and computed.
type hostile struct {
	groth16.Backend
	panics  string
	figures int64
	per     int
	bend    func(*groth16.Sums)
	none    bool
	closed  int
}

func (h *hostile) at(call string) {
	if h.panics == call {
		panic("kaboom in " + call)
	}
}

func (h *hostile) String() string { h.at("String"); return "hostile" }

func (h *hostile) Bind(ctx context.Context, s *synth.System, k *groth16.ProvingKey, c groth16.Config) (groth16.Session, error) {
	h.at("Bind")
	if h.none {
		return nil, nil
	}
	in, err := h.Backend.Bind(ctx, s, k, c)
	return &hostileSession{in, h}, err
}

type hostileSession struct {
	groth16.Session
	h *hostile
}

func (s *hostileSession) bytes() pinning.Footprint {
	return pinning.Footprint{Host: s.h.figures, Pinned: s.h.figures, Device: s.h.figures}
}
func (s *hostileSession) Footprint(int) pinning.Footprint { s.h.at("Footprint"); return s.bytes() }
func (s *hostileSession) Held() pinning.Footprint         { s.h.at("Held"); return s.bytes() }
func (s *hostileSession) DeviceBytes() int64              { s.h.at("DeviceBytes"); return s.h.figures }
func (s *hostileSession) CircuitsPerCall() int            { s.h.at("CircuitsPerCall"); return s.h.per }
func (s *hostileSession) Close() error {
	s.h.closed++
	err := s.Session.Close()
	s.h.at("Close")
	return err
}

func (s *hostileSession) Sums(ctx context.Context, as []*synth.Assignment) ([]groth16.Sums, error) {
	s.h.at("Sums")
	out, err := s.Session.Sums(ctx, as)
	if err == nil && s.h.bend != nil {
		s.h.bend(&out[len(out)-1])
	}
	return out, err
}

// Wherever a backend panics, the process lives, the caller hears of it or of nothing that matters, and session and key go.
func TestBackendPanicsAnywhere(t *testing.T) {
	settled(t)
	f := load(t, "cubic", true)
	ctx := context.Background()
	for _, call := range []string{"String", "Bind", "CircuitsPerCall", "Footprint", "Held", "DeviceBytes", "Sums", "Close", "none"} {
		h := &hostile{Backend: cpuBackend(t), panics: call, per: 2, none: call == "none"}
		p, err := groth16.NewProver(ctx, h, f.sys, f.key, groth16.Config{})
		switch call {
		case "String", "Bind", "CircuitsPerCall", "none":
			require.ErrorIs(t, err, groth16.ErrBackend, call)
			require.Equal(t, call == "CircuitsPerCall", h.closed == 1, "a session that there was is closed")
			continue
		}
		require.NoError(t, err, call)
		_, rep, err := p.Prove(ctx, f.asg)
		if call == "Sums" {
			require.ErrorIs(t, err, groth16.ErrBackend)
			require.ErrorContains(t, err, "kaboom")
		} else {
			require.NoError(t, err, call)
			require.Zero(t, rep.DeviceBytes)
		}
		require.Zero(t, p.(interface{ Held() pinning.Footprint }).Held())
		require.Zero(t, p.(interface{ Footprint(int) pinning.Footprint }).Footprint(1))
		err = p.Close()
		if call == "Close" {
			require.ErrorIs(t, err, groth16.ErrBackend)
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, 1, h.closed)
		require.ErrorIs(t, p.Close(), groth16.ErrClosed)
	}
	require.ErrorIs(t, f.key.Release(), groth16.ErrClosed, "nobody retains the key")
}

// Sizes that cannot be are neither added up nor waited for.
func TestBackendFiguresAreBounded(t *testing.T) {
	f := load(t, "cubic", true)
	for _, n := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		per := int(n)
		p, err := groth16.NewProver(context.Background(), &hostile{Backend: cpuBackend(t), figures: n, per: per}, f.sys, f.key, groth16.Config{})
		require.NoError(t, err)
		for _, fp := range []pinning.Footprint{p.(interface{ Held() pinning.Footprint }).Held(), p.(interface{ Footprint(int) pinning.Footprint }).Footprint(3)} {
			require.GreaterOrEqual(t, fp.Host, int64(0))
			require.Equal(t, max(0, n) > 0, fp.Host > 0)
			require.Positive(t, fp.Host+fp.Host+1, "two of them can be added")
		}
		c := p.(interface{ CircuitsPerCall() int }).CircuitsPerCall()
		require.GreaterOrEqual(t, c, 1)
		require.LessOrEqual(t, c, 1<<16)
		require.NoError(t, p.Close())
	}
}

// Whatever points a backend gives, of the curve, beside it, of another subgroup or none at all: no proof that a verifier would refuse
// leaves the prover, and nothing panics.
func TestBackendGivesOddPoints(t *testing.T) {
	f := load(t, "cubic", true)
	g1, g2, _, _ := bls12381.Generators()
	var three bls12381.G1Affine // of order 3, outside the subgroup
	three.Y.SetUint64(2)
	var small bls12381.G2Affine // x = 2: on the curve, outside the subgroup
	raw := make([]byte, 96)
	raw[0], raw[95] = 0xa0, 2
	_ = small.Unmarshal(raw) // refuses the subgroup, having set the point
	require.True(t, small.IsOnCurve() && !small.IsInSubGroup())
	bends := map[string]func(*groth16.Sums){
		"nothing":    func(s *groth16.Sums) { *s = groth16.Sums{} },
		"A infinite": func(s *groth16.Sums) { s.A = bls12381.G1Jac{} },
		"A off the curve": func(s *groth16.Sums) {
			s.A.X.SetUint64(1)
			s.A.Y.SetUint64(1)
			s.A.Z.SetOne()
		},
		"B2 off the curve": func(s *groth16.Sums) { s.B2.X.A0.SetUint64(5) },
		"H off the curve":  func(s *groth16.Sums) { s.H.Y.SetUint64(77) },
		"A torsion":        func(s *groth16.Sums) { s.A.AddMixed(&three) },
		"L torsion":        func(s *groth16.Sums) { s.L.AddMixed(&three) },
		"B1 torsion":       func(s *groth16.Sums) { s.B1.AddMixed(&three) },
		"B2 torsion":       func(s *groth16.Sums) { s.B2.AddMixed(&small) },
		"B1 other":         func(s *groth16.Sums) { s.B1.AddAssign(&g1) },
		"B2 other":         func(s *groth16.Sums) { s.B2.AddAssign(&g2) },
		"negated":          func(s *groth16.Sums) { s.A.Neg(&s.A) },
	}
	for name, bend := range bends {
		p, err := groth16.NewProver(context.Background(), &hostile{Backend: cpuBackend(t), bend: bend}, f.sys, f.key, groth16.Config{})
		require.NoError(t, err)
		for i := range 3 { // blinding moves what torsion does
			proof, _, err := p.Prove(context.Background(), f.asg)
			if err == nil && name == "B1 torsion" { // gone where the blinding is a multiple of three
				require.True(t, proof.A.IsInSubGroup() && proof.B.IsInSubGroup() && proof.C.IsInSubGroup(), "%s, %d: a point of another group", name, i)
				continue
			}
			require.ErrorIs(t, err, groth16.ErrSelfCheck, name)
		}
		require.NoError(t, p.Close())
	}
}

// stormy fails every call in a way of its own and counts.
type stormy struct {
	groth16.Backend
	calls, circuits int
	err             error
}

type stormySession struct {
	groth16.Session
	s *stormy
}

func (b *stormy) Bind(ctx context.Context, s *synth.System, k *groth16.ProvingKey, c groth16.Config) (groth16.Session, error) {
	in, err := b.Backend.Bind(ctx, s, k, c)
	return &stormySession{in, b}, err
}

func (s *stormySession) Sums(_ context.Context, as []*synth.Assignment) ([]groth16.Sums, error) {
	s.s.calls++
	s.s.circuits += len(as)
	return nil, s.s.err
}

// A backend that always fails is called at most twice a circuit, and each circuit enters log2 calls.
func TestFailedCallsAreBounded(t *testing.T) {
	f := load(t, "cubic", true)
	for _, n := range []int{1, 2, 7, 64, 100} {
		b := &stormy{Backend: cpuBackend(t), err: errors.New("no")}
		p, err := groth16.NewProver(context.Background(), b, f.sys, f.key, groth16.Config{CircuitsPerCall: n})
		require.NoError(t, err)
		as := make([]*synth.Assignment, n)
		for i := range as {
			as[i] = f.asg
		}
		rs, err := p.ProveBatch(context.Background(), as)
		require.NoError(t, err)
		for i, r := range rs {
			require.Error(t, r.Err, fmt.Sprint(i))
			require.Nil(t, r.Proof)
		}
		require.Equal(t, 2*n-1, b.calls)
		require.LessOrEqual(t, b.circuits, n*(2+int(math.Log2(float64(n)))))
		require.NoError(t, p.Close())
	}
}
