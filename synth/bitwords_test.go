package synth

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

type bitWords struct{ seed uint64 }

// Synthesize allocates runs of bits of any length between field elements, in pieces that share words.
func (c bitWords) Synthesize(b *Builder) error {
	return b.Parallel(5, func(i int, b *Builder) error {
		rng := rand.New(rand.NewPCG(c.seed, uint64(i)))
		for k := 0; k < 20; k++ {
			n := rng.IntN(400)
			words := make([]uint64, n/64+1)
			for j := range words {
				words[j] = rng.Uint64()
			}
			words[n/64] &= 1<<(n&63) - 1
			_, at, _ := b.Counts()
			if x := b.AllocBitWords(words, n); x.Index() != at {
				panic("first variable")
			}
			if rng.IntN(2) == 0 {
				b.Alloc(fr.NewElement(rng.Uint64()))
			}
		}
		return nil
	})
}

// TestAllocBitWords: many bits at once equal one at a time, wherever they start, also when pieces run concurrently.
func TestAllocBitWords(t *testing.T) {
	for seed := uint64(0); seed < 20; seed++ {
		c := bitWords{seed}
		s, err := Compile(context.Background(), c)
		require.NoError(t, err)
		d, err := DirectSynthesize(context.Background(), c, s, DirectConfig{}) // bit by bit
		require.NoError(t, err)
		a, err := AssignWitness(context.Background(), c, s, AssignConfig{Threads: 4})
		require.NoError(t, err)
		require.True(t, slices.Equal(d.Bits, a.Bits))
		require.True(t, slices.Equal(d.Fields, a.Fields))
		require.NoError(t, d.Close())
		require.NoError(t, a.Close())

		_, err = AssignWitness(context.Background(), bitWords{seed + 1000}, s, AssignConfig{Threads: 1})
		require.ErrorIs(t, err, ErrShape)
	}
}
