package vanilla

import (
	"crypto/sha256"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/poseidon"
)

// Form is the encoding of a Merkle proof: with base levels only, with one level above them, with two.
type Form int

// The forms; the values are the bincode tags.
const (
	Single Form = iota
	Sub
	Top
)

var formNames = []string{"Single", "Sub", "Top"}

func (f Form) String() string {
	if f >= 0 && int(f) < len(formNames) {
		return formNames[f]
	}
	return fmt.Sprintf("Form(%d)", int(f))
}

// Form returns the form of proofs in trees of this shape.
func (t TreeShape) Form() Form {
	switch {
	case t.Top > 0:
		return Top
	case t.Sub > 0:
		return Sub
	}
	return Single
}

// PathElement is one level of a Merkle proof: the siblings in order without the node itself, and the node's position among its
// arity = len(Hashes)+1 places.
type PathElement struct {
	Hashes []Commitment
	Index  uint64
}

// MerkleProof proves one leaf. Base are the levels of the base tree from the leaf upward; Sub and Top have one element where the
// form has that level, none otherwise.
type MerkleProof struct {
	Form           Form
	Root, Leaf     Commitment
	Base, Sub, Top []PathElement
}

// Walk reads or writes a proof in a tree of the given shape and number of leaves (which must fit, see TreeShape.Levels).
func (p *MerkleProof) Walk(w Walker, t TreeShape, leaves uint64) error {
	sel := int(p.Form)
	return w.Object(Field{"data", func() error {
		return w.Variant(formNames, &sel, func() error {
			if want := t.Form(); Form(sel) != want {
				return Errorf("", "Merkle proof of form %v, want %v for a %v tree", Form(sel), want, t)
			}
			p.Form = Form(sel)
			return p.walkData(w, t, t.BaseLevels(leaves))
		})
	}})
}

func (p *MerkleProof) walkData(w Walker, t TreeShape, base int) error {
	root := Field{"root", func() error { return w.Node(&p.Root) }}
	leaf := Field{"leaf", func() error { return w.Node(&p.Leaf) }}
	path := func(name string, s *[]PathElement, n, arity int) Field {
		return Field{name, func() error { return walkPath(w, s, n, arity) }}
	}
	switch p.Form {
	case Single:
		return w.Object(root, leaf, path("path", &p.Base, base, t.Base))
	case Sub:
		return w.Object(path("base_proof", &p.Base, base, t.Base), path("sub_proof", &p.Sub, 1, t.Sub), root, leaf)
	default:
		return w.Object(path("base_proof", &p.Base, base, t.Base), path("sub_proof", &p.Sub, 1, t.Sub),
			path("top_proof", &p.Top, 1, t.Top), root, leaf)
	}
}

func walkPath(w Walker, s *[]PathElement, n, arity int) error {
	return w.Object(Field{"path", func() error {
		return Slice(w, s, n, func(_ int, e *PathElement) error {
			return w.Object(
				Field{"hashes", func() error { return NodeSlice(w, &e.Hashes, arity-1) }},
				Field{"index", func() error {
					if err := w.U64(&e.Index); err != nil {
						return err
					}
					if e.Index >= uint64(arity) {
						return Errorf("", "is %d, want below the arity %d", e.Index, arity)
					}
					return nil
				}})
		})
	}})
}

// Path returns all levels from the leaf upward; it allocates when the form has more than base levels.
func (p *MerkleProof) Path() []PathElement {
	if len(p.Sub) == 0 && len(p.Top) == 0 {
		return p.Base
	}
	out := make([]PathElement, 0, len(p.Base)+2)
	return append(append(append(out, p.Base...), p.Sub...), p.Top...)
}

// Index is the leaf's number that the path positions spell: base levels first, then sub, then top.
func (p *MerkleProof) Index() uint64 {
	var index uint64
	scale := uint64(1)
	for _, part := range [][]PathElement{p.Base, p.Sub, p.Top} {
		for i := range part {
			index += part[i].Index * scale
			scale *= uint64(len(part[i].Hashes) + 1)
		}
	}
	return index
}

