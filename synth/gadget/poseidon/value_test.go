package poseidon_test

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/filgroth/filgroth/synth/gadget/poseidon"
)

type values struct {
	in  []fr.Element
	got [2]fr.Element
}

func (c *values) Synthesize(b *synth.Builder) error {
	var in []num.Num
	for _, v := range c.in {
		in = append(in, num.Alloc(b, v))
	}
	c.got = [2]fr.Element{poseidon.Hash(b, in...).Val, poseidon.HashTagged(b, 7, in...).Val}
	return nil
}

// TestValue: the values outside are those inside, for every arity.
func TestValue(t *testing.T) {
	for n := 1; n <= 36; n++ {
		c := &values{in: make([]fr.Element, n)}
		for i := range c.in {
			c.in[i].SetUint64(uint64(100*n + i))
		}
		sys, err := synth.Compile(t.Context(), c)
		require.NoError(t, err)
		a, err := synth.AssignWitness(t.Context(), c, sys, synth.AssignConfig{})
		require.NoError(t, err)
		require.Equal(t, [2]fr.Element{poseidon.Value(c.in...), poseidon.ValueTagged(7, c.in...)}, c.got)
		require.NoError(t, a.Close())
	}
	require.Panics(t, func() { poseidon.Value() })
	require.Panics(t, func() { poseidon.ValueTagged(1, make([]fr.Element, 37)...) })
}
