package membership_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/examples/internal/membership"
	"github.com/filgroth/filgroth/synth"
)

// TestMembership: every leaf has a witness, and no changed one satisfies.
func TestMembership(t *testing.T) {
	const depth = 3
	tree, err := membership.NewTree(depth)
	require.NoError(t, err)
	sys, err := synth.Compile(t.Context(), &membership.Circuit{Depth: depth})
	require.NoError(t, err)
	satisfied := func(c *membership.Circuit) error {
		a, err := synth.AssignWitness(t.Context(), c, sys, synth.AssignConfig{})
		require.NoError(t, err)
		defer a.Close()
		return sys.Satisfied(t.Context(), a, 1)
	}
	for i := range 1 << depth {
		require.NoError(t, satisfied(tree.Prove(i)))
		for _, change := range []func(c *membership.Circuit){
			func(c *membership.Circuit) { c.Secret.SetUint64(5) },
			func(c *membership.Circuit) { c.Root.SetUint64(5) },
			func(c *membership.Circuit) { c.Tag = tree.Prove(i ^ 1).Tag },
			func(c *membership.Circuit) { c.Path[1].Right = !c.Path[1].Right },
			func(c *membership.Circuit) { c.Path[depth-1].Sibling.SetUint64(5) },
		} {
			c := tree.Prove(i)
			change(c)
			var u *synth.UnsatisfiedError
			require.ErrorAs(t, satisfied(c), &u)
		}
	}
	_, err = synth.AssignWitness(t.Context(), &membership.Circuit{Depth: depth}, sys, synth.AssignConfig{})
	require.Error(t, err)
	_, err = membership.NewTree(0)
	require.Error(t, err)
}
