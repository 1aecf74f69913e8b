package update

import (
	"errors"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/merkle"
	"github.com/filgroth/filgroth/synth/gadget/multipack"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/filgroth/filgroth/synth/gadget/poseidon"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// hChoices is the number of values of h that a circuit supports.
const hChoices = 6

var (
	// ErrCircuitShape: a shape that no circuit has.
	ErrCircuitShape = errors.New("update: bad circuit shape")
	// ErrCircuitInputs: values that do not fit the shape of their circuit.
	ErrCircuitInputs = errors.New("update: circuit inputs do not fit the circuit")
)

// CircuitShape is everything that the constraints of a partition depend on.
type CircuitShape struct {
	Tree       vanilla.TreeShape // of the trees R (old and new)
	Nodes      uint64
	Partitions int // a power of two
	Challenges int // of one partition
	ApexLeaves int // of one partition; a power of two
	// H are the numbers of high challenge bits that the h selector chooses among.
	H [hChoices]int
	// Poseidon is the variant whose new data tree is a Poseidon tree of the shape of tree R: one partition, no apex tree.
	Poseidon bool
}

// CircuitInputs are the values of one partition's circuit, public and private.
type CircuitInputs struct {
	Partition uint64
	HSelect   int // index into CircuitShape.H

	CommROld, CommDNew, CommRNew fr.Element
	CommC, RootROld, RootRNew    fr.Element

	ApexLeaves []fr.Element // the partition's chunk of the tree D row that has ApexLeaves*Partitions nodes
	ApexPath   []fr.Element // tree D siblings above the root of that chunk, lowest first
	Challenges []ChallengeInputs
}

// ChallengeInputs are the values for one challenged leaf. Positions are not needed: the circuit derives the challenges.
type ChallengeInputs struct {
	LeafROld, LeafDNew fr.Element
	PathROld, PathRNew merkle.Path
	// PathDNew holds the levels below the apex leaves only (all levels in the Poseidon variant).
	PathDNew merkle.Path
}

// Circuit is the EmptySectorUpdate (SnapDeals) circuit of one partition, identical in variables, rows and order to the deployed
// one. Inputs nil is the blank circuit, enough for synth.Compile.
type Circuit struct {
	Shape  CircuitShape
	Inputs *CircuitInputs
}

// instance is a circuit at work.
type instance struct {
	shape         CircuitShape
	treeR, pathD  []int
	nodeBits      int // of a challenge
	partitionBits int
	apexBits      int

	part     num.Num
	pbits    []boolean.Bool
	hsel     []boolean.Bool
	cro, cdn num.Num
	crn, phi num.Num
	ro, rn   num.Num
	apex     []num.Num
}

// Synthesize implements synth.Circuit. Inputs that do not fit the shape give ErrCircuitInputs.
func (c *Circuit) Synthesize(b *synth.Builder) error {
	s, err := newInstance(c.Shape)
	if err != nil {
		return err
	}
	in := c.Inputs
	if in == nil {
		in = s.blank()
	} else if err := in.check(s); err != nil {
		return err
	}
	s.public(b, in)
	path := s.commitments(b, in)
	if s.shape.Poseidon {
		s.part = num.Alloc(b, fr.Element{}) // enters the challenge digests' rows, never constrained
	} else {
		s.apexTree(b, path)
	}
	challenges := challengeBits(b, s.crn, s.part, in.Partition, s.shape.Challenges, s.nodeBits)
	return b.Parallel(len(challenges), func(i int, b *synth.Builder) error {
		if err := b.Err(); err != nil {
			return err
		}
		s.challenge(b, append(challenges[i][:len(challenges[i]):len(challenges[i])], s.pbits...), &in.Challenges[i])
		return nil
	})
}

// public allocates the public inputs: partition and h selector, then the three commitments.
func (s *instance) public(b *synth.Builder, in *CircuitInputs) {
	selector := in.Partition | 1<<(s.partitionBits+in.HSelect)
	kh := num.Alloc(b, fr.NewElement(selector))
	kh.Inputize(b)
	n := s.partitionBits + hChoices
	sel := boolean.AllocLE(b, []uint64{selector}, n)
	packEqual(b, sel, kh)
	all := sel.Bools()
	s.pbits, s.hsel = all[:s.partitionBits], all[s.partitionBits:]
	if !s.shape.Poseidon {
		s.part = multipack.PackBits(b, boolean.Of(b, s.pbits))
	}
	s.cro = num.Alloc(b, in.CommROld)
	s.cro.Inputize(b)
	s.cdn = num.Alloc(b, in.CommDNew)
	s.cdn.Inputize(b)
	s.crn = num.Alloc(b, in.CommRNew)
	s.crn.Inputize(b)
}

// commitments allocates phi, the roots and the top of the new data tree, opens both comm_r, and returns the siblings above the
// apex root.
func (s *instance) commitments(b *synth.Builder, in *CircuitInputs) (path []num.Num) {
	s.phi = poseidon.HashTagged(b, poseidon.TagGen, s.cdn, s.cro)
	cc := num.Alloc(b, in.CommC)
	s.ro = num.Alloc(b, in.RootROld)
	s.rn = num.Alloc(b, in.RootRNew)
	if !s.shape.Poseidon {
		s.apex = allocAll(b, in.ApexLeaves)
		path = allocAll(b, in.ApexPath)
	}
	num.Equal(b, poseidon.Hash(b, cc, s.ro), s.cro)
	num.Equal(b, poseidon.Hash(b, cc, s.rn), s.crn)
	return path
}

func allocAll(b *synth.Builder, v []fr.Element) []num.Num {
	out := make([]num.Num, len(v))
	for i := range v {
		out[i] = num.Alloc(b, v[i])
	}
	return out
}

// apexTree hashes the apex leaves to their root and shows that it lies under the new comm_d at the partition's position.
func (s *instance) apexTree(b *synth.Builder, path []num.Num) {
	row := append([]num.Num(nil), s.apex...)
	for len(row) > 1 {
		for i := range row[:len(row)/2] {
			row[i] = merkle.SHA256.Node(b, row[2*i:2*i+2])
		}
		row = row[:len(row)/2]
	}
	siblings := make([][]num.Num, len(path))
	for i := range path {
		siblings[i] = path[i : i+1]
	}
	merkle.InclusionAt(b, merkle.SHA256, row[0], s.pbits, siblings, s.cdn)
}

// packEqual enforces [sum 2^i x_i] * [1] = [n].
func packEqual(b *synth.Builder, x boolean.Vec, n num.Num) {
	if !b.WantRows() {
		return
	}
	sum := b.LC()
	for i, bit := range x.Bools() {
		bit.AddTo(sum, fr.NewElement(1<<i))
	}
	b.Enforce(sum, b.LC().AddVar(synth.One), n.LC(b))
}
