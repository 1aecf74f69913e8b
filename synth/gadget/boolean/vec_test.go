package boolean_test

import (
	"math/rand/v2"
	"testing"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/filgroth/filgroth/synth/gadget/multipack"
	"github.com/stretchr/testify/require"
)

// same compares kinds and, where there are some, values; a packed Vec has no Vars.
func same(t *testing.T, b *synth.Builder, want []boolean.Bool, got boolean.Vec) {
	t.Helper()
	require.Equal(t, len(want), got.Len())
	for i, x := range got.Bools() {
		require.Equal(t, want[i].Kind, x.Kind, "bit %d of %d, %v", i, len(want), b.Mode())
		if b.HasValues() || x.IsConst() {
			require.Equal(t, want[i].Val, x.Val, "bit %d of %d, %v", i, len(want), b.Mode())
		}
		if b.WantRows() && !x.IsConst() {
			require.Equal(t, want[i].Var, x.Var)
		}
		require.Equal(t, x, got.At(i))
	}
	// nothing lies beyond the end: what follows must be unchanged by it
	next := boolean.Concat(got, boolean.Of(b, []boolean.Bool{boolean.Const(false)}))
	require.Equal(t, boolean.Const(false), next.At(got.Len()))
}

// TestVec: slicing, joining and renumbering packed bits equals doing so bit by bit.
func TestVec(t *testing.T) {
	runAll(t, gadgettest.Func(func(b *synth.Builder) error {
		rng := rand.New(rand.NewPCG(5, 6)) // the same choices in every mode
		for i := 0; i < 200; i++ {
			n := rng.IntN(300)
			bits := make([]boolean.Bool, n)
			for j := range bits {
				bits[j] = of(b, kinds[rng.IntN(4)], rng.IntN(2) == 1)
			}
			v := boolean.Of(b, bits)
			same(t, b, bits, v)
			lo := rng.IntN(n + 1)
			hi := lo + rng.IntN(n-lo+1)
			s := v.Slice(lo, hi)
			same(t, b, bits[lo:hi], s)
			same(t, b, multipack.ReverseBitNumbering(bits[lo:hi]), s.ReverseBitNumbering())
			both := append(append([]boolean.Bool(nil), bits[lo:hi]...), bits...)
			both = append(both, bits[:lo]...)
			same(t, b, both, boolean.Concat(s, v, v.Slice(0, lo)))
		}
		return nil
	}))
}

// TestAllocated: the three ways of allocating many bits make the bits and rows of Alloc.
func TestAllocated(t *testing.T) {
	runAll(t, gadgettest.Func(func(b *synth.Builder) error {
		rng := rand.New(rand.NewPCG(7, 8))
		for n := 0; n < 40; n++ {
			data := make([]byte, n)
			want := make([]boolean.Bool, 8*n)
			for i := range data {
				data[i] = byte(rng.Uint32())
			}
			_, at, row := b.Counts()
			for i, x := range multipack.BytesToBits(data) {
				want[i] = boolean.Bool{Var: synth.AuxVar(at + i), Val: x}
			}
			same(t, b, want, boolean.AllocBytes(b, data))
			_, aux, rows := b.Counts()
			require.Equal(t, at+8*n, aux)
			if b.WantRows() {
				require.Equal(t, row+8*n, rows)
			}
			for i := range want {
				want[i] = boolean.Const(want[i].Val)
			}
			same(t, b, want, boolean.Constants(b, data))

			limbs := []uint64{rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64()}
			k := rng.IntN(257)
			want = make([]boolean.Bool, k)
			for i := range want {
				want[i] = boolean.Bool{Var: synth.AuxVar(aux + i), Val: limbs[i>>6]>>(i&63)&1 == 1}
			}
			same(t, b, want, boolean.AllocLE(b, limbs, k))
			_, after, _ := b.Counts()
			require.Equal(t, aux+k, after)
		}
		return nil
	}))
}