// SetIndex sets the path positions to those of a leaf.
func (p *MerkleProof) SetIndex(leaf uint64) {
	for _, part := range [][]PathElement{p.Base, p.Sub, p.Top} {
		for i := range part {
			arity := uint64(len(part[i].Hashes) + 1)
			part[i].Index = leaf % arity
			leaf /= arity
		}
	}
}

// CheckShape reports, with its path, a form, level count or sibling count that differs from the tree's, an index that is out of
// range, and a node that is not canonical; for proofs that did not come through a decoder.
func (p *MerkleProof) CheckShape(t TreeShape, leaves uint64) error {
	return Validate(func(w Walker) error { return p.Walk(w, t, leaves) })
}

// PoseidonRoot hashes the path from the leaf upward; false if the path is malformed.
func (p *MerkleProof) PoseidonRoot() (Commitment, bool) {
	cur, err := p.Leaf.Fr()
	if err != nil {
		return Commitment{}, false
	}
	for _, part := range [][]PathElement{p.Base, p.Sub, p.Top} {
		for i := range part {
			var ok bool
			if cur, ok = part[i].poseidon(cur); !ok {
				return Commitment{}, false
			}
		}
	}
	return FromFr(cur), true
}

// Verify reports whether the path hashes from the leaf to the root, with Poseidon.
func (p *MerkleProof) Verify() bool {
	root, ok := p.PoseidonRoot()
	return ok && root == p.Root
}

func (e *PathElement) poseidon(cur fr.Element) (fr.Element, bool) {
	arity := len(e.Hashes) + 1
	if arity < 2 || arity > poseidon.MaxArity || e.Index >= uint64(arity) {
		return cur, false
	}
	var row [poseidon.MaxArity]fr.Element
	for i := range e.Hashes {
		at := i
		if uint64(i) >= e.Index {
			at++
		}
		x, err := e.Hashes[i].Fr()
		if err != nil {
			return cur, false
		}
		row[at] = x
	}
	row[e.Index] = cur
	return poseidon.Sum(row[:arity]), true
}

// SHA256Root is PoseidonRoot for the binary data tree: SHA-256 of two children, truncated to 254 bits.
func (p *MerkleProof) SHA256Root() (Commitment, bool) {
	if len(p.Sub) != 0 || len(p.Top) != 0 {
		return Commitment{}, false
	}
	cur := p.Leaf
	for i := range p.Base {
		e := &p.Base[i]
		if len(e.Hashes) != 1 || e.Index > 1 {
			return Commitment{}, false
		}
		if e.Index == 0 {
			cur = SHA256Pair(&cur, &e.Hashes[0])
		} else {
			cur = SHA256Pair(&e.Hashes[0], &cur)
		}
	}
	return cur, true
}

// VerifySHA256 is Verify for the binary data tree.
func (p *MerkleProof) VerifySHA256() bool {
	root, ok := p.SHA256Root()
	return ok && root == p.Root
}

// SHA256Pair is the parent of two nodes of the data tree.
func SHA256Pair(a, b *Commitment) Commitment {
	var buf [64]byte
	copy(buf[:], a[:])
	copy(buf[32:], b[:])
	c := Commitment(sha256.Sum256(buf[:]))
	c.Truncate()
	return c
}

// Poseidon2 is the two-to-one Poseidon hash of commitments; an error names the argument that is not canonical.
func Poseidon2(a, b *Commitment) (Commitment, error) {
	x, err := a.Fr()
	if err != nil {
		return Commitment{}, fmt.Errorf("left: %w", err)
	}
	y, err := b.Fr()
	if err != nil {
		return Commitment{}, fmt.Errorf("right: %w", err)
	}
	return FromFr(poseidon.Sum2(&x, &y)), nil
}
