package synth

import (
	"context"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/pinning"
	"github.com/stretchr/testify/require"
)

// touchy is a circuit of pieces that panics for one value, in a piece or before all of them.
type touchy struct {
	value  uint64
	pieces bool
}

func (c touchy) Synthesize(b *Builder) error {
	b.Alloc(fr.NewElement(c.value))
	if c.value == 7 && !c.pieces {
		panic("seven")
	}
	return b.Parallel(5, func(i int, b *Builder) error {
		b.Alloc(fr.NewElement(uint64(i)))
		if c.value == 7 && i == 3 {
			panic("seven")
		}
		return nil
	})
}

// A circuit that panics for some values gives an error that says where, on whatever goroutine it is; nothing is left.
func TestCircuitPanics(t *testing.T) {
	ctx := context.Background()
	before := pinning.LiveBytes()
	sys, err := Compile(ctx, touchy{})
	require.NoError(t, err)
	into, err := NewAssignment(sys)
	require.NoError(t, err)
	for _, pieces := range []bool{false, true} {
		for _, threads := range []int{1, 3} {
			for _, into := range []*Assignment{nil, into} {
				_, err = AssignWitness(ctx, touchy{7, pieces}, sys, AssignConfig{Threads: threads, Into: into})
				var p *PanicError
				require.ErrorAs(t, err, &p)
				require.Equal(t, "seven", p.Value)
				require.Contains(t, string(p.Stack), "touchy")
			}
		}
		_, err = DirectSynthesize(ctx, touchy{7, pieces}, sys, DirectConfig{})
		require.ErrorAs(t, err, new(*PanicError))
	}
	require.NoError(t, into.Close())
	a, err := AssignWitness(ctx, touchy{value: 8}, sys, AssignConfig{})
	require.NoError(t, err)
	require.NoError(t, a.Close())
	require.NoError(t, sys.Close())
	require.Equal(t, before, pinning.LiveBytes())
}
