package porep

import (
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/merkle"
	"github.com/filgroth/filgroth/synth/gadget/multipack"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/filgroth/filgroth/synth/gadget/poseidon"
	"github.com/filgroth/filgroth/synth/gadget/stacked"
	"github.com/filgroth/filgroth/synth/vanilla"
)

const maxLayers = 11

var (
	// ErrCircuitShape: a shape that no circuit has.
	ErrCircuitShape = errors.New("porep: bad circuit shape")
	// ErrCircuitInputs: values that do not fit the shape of their circuit.
	ErrCircuitInputs = errors.New("porep: circuit inputs do not fit the circuit")
)

// CircuitInputs are the values of one partition's circuit, public and private.
type CircuitInputs struct {
	ReplicaID, CommD, CommR, CommRLast, CommC fr.Element
	Challenges                                []ChallengeInputs
}

// ChallengeInputs are the values for one challenged node.
type ChallengeInputs struct {
	Challenge uint64
	Leaf      fr.Element // the data node
	PathD     merkle.Path
	PathC     merkle.Path // of the node's own column
	PathRLast merkle.Path
	// Parents are the columns of the 6 DRG parents, then of the 8 expander parents.
	Parents [Parents]ColumnInputs
}

// ColumnInputs is a column of labels, layer 1 first, with its path in tree C.
type ColumnInputs struct {
	Rows []fr.Element
	Path merkle.Path
}

// Circuit is the StackedDRG circuit of one partition, identical in variables, rows and order to the deployed one. Inputs nil is
// the blank circuit, enough for synth.Compile.
type Circuit struct {
	Shape  Shape
	Inputs *CircuitInputs
}

// instance is a circuit at work.
type instance struct {
	shape        Shape
	treeD, treeC []int
	cd, crl, cc  num.Num
	replica      boolean.Vec
}

// maxChallenges bounds what a shape may ask for.
const maxChallenges = 1 << 16

func newInstance(shape Shape) (*instance, error) {
	s := &instance{shape: shape}
	if shape.Challenges < 0 || shape.Challenges > maxChallenges || shape.Layers != 2 && shape.Layers != maxLayers {
		return nil, fmt.Errorf("%w: %d challenges, %d layers", ErrCircuitShape, shape.Challenges, shape.Layers)
	}
	var err error
	if s.treeC, err = shape.Tree.Levels(shape.Nodes); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCircuitShape, err)
	}
	if s.treeD, err = vanilla.Binary.Levels(shape.Nodes); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCircuitShape, err)
	}
	return s, nil
}

// Synthesize implements synth.Circuit. Inputs that do not fit the shape give ErrCircuitInputs.
func (c *Circuit) Synthesize(b *synth.Builder) error {
	s, err := newInstance(c.Shape)
	if err != nil {
		return err
	}
	in := c.Inputs
	if in == nil {
		in = &CircuitInputs{Challenges: make([]ChallengeInputs, c.Shape.Challenges)}
	} else if err := in.check(s); err != nil {
		return err
	}
	rid := num.Alloc(b, in.ReplicaID)
	rid.Inputize(b)
	s.replica = rid.ToBitsLE(b).ReverseBitNumbering()
	s.cd = num.Alloc(b, in.CommD)
	s.cd.Inputize(b)
	cr := num.Alloc(b, in.CommR)
	cr.Inputize(b)
	s.crl = num.Alloc(b, in.CommRLast)
	s.cc = num.Alloc(b, in.CommC)
	num.Equal(b, cr, poseidon.Hash(b, s.cc, s.crl))
	return b.Parallel(c.Shape.Challenges, func(i int, b *synth.Builder) error {
		return s.challenge(b, &in.Challenges[i])
	})
}

