// Package witness converts vanilla proofs into circuit inputs. It is shared by porep, post and update and of no use to others.
package witness

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth/gadget/merkle"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Path converts all levels of a Merkle proof. Errors name the level and sibling that is not canonical.
func Path(p *vanilla.MerkleProof) (merkle.Path, error) { return Levels(p.Path()) }

// Levels converts some levels of a Merkle proof.
func Levels(levels []vanilla.PathElement) (merkle.Path, error) {
	n := 0
	for i := range levels {
		n += len(levels[i].Hashes)
	}
	all := make([]fr.Element, n)
	out := make(merkle.Path, len(levels))
	for i := range levels {
		l := &levels[i]
		if l.Index > uint64(len(l.Hashes)) {
			return nil, vanilla.Errorf(fmt.Sprintf("path[%d].index", i), "is %d, want below %d", l.Index, len(l.Hashes)+1)
		}
		s := all[:len(l.Hashes):len(l.Hashes)]
		all = all[len(s):]
		if err := Elements(s, l.Hashes); err != nil {
			return nil, vanilla.In(fmt.Sprintf("path[%d].hashes", i), err)
		}
		out[i] = merkle.Level{Index: int(l.Index), Siblings: s}
	}
	return out, nil
}

// Elements converts src to dst, of the same length.
func Elements(dst []fr.Element, src []vanilla.Commitment) error {
	for i := range src {
		var err error
		if dst[i], err = src[i].Fr(); err != nil {
			return vanilla.In(fmt.Sprintf("[%d]", i), err)
		}
	}
	return nil
}

// Values collects conversions of single commitments and keeps the first error.
type Values struct{ Err error }

// Fr converts c; name is its place for the error.
func (v *Values) Fr(name string, c *vanilla.Commitment) fr.Element {
	e, err := c.Fr()
	if err != nil && v.Err == nil {
		v.Err = vanilla.In(name, err)
	}
	return e
}

// Path converts a Merkle proof; name is its place for the error.
func (v *Values) Path(name string, p *vanilla.MerkleProof) merkle.Path {
	out, err := Path(p)
	if err != nil && v.Err == nil {
		v.Err = vanilla.In(name, err)
	}
	return out
}
