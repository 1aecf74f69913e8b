package porep

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth/internal/witness"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Circuit returns the circuit of a partition (from 0) with its values. It does not check that the vanilla proofs hold (see
// Check): bad ones make an assignment that does not satisfy the system. Values that are not canonical, and challenges of one
// partition that disagree on comm_c or comm_r_last, are a *vanilla.FieldError.
func (c *C1) Circuit(partition int) (*Circuit, error) {
	if partition < 0 || partition >= len(c.Proofs) {
		return nil, fmt.Errorf("porep: no partition %d in %d", partition, len(c.Proofs))
	}
	in, err := c.circuitInputs(c.Proofs[partition])
	if err != nil {
		return nil, vanilla.In(fmt.Sprintf("vanilla_proofs[%d]", partition), err)
	}
	return &Circuit{Shape: c.Config.Shape, Inputs: in}, nil
}

func (c *C1) circuitInputs(proofs []ChallengeProof) (*CircuitInputs, error) {
	if len(proofs) == 0 {
		return nil, vanilla.Errorf("", "has no challenges")
	}
	var v witness.Values
	in := &CircuitInputs{
		ReplicaID:  v.Fr("replica_id", &c.ReplicaID),
		CommD:      v.Fr("comm_d", &c.CommD),
		CommR:      v.Fr("comm_r", &c.CommR),
		CommRLast:  v.Fr("[0].comm_r_last_proof.root", &proofs[0].CommRLast.Root),
		CommC:      v.Fr("[0].c_x.root", &proofs[0].Column.Inclusion.Root),
		Challenges: make([]ChallengeInputs, len(proofs)),
	}
	if v.Err != nil {
		return nil, v.Err
	}
	for i := range proofs {
		p := &proofs[i]
		if err := sameRoots(&proofs[0], p); err != nil {
			return nil, vanilla.In(fmt.Sprintf("[%d]", i), err)
		}
		if err := p.circuitInputs(&in.Challenges[i]); err != nil {
			return nil, vanilla.In(fmt.Sprintf("[%d]", i), err)
		}
	}
	return in, nil
}

// sameRoots compares all roots that stand for comm_r_last and comm_c with those of the first challenge.
func sameRoots(first, p *ChallengeProof) error {
	if p.CommRLast.Root != first.CommRLast.Root {
		return vanilla.Errorf("comm_r_last_proof.root", "differs from that of the first challenge")
	}
	root := first.Column.Inclusion.Root
	if p.Column.Inclusion.Root != root {
		return vanilla.Errorf("replica_column_proofs.c_x.inclusion_proof.root", "differs from that of the first challenge")
	}
	for i := range p.DRGParents {
		if p.DRGParents[i].Inclusion.Root != root {
			return vanilla.Errorf(fmt.Sprintf("replica_column_proofs.drg_parents[%d].inclusion_proof.root", i), "differs from that of c_x")
		}
	}
	for i := range p.ExpParents {
		if p.ExpParents[i].Inclusion.Root != root {
			return vanilla.Errorf(fmt.Sprintf("replica_column_proofs.exp_parents[%d].inclusion_proof.root", i), "differs from that of c_x")
		}
	}
	return nil
}

func (p *ChallengeProof) circuitInputs(in *ChallengeInputs) error {
	if len(p.Labels) == 0 {
		return vanilla.Errorf("labeling_proofs", "is empty")
	}
	var v witness.Values
	in.Challenge = p.Labels[0].Node
	in.Leaf = v.Fr("comm_d_proofs.leaf", &p.CommD.Leaf)
	in.PathD = v.Path("comm_d_proofs", &p.CommD)
	in.PathRLast = v.Path("comm_r_last_proof", &p.CommRLast)
	in.PathC = v.Path("replica_column_proofs.c_x.inclusion_proof", &p.Column.Inclusion)
	if v.Err != nil {
		return v.Err
	}
	for i := range p.DRGParents {
		if err := p.DRGParents[i].circuitInputs(&in.Parents[i]); err != nil {
			return vanilla.In(fmt.Sprintf("replica_column_proofs.drg_parents[%d]", i), err)
		}
	}
	for i := range p.ExpParents {
		if err := p.ExpParents[i].circuitInputs(&in.Parents[DRGParents+i]); err != nil {
			return vanilla.In(fmt.Sprintf("replica_column_proofs.exp_parents[%d]", i), err)
		}
	}
	return nil
}

func (p *ColumnProof) circuitInputs(in *ColumnInputs) error {
	in.Rows = make([]fr.Element, len(p.Rows))
	if err := witness.Elements(in.Rows, p.Rows); err != nil {
		return vanilla.In("column.rows", err)
	}
	var v witness.Values
	in.Path = v.Path("inclusion_proof", &p.Inclusion)
	return v.Err
}
