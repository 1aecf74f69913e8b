package boolean_test

import (
	"testing"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/stretchr/testify/require"
)

var kinds = []synth.WireKind{synth.Plain, synth.Negated, synth.ConstFalse, synth.ConstTrue}

// of makes a Bool of a kind; v is used by variables only.
func of(b *synth.Builder, k synth.WireKind, v bool) boolean.Bool {
	switch k {
	case synth.Plain:
		return boolean.Alloc(b, v)
	case synth.Negated:
		return boolean.Alloc(b, !v).Not()
	}
	return boolean.Const(k == synth.ConstTrue)
}

// runAll compiles c, and checks that its witnesses in both modes agree and satisfy it.
func runAll(t *testing.T, c synth.Circuit) {
	t.Helper()
	s, err := synth.Compile(t.Context(), c)
	require.NoError(t, err)
	a := gadgettest.Assign(t, s, c)
	d, err := synth.DirectSynthesize(t.Context(), c, s, synth.DirectConfig{InlineTerms: 1})
	require.NoError(t, err)
	gadgettest.CheckDirect(t, s, a, d)
	require.NoError(t, d.Close())
}

// TestTruthTables: every operation on every kind of operand with every value, against Go's operators.
func TestTruthTables(t *testing.T) {
	for n := 0; n < 8; n++ {
		u, v, w := n&1 == 1, n&2 == 2, n&4 == 4
		runAll(t, gadgettest.Func(func(b *synth.Builder) error {
			for i := 0; i < 64; i++ {
				x, y, z := of(b, kinds[i&3], u), of(b, kinds[i>>2&3], v), of(b, kinds[i>>4], w)
				xor, and := boolean.Xor(b, x, y), boolean.And(b, x, y)
				andNot, nor := boolean.AndNot(b, x, y), boolean.Nor(b, x, y)
				ch, maj := boolean.Ch(b, x, y, z), boolean.Maj(b, x, y, z)
				if !b.HasValues() {
					continue
				}
				require.Equal(t, x.Val != y.Val, xor.Val)
				require.Equal(t, x.Val && y.Val, and.Val)
				require.Equal(t, x.Val && !y.Val, andNot.Val)
				require.Equal(t, !x.Val && !y.Val, nor.Val)
				require.Equal(t, x.Val && y.Val || !x.Val && z.Val, ch.Val)
				require.Equal(t, x.Val && y.Val || x.Val && z.Val || y.Val && z.Val, maj.Val)
			}
			return nil
		}))
	}
}

// TestRowsBind: flipping any allocated result breaks a row.
func TestRowsBind(t *testing.T) {
	c := gadgettest.Func(func(b *synth.Builder) error {
		x, y, z := boolean.Alloc(b, true), boolean.Alloc(b, false), boolean.Alloc(b, true)
		boolean.Xor(b, x, y)
		boolean.And(b, x, y)
		boolean.AndNot(b, x, y)
		boolean.Nor(b, x, y)
		boolean.Ch(b, x, y, z)
		boolean.Maj(b, x, y, z)
		return nil
	})
	s, err := synth.Compile(t.Context(), c)
	require.NoError(t, err)
	a := gadgettest.Assign(t, s, c)
	for i := 3; i < s.Aux(); i++ {
		a.Bits[0] ^= 1 << i
		var bad *synth.UnsatisfiedError
		require.ErrorAs(t, s.Satisfied(t.Context(), a, 1), &bad, "aux %d", i)
		a.Bits[0] ^= 1 << i
	}
}

func TestEnforceEqual(t *testing.T) {
	for _, v := range []bool{false, true} {
		konst := synth.ConstFalse
		if v {
			konst = synth.ConstTrue
		}
		runAll(t, gadgettest.Func(func(b *synth.Builder) error {
			for _, k := range []synth.WireKind{synth.Plain, synth.Negated, konst} {
				for _, l := range []synth.WireKind{synth.Plain, synth.Negated, konst} {
					_, _, before := b.Counts()
					x, y := of(b, k, v), of(b, l, v)
					require.NoError(t, boolean.EnforceEqual(b, x, y))
					if _, _, rows := b.Counts(); k == konst && l == konst {
						require.Equal(t, before, rows)
					}
				}
			}
			require.ErrorIs(t, boolean.EnforceEqual(b, boolean.Const(v), boolean.Const(!v)), boolean.ErrConstants)
			return nil
		}))
	}
	c := gadgettest.Func(func(b *synth.Builder) error {
		return boolean.EnforceEqual(b, boolean.Alloc(b, true), boolean.Alloc(b, true).Not())
	})
	s, err := synth.Compile(t.Context(), c)
	require.NoError(t, err)
	a, err := synth.AssignWitness(t.Context(), c, s, synth.AssignConfig{})
	require.NoError(t, err)
	defer a.Close()
	var bad *synth.UnsatisfiedError
	require.ErrorAs(t, s.Satisfied(t.Context(), a, 1), &bad)
	require.Equal(t, 2, bad.Row)
}

func TestAllocConditionally(t *testing.T) {
	for n, ok := range []bool{true, true, true, false} { // both true is refused
		c := gadgettest.Func(func(b *synth.Builder) error {
			boolean.AllocConditionally(b, n&1 == 1, boolean.Alloc(b, n&2 == 2))
			return nil
		})
		s, err := synth.Compile(t.Context(), c)
		require.NoError(t, err)
		a, err := synth.AssignWitness(t.Context(), c, s, synth.AssignConfig{})
		require.NoError(t, err)
		require.Equal(t, ok, s.Satisfied(t.Context(), a, 1) == nil, n)
		require.NoError(t, a.Close())
	}
}
