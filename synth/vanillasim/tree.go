package vanillasim

import (
	"context"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/internal/poseidon"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// levels describe a Poseidon tree.
type levels struct {
	shape   vanilla.TreeShape
	arities []int // from the leaves upward
}

func newLevels(shape vanilla.TreeShape, leaves uint64) (levels, error) {
	arities, err := shape.Levels(leaves)
	return levels{shape, arities}, err
}

// constant returns the node of every level, leaves first, of a tree whose leaves are all equal.
func (t levels) constant(leaf fr.Element) []fr.Element {
	out := []fr.Element{leaf}
	for _, k := range t.arities {
		out = append(out, hashRow(k, func(int) fr.Element { return out[len(out)-1] }))
	}
	return out
}

func hashRow(arity int, child func(i int) fr.Element) fr.Element {
	var row [poseidon.MaxArity]fr.Element
	for i := 0; i < arity; i++ {
		row[i] = child(i)
	}
	return poseidon.Sum(row[:arity])
}

// proof returns the Merkle proof of a leaf, given the value of every node.
func (t levels) proof(leaf uint64, node func(level int, i uint64) fr.Element) vanilla.MerkleProof {
	p := vanilla.MerkleProof{Form: t.shape.Form(), Leaf: vanilla.FromFr(node(0, leaf)), Root: vanilla.FromFr(node(len(t.arities), 0))}
	path := make([]vanilla.PathElement, len(t.arities))
	i := leaf
	for l, k := range t.arities {
		arity := uint64(k)
		e := &path[l]
		e.Index = i % arity
		e.Hashes = make([]vanilla.Commitment, 0, k-1)
		first := i - e.Index
		for j := first; j < first+arity; j++ {
			if j != i {
				e.Hashes = append(e.Hashes, vanilla.FromFr(node(l, j)))
			}
		}
		i /= arity
	}
	n := len(path)
	switch p.Form {
	case vanilla.Top:
		p.Base, p.Sub, p.Top = path[:n-2:n-2], path[n-2:n-1:n-1], path[n-1:]
	case vanilla.Sub:
		p.Base, p.Sub = path[:n-1:n-1], path[n-1:]
	default:
		p.Base = path
	}
	return p
}

// sparse is a tree in which all leaves but some have one value.
type sparse struct {
	levels
	filler []fr.Element // by level
	rows   []map[uint64]fr.Element
}

// newSparse computes the tree over the given leaves; filler comes from levels.constant. leaves is kept.
func newSparse(ctx context.Context, t levels, filler []fr.Element, leaves map[uint64]fr.Element) (*sparse, error) {
	s := &sparse{levels: t, filler: filler, rows: []map[uint64]fr.Element{leaves}}
	for l, k := range t.arities {
		parents := make(map[uint64]struct{}, len(s.rows[l]))
		for i := range s.rows[l] {
			parents[i/uint64(k)] = struct{}{}
		}
		list := make([]uint64, 0, len(parents))
		for i := range parents {
			list = append(list, i)
		}
		slices.Sort(list)
		values := make([]fr.Element, len(list))
		err := par.Range(ctx, 0, len(list), 64, func(_, from, to int) error {
			for n := from; n < to; n++ {
				values[n] = hashRow(k, func(i int) fr.Element { return s.node(l, list[n]*uint64(k)+uint64(i)) })
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		row := make(map[uint64]fr.Element, len(list))
		for n, i := range list {
			row[i] = values[n]
		}
		s.rows = append(s.rows, row)
	}
	return s, nil
}

func (s *sparse) node(level int, i uint64) fr.Element {
	if v, ok := s.rows[level][i]; ok {
		return v
	}
	return s.filler[level]
}

func (s *sparse) root() vanilla.Commitment { return vanilla.FromFr(s.node(len(s.arities), 0)) }

func (s *sparse) prove(leaf uint64) vanilla.MerkleProof { return s.proof(leaf, s.node) }

// constantData is the binary data tree with equal leaves: the node of every level, leaves first.
func constantData(leaf vanilla.Commitment, depth int) []vanilla.Commitment {
	out := []vanilla.Commitment{leaf}
	for len(out) <= depth {
		top := &out[len(out)-1]
		out = append(out, vanilla.SHA256Pair(top, top))
	}
	return out
}

// proveData is the proof of a leaf of constantData.
func proveData(nodes []vanilla.Commitment, leaf uint64) vanilla.MerkleProof {
	depth := len(nodes) - 1
	p := vanilla.MerkleProof{Leaf: nodes[0], Root: nodes[depth], Base: make([]vanilla.PathElement, depth)}
	for l := range p.Base {
		p.Base[l] = vanilla.PathElement{Hashes: []vanilla.Commitment{nodes[l]}, Index: leaf >> l & 1}
	}
	return p
}
