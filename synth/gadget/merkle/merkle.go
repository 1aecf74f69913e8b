// Package merkle is the gadget of Merkle inclusion: trees of every shape that the deployed circuits use, hashed with Poseidon
// or with SHA-256 truncated to 254 bits.
//
// A path is given as values (Path), because the gadget allocates positions and siblings at their place in the order of the
// deployed circuits; a nil Path makes a blank circuit.
package merkle

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/insertion"
	"github.com/filgroth/filgroth/synth/gadget/multipack"
	"github.com/filgroth/filgroth/synth/gadget/num"
)

// Operand is a number that enters a gadget: allocated before, or to be allocated when its turn comes.
type Operand struct {
	n     num.Num
	fresh bool
}

// Var is a number allocated before.
func Var(n num.Num) Operand { return Operand{n: n} }

// Val is a value that the gadget allocates.
func Val(v fr.Element) Operand { return Operand{n: num.Num{Val: v}, fresh: true} }

func (o Operand) num(b *synth.Builder) num.Num {
	if o.fresh {
		return num.Alloc(b, o.n.Val)
	}
	return o.n
}

// Inclusion shows that leaf lies in the tree of that root, at a position that becomes a public input. arities are those of
// the levels from the leaf upward (powers of two, at most MaxArity); path fits them (Path.Check) or is nil. The root becomes a public input too unless private.
func Inclusion(b *synth.Builder, h Hash, leaf Operand, arities []int, path Path, root Operand, private bool) {
	cur := leaf.num(b)
	var buf [64]boolean.Bool
	index := buf[:0]
	for i, k := range arities {
		cur, index = climb(b, h, k, cur, path.level(i), index)
	}
	multipack.PackIntoInputs(b, boolean.Of(b, index))
	rt := root.num(b)
	num.Equal(b, cur, rt)
	if !private {
		rt.Inputize(b)
	}
}

// levelKey names the template of one level: "own" where position and siblings are allocated by the level.
type levelKey struct {
	hash  Hash
	arity int
	own   bool
}

// climb allocates position and siblings of one level and hashes; the position's bits are appended to index.
func climb(b *synth.Builder, h Hash, k int, cur num.Num, lv Level, index []boolean.Bool) (num.Num, []boolean.Bool) {
	nb := bits.Len(uint(k)) - 1
	if b.HasValues() {
		from := len(index)
		for i := 0; i < nb; i++ {
			index = append(index, boolean.Alloc(b, lv.Index>>i&1 == 1))
		}
		var sib [MaxArity - 1]num.Num
		for i := 0; i < k-1; i++ {
			sib[i] = num.Alloc(b, lv.sibling(i))
		}
		return level(b, h, cur, index[from:], sib[:k-1]), index
	}
	body := func() []synth.Wire {
		own := make([]boolean.Bool, nb)
		for i := range own {
			own[i] = boolean.Alloc(b, false)
		}
		sib := make([]num.Num, k-1)
		for i := range sib {
			sib[i] = num.Alloc(b, fr.Element{})
		}
		out := []synth.Wire{{Var: level(b, h, cur, own, sib).Var}}
		for i := range own {
			out = append(out, own[i].Wire())
		}
		return out
	}
	var out []synth.Wire
	if h == Poseidon {
		out = b.Block(levelKey{h, k, true}, []synth.Var{cur.Var}, body)
	} else {
		out = body()
	}
	for _, w := range out[1:] {
		index = append(index, boolean.FromWire(w, false))
	}
	return num.Num{Var: out[0].Var}, index
}

// level inserts cur into the row of its siblings and hashes the row.
func level(b *synth.Builder, h Hash, cur num.Num, index []boolean.Bool, sib []num.Num) num.Num {
	var row [MaxArity]num.Num
	k := len(sib) + 1
	insertion.Insert(b, row[:k], cur, index, sib)
	return h.Node(b, row[:k])
}

// InclusionAt shows that leaf lies in the tree of that root at the position that bits give (low bits lowest level). Bits and
// siblings have been allocated by the caller; siblings has a row of k-1 for each arity k. Nothing becomes public.
func InclusionAt(b *synth.Builder, h Hash, leaf num.Num, index []boolean.Bool, siblings [][]num.Num, root num.Num) {
	cur := leaf
	for _, sib := range siblings {
		nb := bits.Len(uint(len(sib)))
		cur = levelAt(b, h, cur, index[:nb], sib)
		index = index[nb:]
	}
	num.Equal(b, cur, root)
}

func levelAt(b *synth.Builder, h Hash, cur num.Num, index []boolean.Bool, sib []num.Num) num.Num {
	if b.HasValues() || h != Poseidon {
		return level(b, h, cur, index, sib)
	}
	wires := []synth.Var{cur.Var}
	for i := range index {
		wires = append(wires, index[i].Var)
	}
	for i := range sib {
		wires = append(wires, sib[i].Var)
	}
	out := b.Block(levelKey{h, len(sib) + 1, false}, wires, func() []synth.Wire {
		return []synth.Wire{{Var: level(b, h, cur, index, sib).Var}}
	})
	return num.Num{Var: out[0].Var}
}
