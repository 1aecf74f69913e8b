// Package membership is a circuit of one's own, written to synth.Builder: "I know the secret behind one of the leaves of this
// Merkle tree, and this is its tag", without saying which. The tag is the same whenever the secret is used again.
package membership

import (
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/filgroth/filgroth/synth/gadget/poseidon"
)

// Step is one level of a Merkle path, from the leaf upward.
type Step struct {
	Sibling fr.Element
	Right   bool // whether the path's own node is the right child
}

// Circuit is the statement with its witness. For compiling and setup only Depth counts: Circuit{Depth: 8} will do.
type Circuit struct {
	Depth int

	// public
	Root, Tag fr.Element
	// private
	Secret fr.Element
	Path   []Step
}

// tagDomain keeps tags apart from leaves, which are hashes of the secret too.
const tagDomain = 2

// Synthesize implements synth.Circuit. What it allocates and enforces depends on Depth only.
func (c *Circuit) Synthesize(b *synth.Builder) error {
	if b.HasValues() && len(c.Path) != c.Depth {
		return fmt.Errorf("membership: path of %d levels, the circuit has %d", len(c.Path), c.Depth)
	}
	secret := num.Alloc(b, c.Secret)
	node := poseidon.Hash(b, secret)
	for i := range c.Depth {
		var s Step
		if b.HasValues() {
			s = c.Path[i]
		}
		right := boolean.Alloc(b, s.Right)
		sibling := num.Alloc(b, s.Sibling)
		l, r := swap(b, right, node, sibling)
		node = poseidon.Hash(b, l, r)
	}
	num.Equal(b, num.AllocInput(b, c.Root), node)
	num.Equal(b, num.AllocInput(b, c.Tag), poseidon.HashTagged(b, tagDomain, secret))
	return nil
}

// swap allocates x and y in this order, or the other one where the bit is set:
//
//	bit * (y - x) = l - x        (l + r - x) * 1 = y
func swap(b *synth.Builder, bit boolean.Bool, x, y num.Num) (l, r num.Num) {
	lv, rv := x.Val, y.Val
	if bit.Val {
		lv, rv = rv, lv
	}
	l, r = num.Alloc(b, lv), num.Alloc(b, rv)
	if b.WantRows() {
		b.Enforce(bit.LC(b), y.LC(b).SubVar(x.Var), l.LC(b).SubVar(x.Var))
		b.Enforce(l.LC(b).AddVar(r.Var).SubVar(x.Var), b.LC().AddVar(synth.One), y.LC(b))
	}
	return l, r
}

// Tree is a complete binary tree of leaves H(secret).
type Tree struct {
	levels [][]fr.Element // leaves first
	secret []fr.Element
}

// NewTree makes the tree of 2^depth leaves with the secrets 1000, 1001, ...
func NewTree(depth int) (*Tree, error) {
	if depth < 1 || depth > 20 {
		return nil, errors.New("membership: depth must be 1 to 20")
	}
	t := new(Tree)
	leaves := make([]fr.Element, 1<<depth)
	for i := range leaves {
		s := fr.NewElement(1000 + uint64(i))
		t.secret = append(t.secret, s)
		leaves[i] = poseidon.Value(s)
	}
	t.levels = append(t.levels, leaves)
	for row := leaves; len(row) > 1; {
		up := make([]fr.Element, len(row)/2)
		for i := range up {
			up[i] = poseidon.Value(row[2*i], row[2*i+1])
		}
		t.levels = append(t.levels, up)
		row = up
	}
	return t, nil
}

// Prove gives the circuit of the i-th leaf with its witness.
func (t *Tree) Prove(i int) *Circuit {
	c := &Circuit{Depth: len(t.levels) - 1, Secret: t.secret[i], Root: t.levels[len(t.levels)-1][0], Tag: poseidon.ValueTagged(tagDomain, t.secret[i])}
	for _, row := range t.levels[:c.Depth] {
		c.Path = append(c.Path, Step{row[i^1], i%2 == 1})
		i /= 2
	}
	return c
}

// Public are the public inputs as a verifier is given them, in the order of their allocation.
func (c *Circuit) Public() []fr.Element { return []fr.Element{c.Root, c.Tag} }
