// Package vanillasim makes vanilla proofs of any size that hold, without sealing anything: for tests and benchmarks of circuits and
// provers at full scale.
//
// The proofs satisfy the checks of porep, post and update, and so their circuits, but there is no replica behind them: trees are
// sparse, most leaves are one filler, and labels of parents are free values. A node would never produce them and a network never
// challenge them in this way; they prove nothing about storage.
//
// Everything is derived from Options.Seed: equal options give equal proofs.
package vanillasim

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Options choose one of the possible proofs. The zero value is a valid choice.
type Options struct {
	Seed   uint64
	Miner  uint64 // actor number
	Sector uint64 // number of the sector; of the first one in a WindowPoSt
}

// source is a stream of pseudorandom values.
type source struct{ *rand.ChaCha8 }

func newSource(seed uint64, purpose string) source {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	copy(key[8:], purpose)
	return source{rand.NewChaCha8(key)}
}

// node returns a canonical commitment.
func (s source) node() (c vanilla.Commitment) {
	for i := 0; i < len(c); i += 8 {
		binary.LittleEndian.PutUint64(c[i:], s.Uint64())
	}
	c.Truncate()
	return c
}

func (s source) element() fr.Element {
	c := s.node()
	return c.FrReduced()
}
