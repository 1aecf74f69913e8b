package update

import (
	"fmt"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth/gadget/merkle"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// ShapeOf is the shape of the deployed circuit for a sector size.
func ShapeOf(size vanilla.SectorSize) (CircuitShape, error) {
	tree, ok := size.Tree()
	if !ok {
		return CircuitShape{}, fmt.Errorf("%w: no circuit for sectors of %v", ErrCircuitShape, size)
	}
	s := CircuitShape{Tree: tree, Nodes: size.Nodes(), Partitions: 1, Challenges: 10, ApexLeaves: 128,
		H: [hChoices]int{7, 8, 9, 10, 11, 12}}
	switch n := size.Nodes(); {
	case n <= 1<<8:
		s.ApexLeaves = 8
		s.H = [hChoices]int{1, 1, 1, 1, 1, 1}
	case n <= 1<<10:
		s.Partitions = 2
		s.H = [hChoices]int{1, 1, 1, 1, 1, 1}
	case n <= 1<<19:
		s.Partitions = 4
	default:
		s.Partitions, s.Challenges = 16, 86
	}
	return s, nil
}

// PoseidonShapeOf is the shape of the Poseidon variant, which the network does not use: one partition with the challenges of
// all, no apex tree.
func PoseidonShapeOf(size vanilla.SectorSize) (CircuitShape, error) {
	s, err := ShapeOf(size)
	if err != nil {
		return s, err
	}
	s.Challenges *= s.Partitions
	s.Partitions, s.ApexLeaves, s.Poseidon = 1, 0, true
	return s, nil
}

// log2 of a power of two; false for other numbers.
func log2(n uint64) (int, bool) { return bits.Len64(n) - 1, n != 0 && n&(n-1) == 0 }

func newInstance(shape CircuitShape) (*instance, error) {
	s := &instance{shape: shape}
	var ok [3]bool
	var all int
	all, ok[0] = log2(shape.Nodes)
	s.partitionBits, ok[1] = log2(uint64(shape.Partitions))
	s.apexBits, ok[2] = log2(uint64(shape.ApexLeaves))
	if shape.Poseidon {
		s.apexBits, ok[2] = 0, shape.Partitions == 1
	}
	s.nodeBits = all - s.partitionBits
	if !ok[0] || !ok[1] || !ok[2] || s.nodeBits < max(1, s.apexBits) || shape.Challenges < 0 || shape.Challenges > 1<<16 {
		return nil, fmt.Errorf("%w: %d nodes, %d partitions, %d apex leaves, %d challenges", ErrCircuitShape, shape.Nodes,
			shape.Partitions, shape.ApexLeaves, shape.Challenges)
	}
	for _, h := range shape.H {
		if h < 0 || h > all {
			return nil, fmt.Errorf("%w: h = %d for %d challenge bits", ErrCircuitShape, h, all)
		}
	}
	var err error
	if s.treeR, err = shape.Tree.Levels(shape.Nodes); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCircuitShape, err)
	}
	s.pathD = s.treeR
	if !shape.Poseidon {
		s.pathD = make([]int, s.nodeBits-s.apexBits)
		for i := range s.pathD {
			s.pathD[i] = 2
		}
	}
	return s, nil
}

// blank are inputs of the right lengths without values.
func (s *instance) blank() *CircuitInputs {
	in := &CircuitInputs{Challenges: make([]ChallengeInputs, s.shape.Challenges)}
	if !s.shape.Poseidon {
		in.ApexLeaves = make([]fr.Element, s.shape.ApexLeaves)
		in.ApexPath = make([]fr.Element, s.partitionBits)
	}
	return in
}

// check compares the inputs with the shape.
func (in *CircuitInputs) check(s *instance) error {
	if in.Partition >= uint64(s.shape.Partitions) {
		return fmt.Errorf("%w: partition %d of %d", ErrCircuitInputs, in.Partition, s.shape.Partitions)
	}
	if in.HSelect < 0 || in.HSelect >= hChoices {
		return fmt.Errorf("%w: h selector %d of %d", ErrCircuitInputs, in.HSelect, hChoices)
	}
	want := s.blank()
	for _, l := range []struct {
		name      string
		got, want int
	}{
		{"apex leaves", len(in.ApexLeaves), len(want.ApexLeaves)},
		{"siblings above the apex root", len(in.ApexPath), len(want.ApexPath)},
		{"challenges", len(in.Challenges), len(want.Challenges)},
	} {
		if l.got != l.want {
			return fmt.Errorf("%w: %d %s, need %d", ErrCircuitInputs, l.got, l.name, l.want)
		}
	}
	for i := range in.Challenges {
		c := &in.Challenges[i]
		for _, p := range []struct {
			name string
			path merkle.Path
			tree []int
		}{{"old tree R path", c.PathROld, s.treeR}, {"new tree R path", c.PathRNew, s.treeR}, {"tree D path", c.PathDNew, s.pathD}} {
			if err := p.path.Check(p.tree); err != nil {
				return fmt.Errorf("%w: challenge %d: %s: %w", ErrCircuitInputs, i, p.name, err)
			}
		}
	}
	return nil
}
