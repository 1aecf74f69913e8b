package groth16_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
)

// faulty wraps the engines of the host: at call number at it does what kind says.
type faulty struct {
	m    msm.Engine
	n    ntt.Engine
	at   int64
	kind string // "error", "wrong", "panic", "cancel"
	call atomic.Int64
	stop context.CancelFunc
}

var errFault = errors.New("the device fell off the bus")

// hit says whether this call is the faulty one, and its error.
func (f *faulty) hit() (bool, error) {
	if f.call.Add(1)-1 != f.at {
		return false, nil
	}
	switch f.kind {
	case "error":
		return true, errFault
	case "panic":
		panic("device state")
	case "cancel":
		f.stop()
		return true, context.Canceled
	}
	return true, nil
}

func (f *faulty) G1(ctx context.Context, p []bls12381.G1Affine, k msm.Scalars, c msm.Config) (bls12381.G1Jac, error) {
	hit, err := f.hit()
	if err != nil {
		return bls12381.G1Jac{}, err
	}
	r, err := f.m.G1(ctx, p, k, c)
	if hit {
		g, _, _, _ := bls12381.Generators()
		r.AddAssign(&g)
	}
	return r, err
}

func (f *faulty) G2(ctx context.Context, p []bls12381.G2Affine, k msm.Scalars, c msm.Config) (bls12381.G2Jac, error) {
	hit, err := f.hit()
	if err != nil {
		return bls12381.G2Jac{}, err
	}
	r, err := f.m.G2(ctx, p, k, c)
	if hit {
		_, g, _, _ := bls12381.Generators()
		r.AddAssign(&g)
	}
	return r, err
}

func (f *faulty) Transform(ctx context.Context, d ntt.Domain, v []fr.Element, dir ntt.Direction, coset ntt.Coset) error {
	return f.n.Transform(ctx, d, v, dir, coset)
}

func (f *faulty) Quotient(ctx context.Context, d ntt.Domain, a, b, c []fr.Element) error {
	hit, err := f.hit()
	if err != nil {
		return err
	}
	err = f.n.Quotient(ctx, d, a, b, c)
	if hit {
		a[1].Double(&a[1])
	}
	return err
}

// Whatever call of an engine fails, goes wrong or panics: the result is an error and never a proof that does not verify,
// and all memory comes back. The others of a batch still get their proofs.
func TestFaultyEngines(t *testing.T) {
	settled(t)
	f := load(t, "mimc", true)
	m, err := msm.NewCPU(msm.Config{})
	require.NoError(t, err)
	n, err := ntt.NewCPU(ntt.Config{})
	require.NoError(t, err)
	for _, kind := range []string{"error", "wrong", "panic", "cancel"} {
		for _, place := range []groth16.Place{groth16.PlaceSequential, groth16.PlaceParallel} {
			for at := int64(0); ; at++ {
				ctx, stop := context.WithCancel(context.Background())
				e := &faulty{m: m, n: n, at: at, kind: kind, stop: stop}
				p, err := groth16.NewProver(ctx, groth16.Compose(e, e), f.sys, f.key, groth16.Config{B2: groth16.B2Config{Place: place}})
				require.NoError(t, err)
				before := pinning.LiveBytes()
				out, err := p.ProveBatch(ctx, []*synth.Assignment{f.asg, f.asg})
				require.Equal(t, before, pinning.LiveBytes(), "%s at %d", kind, at)
				require.NoError(t, p.Close())
				stop()
				if e.call.Load() <= at { // all calls were good
					require.NoError(t, err)
					require.NoError(t, out[0].Err)
					require.NoError(t, out[1].Err)
					require.EqualValues(t, 12, e.call.Load())
					break
				}
				if kind == "cancel" {
					require.ErrorIs(t, err, context.Canceled)
					require.Nil(t, out)
					continue
				}
				require.NoError(t, err)
				want := map[string]error{"error": errFault, "wrong": groth16.ErrSelfCheck, "panic": groth16.ErrBackend}[kind]
				bad := 0
				for i := range out {
					if out[i].Err != nil {
						bad++
						require.ErrorIs(t, out[i].Err, want)
						require.Nil(t, out[i].Proof)
						continue
					}
					ok, err := groth16.Verify(f.key.VerifyingKey(), f.asg.Public(), out[i].Proof)
					require.NoError(t, err)
					require.True(t, ok)
				}
				require.Equal(t, 1, bad, "%s at %d", kind, at)
			}
		}
	}
}

// shortBackend gives fewer sums than it was asked for.
type shortBackend struct{ groth16.Backend }

type shortSession struct{ groth16.Session }

func (b shortBackend) Bind(ctx context.Context, s *synth.System, k *groth16.ProvingKey, c groth16.Config) (groth16.Session, error) {
	sess, err := b.Backend.Bind(ctx, s, k, c)
	return shortSession{sess}, err
}

func (s shortSession) Sums(ctx context.Context, as []*synth.Assignment) ([]groth16.Sums, error) {
	out, err := s.Session.Sums(ctx, as)
	return out[:0], err
}

func TestShortBackend(t *testing.T) {
	settled(t)
	f := load(t, "cubic", true)
	p, err := groth16.NewProver(context.Background(), shortBackend{cpuBackend(t)}, f.sys, f.key, groth16.Config{})
	require.NoError(t, err)
	defer p.Close()
	_, _, err = p.Prove(context.Background(), f.asg)
	require.ErrorIs(t, err, groth16.ErrBackend)
}

// Without the self-check a wrong sum is not found: the option does what it says, and the report tells.
func TestSkipSelfCheck(t *testing.T) {
	f := load(t, "cubic", true)
	m, err := msm.NewCPU(msm.Config{})
	require.NoError(t, err)
	n, err := ntt.NewCPU(ntt.Config{})
	require.NoError(t, err)
	e := &faulty{m: m, n: n, at: 1, kind: "wrong"}
	p, err := groth16.NewProver(context.Background(), groth16.Compose(e, e), f.sys, f.key, groth16.Config{SkipSelfCheck: true})
	require.NoError(t, err)
	defer p.Close()
	proof, rep, err := p.Prove(context.Background(), f.asg)
	require.NoError(t, err)
	require.False(t, rep.Verified)
	ok, err := groth16.Verify(f.key.VerifyingKey(), f.asg.Public(), proof)
	require.NoError(t, err)
	require.False(t, ok)
}
