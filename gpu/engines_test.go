package gpu

import (
	"context"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/msm/msmtest"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/ntt/ntttest"
	"github.com/stretchr/testify/require"
)

func TestNTT(t *testing.T) {
	d, real := testDevice(t, Options{})
	o := ntttest.Options{MaxLog: 10, NaiveLog: 5}
	if real {
		o = ntttest.Options{MaxLog: 16, NaiveLog: 9}
	}
	ntttest.Run(t, func() ntt.Engine { return d }, o)
}

// TestMSM runs the whole suite on a GPU. The emulated device takes a second a sum, so there it compares with the CPU engine
// what the suite is about in a few: all sizes of edges, equal and opposite points, infinities, special scalars, bits with tails.
func TestMSM(t *testing.T) {
	d, real := testDevice(t, Options{})
	if real {
		msmtest.Run(t, func() msm.Engine { return d }, msmtest.Options{})
		return
	}
	cpu, err := msm.NewCPU(msm.Config{})
	require.NoError(t, err)
	ctx := context.Background()
	_, _, g1, g2 := bls12381.Generators()
	for _, n := range []int{0, 1, 3, 70} {
		k := make([]fr.Element, n)
		for i := range k {
			switch i % 5 {
			case 0:
				k[i].SetInt64(-1)
			case 1:
				k[i].SetOne()
			case 2: // zero
			default:
				_, err := k[i].SetRandom()
				require.NoError(t, err)
			}
		}
		p, q := bls12381.BatchScalarMultiplicationG1(&g1, k), bls12381.BatchScalarMultiplicationG2(&g2, k) // infinities, opposites
		for _, s := range []msm.Scalars{{Dense: k}, tailed(k)} {
			want1, err := cpu.G1(ctx, p, s, msm.Config{})
			require.NoError(t, err)
			got1, err := d.G1(ctx, p, s, msm.Config{})
			require.NoError(t, err)
			require.True(t, want1.Equal(&got1), "G1, %d points", n)
			want2, err := cpu.G2(ctx, q, s, msm.Config{})
			require.NoError(t, err)
			got2, err := d.G2(ctx, q, s, msm.Config{})
			require.NoError(t, err)
			require.True(t, want2.Equal(&got2), "G2, %d points", n)
		}
	}
}

// tailed takes every second scalar of k as a bit, the others as the tail.
func tailed(k []fr.Element) msm.Scalars {
	s := msm.Scalars{Bits: make([]uint64, (len(k)+63)/64)}
	for i := range k {
		if i%2 == 0 {
			s.Bits[i>>6] |= 1 << (i & 63)
			continue
		}
		s.Tail = append(s.Tail, k[i])
		s.TailAt = append(s.TailAt, uint32(i))
	}
	return s
}
