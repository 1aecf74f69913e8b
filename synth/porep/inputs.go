package porep

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Public is what a verifier knows of a sector.
type Public struct {
	Config                        Config
	ReplicaID, CommD, CommR, Seed vanilla.Commitment
}

// Public returns the public part of a C1 output; the replica id is the one that stands in it (see ReplicaID).
func (c *C1) Public() *Public {
	return &Public{Config: c.Config, ReplicaID: c.ReplicaID, CommD: c.CommD, CommR: c.CommR, Seed: c.Seed}
}

// Inputs returns the public inputs of a partition (from 0) without ONE, in Montgomery form: replica id, comm_d, comm_r, then for each
// challenge the leaf indices of its Merkle paths in circuit order. Non-canonical commitments are an error.
func (p *Public) Inputs(partition int) ([]fr.Element, error) {
	return p.inputs(NewGraph(&p.Config), partition)
}

func (p *Public) inputs(g *Graph, partition int) ([]fr.Element, error) {
	if partition < 0 || partition >= p.Config.Partitions {
		return nil, fmt.Errorf("porep: no partition %d in %d", partition, p.Config.Partitions)
	}
	out := make([]fr.Element, 0, p.Config.InputCount())
	for _, c := range []struct {
		name string
		v    *vanilla.Commitment
	}{{"replica_id", &p.ReplicaID}, {"comm_d", &p.CommD}, {"comm_r", &p.CommR}} {
		x, err := c.v.Fr()
		if err != nil {
			return nil, vanilla.In(c.name, err)
		}
		out = append(out, x)
	}
	for _, c := range p.Challenges(partition) {
		node := fr.NewElement(c)
		out = append(out, node)
		for _, parent := range g.Parents(c) {
			out = append(out, fr.NewElement(uint64(parent)))
		}
		out = append(out, node, node, node)
	}
	return out, nil
}

// AllInputs returns Inputs of every partition.
func (p *Public) AllInputs() ([][]fr.Element, error) {
	g := NewGraph(&p.Config)
	out := make([][]fr.Element, p.Config.Partitions)
	for k := range out {
		var err error
		if out[k], err = p.inputs(g, k); err != nil {
			return nil, err
		}
	}
	return out, nil
}
