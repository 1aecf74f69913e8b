package merkle

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// MaxArity is the largest number of children that a node of a tree may have.
const MaxArity = 16

// ErrPath: a path that does not fit the shape of its tree.
var ErrPath = errors.New("merkle: bad path")

// Level is one step of a path: the position of the node among its siblings and the siblings in order, the node left out.
type Level struct {
	Index    int
	Siblings []fr.Element
}

// Path leads from a leaf to the root.
type Path []Level

// Check says whether p fits a tree whose levels have these arities, leaves first.
func (p Path) Check(arities []int) error {
	if len(p) != len(arities) {
		return fmt.Errorf("%w: %d levels, need %d", ErrPath, len(p), len(arities))
	}
	for i := range p {
		if len(p[i].Siblings) != arities[i]-1 {
			return fmt.Errorf("%w: level %d: %d siblings, need %d", ErrPath, i, len(p[i].Siblings), arities[i]-1)
		}
		if p[i].Index < 0 || p[i].Index >= arities[i] {
			return fmt.Errorf("%w: level %d: index %d of %d", ErrPath, i, p[i].Index, arities[i])
		}
	}
	return nil
}

// LeafIndex is the position of the leaf among all leaves: the low bits belong to the lowest level.
func (p Path) LeafIndex() uint64 {
	var idx uint64
	sh := 0
	for i := range p {
		idx |= uint64(p[i].Index) << sh
		sh += bits.Len(uint(len(p[i].Siblings)))
	}
	return idx
}

// level is p[i], or zeros for a blank circuit.
func (p Path) level(i int) Level {
	if p == nil {
		return Level{}
	}
	return p[i]
}

func (l Level) sibling(i int) (v fr.Element) {
	if l.Siblings != nil {
		v = l.Siblings[i]
	}
	return v
}
