package num_test

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/golden"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/stretchr/testify/require"
)

func le(n num.Num) string {
	b := n.Val.Bytes()
	slices.Reverse(b[:])
	return hex.EncodeToString(b[:])
}

// checkNums compares f's circuit, and the numbers it gives, with the reference.
func checkNums(t *testing.T, name string, f func(b *synth.Builder, x func(int) num.Num) []num.Num) {
	g := gadgettest.Reference(t, name)
	want, err := g.OutputStrings()
	if err != nil {
		s, err := g.OutputString()
		require.NoError(t, err)
		want = []string{s}
	}
	gadgettest.Check(t, g, gadgettest.Func(func(b *synth.Builder) error {
		var got []string
		for _, n := range f(b, func(i int) num.Num { return num.Alloc(b, golden.X(i)) }) {
			got = append(got, le(n))
		}
		if b.HasValues() {
			require.Equal(t, want, got, "%s in %v mode", name, b.Mode())
		}
		return nil
	}))
}

// checkBits does so for a gadget that gives bits.
func checkBits(t *testing.T, name string, f func(b *synth.Builder) []boolean.Bool) {
	g := gadgettest.Reference(t, name)
	want, err := g.OutputString()
	require.NoError(t, err)
	gadgettest.Check(t, g, gadgettest.Func(func(b *synth.Builder) error {
		got := ""
		for _, x := range f(b) {
			got += map[bool]string{false: "0", true: "1"}[x.Val]
		}
		if b.HasValues() {
			require.Equal(t, want, got, "%s in %v mode", name, b.Mode())
		}
		return nil
	}))
}

func TestGoldenNumbers(t *testing.T) {
	checkNums(t, "num_mul_square_inputize", func(b *synth.Builder, x func(int) num.Num) []num.Num {
		n0, n1 := x(0), x(1)
		m, s := num.Mul(b, n0, n1), num.Square(b, n0)
		m.Inputize(b)
		require.NoError(t, num.AssertNonzero(b, n1))
		bit := boolean.Alloc(b, true)
		c, d := num.ConditionallyReverse(b, n0, n1, bit)
		return []num.Num{m, s, c, d}
	})
	checkNums(t, "constraint_add_sub_equal", func(b *synth.Builder, x func(int) num.Num) []num.Num {
		n0, n1, again := x(0), x(1), x(0)
		s, d := num.Add(b, n0, n1), num.Sub(b, n0, n1)
		num.Equal(b, n0, again)
		num.Sum(b, n0, n1, s)
		num.Difference(b, n0, n1, d)
		return []num.Num{s, d}
	})
	checkNums(t, "encode_decode", func(b *synth.Builder, x func(int) num.Num) []num.Num {
		key, value := x(0), x(1)
		e := num.Encode(b, key, value)
		return []num.Num{e, num.Decode(b, key, e)}
	})
	checkNums(t, "pick", func(b *synth.Builder, x func(int) num.Num) []num.Num {
		bit := boolean.Alloc(b, true)
		n0, n1 := x(0), x(1)
		return []num.Num{num.Pick(b, bit, n0, n1)}
	})
}

func TestGoldenBits(t *testing.T) {
	x0 := golden.X(0)
	checkBits(t, "num_to_bits_le", func(b *synth.Builder) []boolean.Bool {
		return num.Alloc(b, x0).ToBitsLE(b).Bools()
	})
	checkBits(t, "num_to_bits_le_strict", func(b *synth.Builder) []boolean.Bool {
		return num.Alloc(b, x0).ToBitsLEStrict(b)
	})
	checkBits(t, "field_into_allocated_bits_le", func(b *synth.Builder) []boolean.Bool {
		return num.FieldIntoAllocatedBitsLE(b, x0).Bools()
	})
	checkBits(t, "label_bits_reverse", func(b *synth.Builder) []boolean.Bool {
		return num.Alloc(b, x0).ToBitsLE(b).ReverseBitNumbering().Bools()
	})
	checkBits(t, "update_allocated_num_to_allocated_bits", func(b *synth.Builder) []boolean.Bool {
		return num.AllocatedNumToAllocatedBits(b, num.Alloc(b, x0)).Bools()
	})
}

// TestExtremes: bit decompositions of the smallest and largest elements, whose bits to_bits_le_strict distinguishes.
func TestExtremes(t *testing.T) {
	minus := fr.NewElement(1)
	minus.Neg(&minus)
	for _, v := range []fr.Element{{}, fr.One(), minus} {
		c := gadgettest.Func(func(b *synth.Builder) error {
			n := num.Alloc(b, v)
			n.ToBitsLE(b)
			n.ToBitsLEStrict(b)
			n.ToBitsLE(b)
			return nil
		})
		s, err := synth.Compile(t.Context(), c)
		require.NoError(t, err)
		gadgettest.Assign(t, s, c)
	}
}

func TestAssertNonzero(t *testing.T) {
	c := gadgettest.Func(func(b *synth.Builder) error { return num.AssertNonzero(b, num.Alloc(b, fr.Element{})) })
	s, err := synth.Compile(t.Context(), c)
	require.NoError(t, err)
	_, err = synth.AssignWitness(t.Context(), c, s, synth.AssignConfig{})
	require.ErrorIs(t, err, num.ErrZero)
}

// TestLin: the value of a linear combination follows its terms in every mode.
func TestLin(t *testing.T) {
	k := fr.NewElement(7)
	c := gadgettest.Func(func(b *synth.Builder) error {
		n := num.Alloc(b, golden.X(0))
		bit := boolean.Alloc(b, true)
		l := n.Lin(b)
		l.AddBool(b, bit.Not(), k)
		l.AddNum(b, n, k)
		l.AddConst(b, k)
		var m num.Lin
		m.Add(b, l, k)
		l.AddBool(b, bit, k)
		m.Add(b, l, fr.One())
		r := num.Alloc(b, m.Val)
		if b.WantRows() {
			b.Enforce(m.Term(b), b.LC().AddVar(synth.One), r.LC(b))
			require.NotEmpty(t, m.LC.Terms())
		}
		return nil
	})
	s, err := synth.Compile(t.Context(), c)
	require.NoError(t, err)
	a := gadgettest.Assign(t, s, c)
	d, err := synth.DirectSynthesize(t.Context(), c, s, synth.DirectConfig{InlineTerms: 2})
	require.NoError(t, err)
	defer d.Close()
	gadgettest.CheckDirect(t, s, a, d)
}
