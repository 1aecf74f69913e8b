package groth16_test

import (
	"context"
	"sync"
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

// gauge notes the most memory that is allocated whenever an engine is called.
type gauge struct {
	faulty
	mu   sync.Mutex
	most int64
}

func (g *gauge) look() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.most = max(g.most, pinning.LiveBytes())
}

func (g *gauge) G1(ctx context.Context, p []bls12381.G1Affine, k msm.Scalars, c msm.Config) (bls12381.G1Jac, error) {
	g.look()
	return g.faulty.G1(ctx, p, k, c)
}

func (g *gauge) G2(ctx context.Context, p []bls12381.G2Affine, k msm.Scalars, c msm.Config) (bls12381.G2Jac, error) {
	g.look()
	return g.faulty.G2(ctx, p, k, c)
}

func (g *gauge) Quotient(ctx context.Context, d ntt.Domain, a, b, c []fr.Element) error {
	g.look()
	return g.faulty.Quotient(ctx, d, a, b, c)
}

// Footprint is not exceeded, and not far from what is used.
func TestFootprint(t *testing.T) {
	settled(t)
	f := load(t, "mimc", true)
	m, err := msm.NewCPU(msm.Config{})
	require.NoError(t, err)
	n, err := ntt.NewCPU(ntt.Config{})
	require.NoError(t, err)
	for _, r := range []groth16.Residence{groth16.ResidenceResident, groth16.ResidenceStreamed} {
		for _, place := range []groth16.Place{groth16.PlaceSequential, groth16.PlaceParallel} {
			for circuits := 1; circuits <= 4; circuits++ {
				g := &gauge{faulty: faulty{m: m, n: n, at: -1}}
				sess, err := groth16.Compose(g, g).Bind(context.Background(), f.sys, f.key, groth16.Config{
					Key: groth16.KeyConfig{Residence: r, ChunkPoints: 256}, B2: groth16.B2Config{Place: place}})
				require.NoError(t, err)
				before := pinning.LiveBytes()
				as := make([]*synth.Assignment, circuits)
				for i := range as {
					as[i] = f.asg
				}
				_, err = sess.Sums(context.Background(), as)
				require.NoError(t, err)
				used, said := g.most-before, sess.Footprint(circuits).Host
				require.LessOrEqual(t, used, said, "%v, %v, %d circuits", r, place, circuits)
				require.Greater(t, 2*used, said, "%v, %v, %d circuits", r, place, circuits)
				require.NoError(t, sess.Close())
			}
		}
	}
}
