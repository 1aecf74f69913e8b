package gnarkcs_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark/constraint"
	cs "github.com/consensys/gnark/constraint/bls12-381"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gnarkcs"
)

// roots are the values of v with (l0+l1·v)(r0+r1·v) = o0+o1·v; all says that every value is one.
func roots(l, r, o [2]fr.Element) (v []fr.Element, all bool) {
	var a, b, c, x, d fr.Element
	a.Mul(&l[1], &r[1])
	b.Mul(&l[0], &r[1])
	b.Add(&b, x.Mul(&l[1], &r[0])).Sub(&b, &o[1])
	c.Mul(&l[0], &r[0]).Sub(&c, &o[0])
	switch {
	case a.IsZero() && b.IsZero():
		return nil, c.IsZero()
	case a.IsZero():
		x.Div(&c, &b)
		return []fr.Element{*x.Neg(&x)}, false
	}
	d.Square(&b)
	four := fr.NewElement(4)
	d.Sub(&d, x.Mul(&a, &c).Mul(&x, &four))
	if x.Sqrt(&d) == nil {
		return nil, false
	}
	a.Double(&a)
	for range 2 {
		var y fr.Element
		y.Sub(&x, &b).Div(&y, &a)
		v = append(v, y)
		x.Neg(&x)
	}
	return v, false
}

// TestPackingAgainstRoots: rows of small random coefficients over one wire and up to five bits; the wire is packed exactly
// where solving the row for it, bits by bits, gives nothing but 0 and 1.
func TestPackingAgainstRoots(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	packed := 0
	for range 3000 {
		others := rng.IntN(6)
		r := cs.NewR1CS(8)
		r.AddPublicVariable("1")
		v := uint32(r.AddSecretVariable("v"))
		id := r.AddBlueprint(&constraint.BlueprintGenericR1C{})
		coeff := func(k int64) uint32 { return r.AddCoeff(r.FromInterface(big.NewInt(k))) }
		// small numbers, so that 0 and 1 come up; k[side] are those of 1, v and the bits
		var k [3][]int64
		var e [3]constraint.LinearExpression
		for side := range k {
			k[side] = make([]int64, 2+others)
			for w := range k[side] {
				if side == 1 && w > 1 || rng.IntN(2) == 0 {
					continue // bits on one side of the product at most, or nearly nothing is packed
				}
				k[side][w] = int64(rng.IntN(3)) - 1
				if k[side][w] != 0 {
					e[side] = append(e[side], constraint.Term{CID: coeff(k[side][w]), VID: uint32(w)})
				}
			}
		}
		r.AddR1C(constraint.R1C{L: e[0], R: e[1], O: e[2]}, id)
		for i := range others {
			w := uint32(r.AddSecretVariable("b"))
			require.Equal(t, v+1+uint32(i), w)
			r.AddR1C(constraint.R1C{L: constraint.LinearExpression{{CID: coeff(1), VID: w}}, R: constraint.LinearExpression{{CID: coeff(1), VID: w}},
				O: constraint.LinearExpression{{CID: coeff(1), VID: w}}}, id)
		}
		inRow := 0
		for w := 2; w < 2+others; w++ {
			if k[0][w] != 0 || k[1][w] != 0 || k[2][w] != 0 {
				inRow++
			}
		}
		used := k[0][1] != 0 || k[1][1] != 0 || k[2][1] != 0
		want, rootless := used && inRow <= 4, false
		for mask := range 1 << others {
			var lin [3][2]fr.Element
			for side := range lin {
				sum := k[side][0]
				for i := range others {
					sum += k[side][2+i] * int64(mask>>i&1)
				}
				lin[side][0].SetInt64(sum)
				lin[side][1].SetInt64(k[side][1])
			}
			vs, all := roots(lin[0], lin[1], lin[2])
			want = want && !all
			rootless = rootless || len(vs) == 0 && !all && k[0][1] != 0 && k[1][1] != 0
			for i := range vs {
				want = want && (vs[i].IsZero() || vs[i].IsOne())
			}
			if all {
				break
			}
		}
		c, err := gnarkcs.Compile(t.Context(), r, gnarkcs.Config{})
		require.NoError(t, err)
		got := false
		for i := range c.System().Aux() {
			if c.Wire(synth.AuxVar(i)) == int(v) {
				got = c.System().Bits()[0]>>i&1 == 1
			}
		}
		if want && !got {
			require.True(t, rootless, "%v", k) // a square without a root, which nothing satisfies, is not looked for
			continue
		}
		require.Equal(t, want, got, "%v", k)
		if got {
			packed++
		}
	}
	require.Greater(t, packed, 200)
}
