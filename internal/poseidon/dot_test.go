package poseidon

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// TestDot compares both implementations with big integers, for every length, on random and on extreme values.
func TestDot(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var max fr.Element
	max.SetInt64(-1)
	random := func() (e fr.Element) {
		var b [32]byte
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		e.SetBytes(b[:])
		return e
	}
	extreme := []fr.Element{{}, {1}, {^uint64(0)}, {0, 0, 0, q3}, {q0 - 1, q1, q2, q3}, fr.One(), max}
	for n := 0; n <= 2*MaxArity; n++ {
		for k := 0; k < 20+len(extreme); k++ {
			a, b := make([]fr.Element, n), make([]fr.Element, n)
			want := new(big.Int)
			for i := range a {
				a[i], b[i] = random(), random()
				if k >= 20 {
					a[i] = extreme[k-20]
					b[i] = extreme[(k+i*(k&1))%len(extreme)]
				}
				x, y := new(big.Int), new(big.Int)
				a[i].BigInt(x)
				b[i].BigInt(y)
				want.Add(want, x.Mul(x, y))
			}
			var e fr.Element
			e.SetBigInt(want)
			require.Equal(t, e, dot(a, b), "length %d, case %d", n, k)
			require.Equal(t, e, dotGeneric(a, b), "generic, length %d, case %d", n, k)
		}
	}
}

func BenchmarkDot(b *testing.B) {
	x, y := make([]fr.Element, 9), make([]fr.Element, 9)
	for i := range x {
		x[i].MustSetRandom()
		y[i].MustSetRandom()
	}
	for b.Loop() {
		x[0] = dot(x, y)
	}
}
