package synth

import (
	"context"
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// Rows of many terms of every kind (bits and field elements, with coefficients 1, -1, small, large), in every number around the limit
// of an inner product, evaluate to the sum of their terms.
func TestLongRows(t *testing.T) {
	ctx := context.Background()
	for _, n := range []int{1, 2, 71, 72, 73, 144, 145, 300} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var want [3]fr.Element
			circuit := funcCircuit(func(b *Builder) error {
				want = [3]fr.Element{}
				var vars []Var
				var vals []fr.Element
				for i := 0; i < n; i++ {
					var v fr.Element
					if i%3 == 0 {
						v.SetUint64(uint64(i % 2))
						vars = append(vars, b.AllocBit(i%2 == 1))
					} else {
						v.SetInt64(int64(-i)) // close to the modulus
						vars = append(vars, b.Alloc(v))
					}
					vals = append(vals, v)
				}
				if !b.WantRows() {
					return nil
				}
				for k := range want {
					l := b.LC()
					for i, x := range vars {
						var c fr.Element
						switch (i + k) % 4 {
						case 0:
							c.SetOne()
						case 1:
							c.SetInt64(-1)
						case 2:
							c.SetInt64(int64(i) - 40)
						default:
							c.SetInt64(-int64(i) - 1<<40)
						}
						l.Add(x, c)
						c.Mul(&c, &vals[i])
						want[k].Add(&want[k], &c)
					}
					lcs := [3]*LC{}
					lcs[k] = l
					b.Enforce(lcs[0], lcs[1], lcs[2])
				}
				return nil
			})
			s, err := Compile(ctx, circuit)
			require.NoError(t, err)
			expected := want
			a, err := AssignWitness(ctx, circuit, s, AssignConfig{})
			require.NoError(t, err)
			defer a.Close()
			var got [3][]fr.Element
			for k := range got {
				got[k] = make([]fr.Element, s.Constraints())
			}
			require.NoError(t, s.Evaluate(ctx, a, got[0], got[1], got[2], 1))
			for k := range got {
				require.Equal(t, expected[k], got[k][k], "matrix %d", k)
			}
		})
	}
}
