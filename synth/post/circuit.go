package post

import (
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/merkle"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/filgroth/filgroth/synth/gadget/poseidon"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// ErrCircuitInputs: values that do not fit the shape of their circuit.
var ErrCircuitInputs = errors.New("post: circuit inputs do not fit the circuit")

// CircuitShape is everything that the constraints of a partition depend on.
type CircuitShape struct {
	Tree       vanilla.TreeShape // of the replicas' trees
	Nodes      uint64
	Sectors    int // circuit sectors of one partition
	Challenges int // of one circuit sector
}

// CircuitInputs are the values of one partition's circuit, public and private: one entry for each circuit sector.
type CircuitInputs struct {
	Sectors []SectorInputs
}

// SectorInputs are the values for one circuit sector.
type SectorInputs struct {
	CommR, CommC, CommRLast fr.Element
	Leaves                  []LeafInputs // one for each challenge
}

// LeafInputs is a challenged leaf of tree R-last with its path; the challenge is the path's position.
type LeafInputs struct {
	Leaf fr.Element
	Path merkle.Path
}

// Circuit is the FallbackPoSt circuit of one partition (winning and window), identical in variables, rows and order to the
// deployed one. Inputs nil is the blank circuit, enough for synth.Compile.
type Circuit struct {
	Shape  CircuitShape
	Inputs *CircuitInputs
}

// maxCount bounds what a shape may ask for.
const maxCount = 1 << 16

// Synthesize implements synth.Circuit. Inputs that do not fit the shape give ErrCircuitInputs.
func (c *Circuit) Synthesize(b *synth.Builder) error {
	if c.Shape.Sectors < 0 || c.Shape.Challenges < 0 || c.Shape.Sectors > maxCount || c.Shape.Challenges > maxCount {
		return fmt.Errorf("%w: %d sectors with %d challenges", ErrCircuitShape, c.Shape.Sectors, c.Shape.Challenges)
	}
	arities, err := c.Shape.Tree.Levels(c.Shape.Nodes)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCircuitShape, err)
	}
	blank := SectorInputs{Leaves: make([]LeafInputs, c.Shape.Challenges)}
	if c.Inputs != nil {
		if err := c.Inputs.check(c.Shape, arities); err != nil {
			return err
		}
	}
	return b.Parallel(c.Shape.Sectors, func(i int, b *synth.Builder) error {
		in := &blank
		if c.Inputs != nil {
			in = &c.Inputs.Sectors[i]
		}
		return sector(b, arities, in)
	})
}

// sector writes the part of one circuit sector.
func sector(b *synth.Builder, arities []int, in *SectorInputs) error {
	rl := num.Alloc(b, in.CommRLast)
	cc := num.Alloc(b, in.CommC)
	cr := num.Alloc(b, in.CommR)
	cr.Inputize(b)
	num.Equal(b, cr, poseidon.Hash(b, cc, rl))
	for n := range in.Leaves {
		if err := b.Err(); err != nil {
			return err
		}
		l := &in.Leaves[n]
		merkle.Inclusion(b, merkle.Poseidon, merkle.Val(l.Leaf), arities, l.Path, merkle.Var(rl), true)
	}
	return nil
}

// check compares the inputs with the shape.
func (in *CircuitInputs) check(s CircuitShape, arities []int) error {
	if len(in.Sectors) != s.Sectors {
		return fmt.Errorf("%w: %d sectors, need %d", ErrCircuitInputs, len(in.Sectors), s.Sectors)
	}
	for i := range in.Sectors {
		leaves := in.Sectors[i].Leaves
		if len(leaves) != s.Challenges {
			return fmt.Errorf("%w: sector %d: %d leaves, need %d", ErrCircuitInputs, i, len(leaves), s.Challenges)
		}
		for n := range leaves {
			if err := leaves[n].Path.Check(arities); err != nil {
				return fmt.Errorf("%w: sector %d: leaf %d: %w", ErrCircuitInputs, i, n, err)
			}
		}
	}
	return nil
}
