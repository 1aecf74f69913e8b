package update

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth/internal/witness"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Circuit returns the circuit of a partition (from 0) with its values. It does not check that the vanilla proof holds (see Check):
// a bad one makes an assignment that does not satisfy the system. Values that are not canonical, and challenges that disagree on a
// root or on the data path above the apex, are a *vanilla.FieldError.
func (p *PartitionProof) Circuit(public *Public, partition int) (*Circuit, error) {
	if err := public.check(partition); err != nil {
		return nil, err
	}
	if public.Shape.Poseidon {
		return nil, ErrPoseidonVariant
	}
	s, err := newInstance(public.Shape)
	if err != nil {
		return nil, err
	}
	if len(p.Challenges) == 0 || len(p.Challenges) != public.Shape.Challenges {
		return nil, vanilla.Errorf("challenge_proofs", "has %d elements, want %d", len(p.Challenges), public.Shape.Challenges)
	}
	if len(p.Apex) != public.Shape.ApexLeaves {
		return nil, vanilla.Errorf("apex_leafs", "has %d elements, want %d", len(p.Apex), public.Shape.ApexLeaves)
	}
	in, err := p.shared(public, partition)
	if err != nil {
		return nil, err
	}
	for i := range p.Challenges {
		c := &p.Challenges[i]
		err := s.agree(c, &p.Challenges[0])
		if err == nil {
			err = s.challengeInputs(c, &in.Challenges[i])
		}
		if err != nil {
			return nil, vanilla.In(fmt.Sprintf("challenge_proofs[%d]", i), err)
		}
	}
	above, err := witness.Levels(p.Challenges[0].DNew.Base[s.nodeBits:])
	if err != nil {
		return nil, vanilla.In("challenge_proofs[0].proof_d_new", err)
	}
	for i := range above {
		in.ApexPath = append(in.ApexPath, above[i].Siblings...)
	}
	return &Circuit{Shape: public.Shape, Inputs: in}, nil
}

// shared converts what is common to all challenges.
func (p *PartitionProof) shared(public *Public, partition int) (*CircuitInputs, error) {
	var v witness.Values
	in := &CircuitInputs{
		Partition: uint64(partition), HSelect: public.HSelect,
		CommROld:   v.Fr("comm_r_old", &public.CommROld),
		CommDNew:   v.Fr("comm_d_new", &public.CommDNew),
		CommRNew:   v.Fr("comm_r_new", &public.CommRNew),
		CommC:      v.Fr("comm_c", &p.CommC),
		RootROld:   v.Fr("challenge_proofs[0].proof_r_old.root", &p.Challenges[0].ROld.Root),
		RootRNew:   v.Fr("challenge_proofs[0].proof_r_new.root", &p.Challenges[0].RNew.Root),
		ApexLeaves: make([]fr.Element, len(p.Apex)),
		Challenges: make([]ChallengeInputs, len(p.Challenges)),
	}
	if v.Err != nil {
		return nil, v.Err
	}
	return in, vanilla.In("apex_leafs", witness.Elements(in.ApexLeaves, p.Apex))
}

// agree compares what a challenge shares with the first one.
func (s *instance) agree(c, first *ChallengeProof) error {
	if c.ROld.Root != first.ROld.Root {
		return vanilla.Errorf("proof_r_old.root", "differs from that of the first challenge")
	}
	if c.RNew.Root != first.RNew.Root {
		return vanilla.Errorf("proof_r_new.root", "differs from that of the first challenge")
	}
	if err := c.DNew.CheckShape(vanilla.Binary, s.shape.Nodes); err != nil {
		return vanilla.In("proof_d_new", err)
	}
	for l := s.nodeBits; l < len(c.DNew.Base); l++ {
		if c.DNew.Base[l].Hashes[0] != first.DNew.Base[l].Hashes[0] {
			return vanilla.Errorf(fmt.Sprintf("proof_d_new.path[%d].hashes[0]", l), "differs from that of the first challenge")
		}
	}
	return nil
}

func (s *instance) challengeInputs(c *ChallengeProof, in *ChallengeInputs) error {
	var v witness.Values
	in.LeafROld = v.Fr("proof_r_old.leaf", &c.ROld.Leaf)
	in.LeafDNew = v.Fr("proof_d_new.leaf", &c.DNew.Leaf)
	in.PathROld = v.Path("proof_r_old", &c.ROld)
	in.PathRNew = v.Path("proof_r_new", &c.RNew)
	if v.Err != nil {
		return v.Err
	}
	var err error
	in.PathDNew, err = witness.Levels(c.DNew.Base[:len(s.pathD)])
	return vanilla.In("proof_d_new", err)
}
