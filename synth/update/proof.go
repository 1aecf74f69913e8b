package update

import "github.com/filgroth/filgroth/synth/vanilla"

// PartitionProof is the vanilla proof of one partition.
type PartitionProof struct {
	CommC vanilla.Commitment
	// Apex is the partition's chunk of that row of the new data tree which has Shape.ApexLeaves leaves a partition.
	Apex       []vanilla.Commitment
	Challenges []ChallengeProof
}

// ChallengeProof is the vanilla proof of one challenge.
type ChallengeProof struct {
	ROld, DNew, RNew vanilla.MerkleProof // old replica, new data (binary SHA-256 tree), new replica
}

// DecodePartitionProof decodes the bincode form. Lengths and forms must be those of the shape; errors are *vanilla.FieldError.
// It checks form only: see Check.
func DecodePartitionProof(s *CircuitShape, b []byte) (*PartitionProof, error) {
	p := new(PartitionProof)
	if err := vanilla.ReadBincode(b, func(w vanilla.Walker) error { return p.walk(w, s) }); err != nil {
		return nil, err
	}
	return p, nil
}

// DecodePartitionProofJSON decodes the JSON form; unknown members are ignored.
func DecodePartitionProofJSON(s *CircuitShape, b []byte) (*PartitionProof, error) {
	p := new(PartitionProof)
	if err := vanilla.ReadJSON(b, func(w vanilla.Walker) error { return p.walk(w, s) }); err != nil {
		return nil, err
	}
	return p, nil
}

// AppendBincode appends the bincode form.
func (p *PartitionProof) AppendBincode(s *CircuitShape, dst []byte) ([]byte, error) {
	return vanilla.AppendBincode(dst, func(w vanilla.Walker) error { return p.walk(w, s) })
}

// AppendJSON appends the JSON form, byte for byte as the deployed stack writes it.
func (p *PartitionProof) AppendJSON(s *CircuitShape, dst []byte) ([]byte, error) {
	return vanilla.AppendJSON(dst, func(w vanilla.Walker) error { return p.walk(w, s) })
}

func (p *PartitionProof) walk(w vanilla.Walker, s *CircuitShape) error {
	return w.Object(
		vanilla.Field{Name: "comm_c", Walk: func() error { return w.Node(&p.CommC) }},
		vanilla.Field{Name: "apex_leafs", Walk: func() error { return vanilla.NodeSlice(w, &p.Apex, s.ApexLeaves) }},
		vanilla.Field{Name: "challenge_proofs", Walk: func() error {
			return vanilla.Slice(w, &p.Challenges, s.Challenges, func(_ int, c *ChallengeProof) error { return c.walk(w, s) })
		}})
}

func (c *ChallengeProof) walk(w vanilla.Walker, s *CircuitShape) error {
	return w.Object(
		vanilla.Field{Name: "proof_r_old", Walk: func() error { return c.ROld.Walk(w, s.Tree, s.Nodes) }},
		vanilla.Field{Name: "proof_d_new", Walk: func() error { return c.DNew.Walk(w, vanilla.Binary, s.Nodes) }},
		vanilla.Field{Name: "proof_r_new", Walk: func() error { return c.RNew.Walk(w, s.Tree, s.Nodes) }})
}