// challenge writes the part of one challenged node.
func (s *instance) challenge(b *synth.Builder, in *ChallengeInputs) error {
	leaf := num.Alloc(b, in.Leaf)
	merkle.Inclusion(b, merkle.SHA256, merkle.Var(leaf), s.treeD, in.PathD, merkle.Var(s.cd), true)
	var cols [Parents][maxLayers]num.Num
	for i := range cols {
		if err := s.column(b, cols[i][:s.shape.Layers], &in.Parents[i]); err != nil {
			return err
		}
		if err := b.Err(); err != nil {
			return err
		}
	}
	node := num.AllocUInt64(b, in.Challenge)
	multipack.PackIntoInputs(b, node.LE)
	nodeBE := node.BitsBE(b)
	var labels [maxLayers]num.Num
	for l := 1; l <= s.shape.Layers; l++ {
		var err error
		if labels[l-1], err = s.label(b, l, &cols, nodeBE); err != nil {
			return err
		}
		if err := b.Err(); err != nil {
			return err
		}
	}
	enc := num.Encode(b, labels[s.shape.Layers-1], leaf)
	merkle.Inclusion(b, merkle.Poseidon, merkle.Var(enc), s.treeC, in.PathRLast, merkle.Var(s.crl), true)
	h, err := stacked.HashColumn(b, labels[:s.shape.Layers])
	if err != nil {
		return err
	}
	merkle.Inclusion(b, merkle.Poseidon, merkle.Var(h), s.treeC, in.PathC, merkle.Var(s.cc), true)
	return nil
}

// column allocates a parent's column and shows that it is in tree C.
func (s *instance) column(b *synth.Builder, col []num.Num, in *ColumnInputs) error {
	for l := range col {
		var v fr.Element
		if in.Rows != nil {
			v = in.Rows[l]
		}
		col[l] = num.Alloc(b, v)
	}
	h, err := stacked.HashColumn(b, col)
	if err != nil {
		return err
	}
	merkle.Inclusion(b, merkle.Poseidon, merkle.Var(h), s.treeC, in.Path, merkle.Var(s.cc), true)
	return nil
}

// label recomputes the label of layer l. The parents' labels are decomposed anew for every layer, as deployed.
func (s *instance) label(b *synth.Builder, l int, cols *[Parents][maxLayers]num.Num, node boolean.Vec) (num.Num, error) {
	var own [Parents]boolean.Vec
	n := DRGParents
	if l > 1 {
		n = Parents
	}
	for i := range own[:n] {
		row := l - 1
		if i >= DRGParents {
			row = l - 2
		}
		own[i] = cols[i][row].ToBitsLE(b).ReverseBitNumbering()
	}
	var all [stacked.LabelParents]boolean.Vec
	for i := range all {
		all[i] = own[i%n]
	}
	return stacked.CreateLabel(b, s.replica, all[:], uint32(l), node)
}

// check compares the inputs with the shape.
func (in *CircuitInputs) check(s *instance) error {
	if len(in.Challenges) != s.shape.Challenges {
		return fmt.Errorf("%w: %d challenges, need %d", ErrCircuitInputs, len(in.Challenges), s.shape.Challenges)
	}
	for i := range in.Challenges {
		c := &in.Challenges[i]
		for _, p := range []struct {
			name string
			path merkle.Path
			tree []int
		}{{"tree D path", c.PathD, s.treeD}, {"tree C path", c.PathC, s.treeC}, {"tree R-last path", c.PathRLast, s.treeC}} {
			if err := p.path.Check(p.tree); err != nil {
				return fmt.Errorf("%w: challenge %d: %s: %w", ErrCircuitInputs, i, p.name, err)
			}
		}
		for j := range c.Parents {
			col := &c.Parents[j]
			if len(col.Rows) != s.shape.Layers {
				return fmt.Errorf("%w: challenge %d: parent %d: %d rows, need %d", ErrCircuitInputs, i, j, len(col.Rows), s.shape.Layers)
			}
			if err := col.Path.Check(s.treeC); err != nil {
				return fmt.Errorf("%w: challenge %d: parent %d: %w", ErrCircuitInputs, i, j, err)
			}
		}
	}
	return nil
}
