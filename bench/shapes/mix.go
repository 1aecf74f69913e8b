package shapes

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/filgroth/filgroth/synth/gadget/poseidon"
	"github.com/filgroth/filgroth/synth/gadget/sha256"
)

// Mix is a circuit of any size with the proportions of a proof of replication: SHA-256 of 64 bytes (two blocks), then a Poseidon
// hash of arity 8, so many times. Some 99 % of its variables are bits and a quarter of them occur in B.
type Mix struct {
	Pieces int
	Seed   uint64 // of the values
}

// MixOf is the largest Mix of at most rows rows.
func MixOf(ctx context.Context, rows int) (Mix, error) {
	one, err := synth.Compile(ctx, Mix{Pieces: 1})
	if err != nil {
		return Mix{}, err
	}
	m := Mix{Pieces: rows / one.Rows(), Seed: 1}
	if m.Pieces == 0 {
		return Mix{}, fmt.Errorf("%w: a mix has at least %d rows, not %d", ErrShape, one.Rows(), rows)
	}
	return m, nil
}

// Synthesize implements synth.Circuit.
func (m Mix) Synthesize(b *synth.Builder) error {
	public := b.AllocInput(fr.NewElement(m.Seed))
	if b.WantRows() {
		b.Enforce(b.LC().AddVar(public), b.LC().AddVar(synth.One), b.LC().AddVar(public))
	}
	return b.Parallel(m.Pieces, func(i int, b *synth.Builder) error {
		var data [64]byte
		x := m.Seed<<20 + uint64(i) + 1
		for j := 0; j < len(data); j += 8 {
			x = x*6364136223846793005 + 1442695040888963407
			binary.LittleEndian.PutUint64(data[j:], x^x>>29)
		}
		if _, err := sha256.Hash(b, boolean.AllocBytes(b, data[:])); err != nil {
			return err
		}
		in := make([]num.Num, 8)
		for j := range in {
			in[j] = num.Alloc(b, fr.NewElement(x+uint64(j)))
		}
		poseidon.Hash(b, in...)
		return b.Err()
	})
}
