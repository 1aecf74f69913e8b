package update

import (
	"fmt"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/poseidon"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// productionH is the index of the h that the network uses (in small sectors all choices are equal, and the first index stands).
const productionH = 3

// Public is what a verifier knows of an update.
type Public struct {
	Shape                        CircuitShape
	CommROld, CommDNew, CommRNew vanilla.Commitment
	HSelect                      int // index of h in Shape.H; DefaultH for the network
}

// ProofShape is the circuit shape of a registered update proof type.
func ProofShape(p vanilla.UpdateProof) (CircuitShape, error) {
	if !p.Valid() {
		return CircuitShape{}, fmt.Errorf("unknown update proof type %d", int(p))
	}
	return ShapeOf(p.Size())
}

// DefaultH is the index of the network's h in H.
func (s *CircuitShape) DefaultH() int {
	for i, h := range s.H {
		if h == s.H[productionH] {
			return i
		}
	}
	return productionH
}

// nodeBits is the number of bits of a leaf index, partitionBits of a partition.
func (s *CircuitShape) nodeBits() int      { return bits.Len64(s.Nodes) - 1 }
func (s *CircuitShape) partitionBits() int { return bits.Len(uint(s.Partitions)) - 1 }
func (s *CircuitShape) apexBits() int      { return bits.Len(uint(s.ApexLeaves)) - 1 }

// gen is the randomness hash.
func gen(a, b fr.Element) fr.Element {
	var tag fr.Element
	tag.SetUint64(poseidon.TagGen)
	in := [2]fr.Element{a, b}
	return poseidon.Constants(2).Hash(tag, in[:])
}

// commitments returns the public commitments as field elements.
func (p *Public) commitments() (rOld, dNew, rNew fr.Element, err error) {
	for _, c := range []struct {
		name string
		from *vanilla.Commitment
		to   *fr.Element
	}{{"comm_r_old", &p.CommROld, &rOld}, {"comm_d_new", &p.CommDNew, &dNew}, {"comm_r_new", &p.CommRNew, &rNew}} {
		if *c.to, err = c.from.Fr(); err != nil {
			return rOld, dNew, rNew, vanilla.In(c.name, err)
		}
	}
	return rOld, dNew, rNew, nil
}

func (p *Public) check(partition int) error {
	if partition < 0 || partition >= p.Shape.Partitions {
		return fmt.Errorf("update: no partition %d in %d", partition, p.Shape.Partitions)
	}
	if p.HSelect < 0 || p.HSelect >= hChoices {
		return fmt.Errorf("update: h selector %d is not below %d", p.HSelect, hChoices)
	}
	return nil
}

// Inputs returns the public inputs of a partition (from 0) without ONE, in Montgomery form: partition and h selector in one, then
// the three commitments.
func (p *Public) Inputs(partition int) ([]fr.Element, error) {
	if err := p.check(partition); err != nil {
		return nil, err
	}
	rOld, dNew, rNew, err := p.commitments()
	if err != nil {
		return nil, err
	}
	sel := uint64(partition) | 1<<(p.Shape.partitionBits()+p.HSelect)
	return []fr.Element{fr.NewElement(sel), rOld, dNew, rNew}, nil
}

// Challenges returns the challenged leaves of a partition (from 0): its own part of the tree, chosen by digests of comm_r_new.
func (p *Public) Challenges(partition int) ([]uint64, error) {
	if err := p.check(partition); err != nil {
		return nil, err
	}
	_, _, rNew, err := p.commitments()
	if err != nil {
		return nil, err
	}
	s := &p.Shape
	width := s.nodeBits() - s.partitionBits()
	perDigest := (fr.Bits - 1) / width
	digests := (s.Challenges + perDigest - 1) / perDigest
	out := make([]uint64, 0, s.Challenges)
	for j := 0; j < digests; j++ {
		d := vanilla.FromFr(gen(rNew, fr.NewElement(uint64(partition*digests+j))))
		for i := 0; i < perDigest && len(out) < s.Challenges; i++ {
			out = append(out, bitsOf(&d, i*width, width)|uint64(partition)<<width)
		}
	}
	return out, nil
}

// bitsOf returns n (at most 56) bits of a little-endian integer from bit at on.
func bitsOf(c *vanilla.Commitment, at, n int) uint64 {
	var v uint64
	for i := 0; i < 8 && at/8+i < len(c); i++ {
		v |= uint64(c[at/8+i]) << (8 * i)
	}
	return v >> (at % 8) & (1<<n - 1)
}

// Encoder computes new replica nodes: old + data * rho, rho depending on the high bits of the leaf index.
type Encoder struct {
	phi   fr.Element
	shift int
}

// NewEncoder returns the encoder of an update.
func NewEncoder(p *Public) (*Encoder, error) {
	if err := p.check(0); err != nil {
		return nil, err
	}
	rOld, dNew, _, err := p.commitments()
	if err != nil {
		return nil, err
	}
	return &Encoder{phi: gen(dNew, rOld), shift: p.Shape.nodeBits() - p.Shape.H[p.HSelect]}, nil
}

// Rho is the randomness of a leaf, equal for all leaves of a region.
func (e *Encoder) Rho(leaf uint64) fr.Element { return gen(e.phi, fr.NewElement(e.Region(leaf))) }

// Region is the number of the region that a leaf is in.
func (e *Encoder) Region(leaf uint64) uint64 { return leaf >> e.shift }

// Encode returns the new replica node of a leaf. Old and data must be canonical.
func (e *Encoder) Encode(leaf uint64, old, data *vanilla.Commitment) (vanilla.Commitment, error) {
	o, err := old.Fr()
	if err != nil {
		return vanilla.Commitment{}, err
	}
	d, err := data.Fr()
	if err != nil {
		return vanilla.Commitment{}, err
	}
	rho := e.Rho(leaf)
	d.Mul(&d, &rho).Add(&d, &o)
	return vanilla.FromFr(d), nil
}
