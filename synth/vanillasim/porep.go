package vanillasim

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/synth/porep"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// ModeError reports a challenge derivation that cannot be simulated: in these modes the challenges are a hash of comm_r, which
// depends on the nodes that are challenged.
type ModeError struct{ Mode vanilla.Mode }

func (e *ModeError) Error() string {
	return fmt.Sprintf("vanillasim: %v proofs of replication cannot be simulated, only interactive ones", e.Mode)
}

// SealProof returns the C1 output of a sector of a registered (interactive) type.
func SealProof(ctx context.Context, p vanilla.SealProof, o Options) (*porep.C1, error) {
	cfg, err := porep.ProofConfig(p)
	if err != nil {
		return nil, err
	}
	c, err := PoRep(ctx, cfg, o)
	if err == nil {
		c.Proof = p
	}
	return c, err
}

// PoRep returns the C1 output of a sector of any shape with interactive challenges; its Proof is -1. All data nodes are equal. The
// time goes into one Poseidon hash a level for each of the 15 columns and the replica node of a challenge.
func PoRep(ctx context.Context, cfg porep.Config, o Options) (*porep.C1, error) {
	if cfg.Mode != vanilla.Interactive {
		return nil, &ModeError{cfg.Mode}
	}
	src := newSource(o.Seed, "porep")
	s := &sealing{cfg: cfg, columns: map[uint64][]vanilla.Commitment{}}
	var err error
	if s.tree, err = newLevels(cfg.Tree, cfg.Nodes); err != nil {
		return nil, err
	}
	c := &porep.C1{Proof: -1, Config: cfg}
	c.Ticket, c.Seed = src.node(), src.node()
	s.data = constantData(src.node(), bits.Len64(cfg.Nodes)-1)
	c.CommD = s.data[len(s.data)-1]
	c.ReplicaID = porep.ReplicaID(vanilla.ProverID(o.Miner), o.Sector, c.Ticket, c.CommD, cfg.PoRepID)
	s.challenge(c.Public())
	s.freeColumns(src)
	s.labels(&c.ReplicaID)
	if err := s.commit(ctx, c, src); err != nil {
		return nil, err
	}
	return c, s.proofs(ctx, c)
}

// sealing is a simulated sector at work.
type sealing struct {
	cfg        porep.Config
	tree       levels
	data       []vanilla.Commitment
	challenges [][]uint64 // by partition
	challenged []uint64   // ascending, each once
	parents    map[uint64][porep.Parents]uint32
	columns    map[uint64][]vanilla.Commitment // of challenged nodes and their parents
	treeC      *sparse
	treeR      *sparse
}

func (s *sealing) challenge(public *porep.Public) {
	g := porep.NewGraph(&s.cfg)
	s.parents = map[uint64][porep.Parents]uint32{}
	for k := 0; k < s.cfg.Partitions; k++ {
		s.challenges = append(s.challenges, public.Challenges(k))
		for _, c := range s.challenges[k] {
			if _, again := s.parents[c]; !again {
				s.parents[c] = g.Parents(c)
				s.challenged = append(s.challenged, c)
			}
		}
	}
	slices.Sort(s.challenged)
}

// freeColumns draws the labels of parents that are not challenged themselves.
func (s *sealing) freeColumns(src source) {
	for _, c := range s.challenged {
		s.columns[c] = make([]vanilla.Commitment, s.cfg.Layers)
	}
	for _, c := range s.challenged {
		for _, p := range s.parents[c] {
			if s.columns[uint64(p)] != nil {
				continue
			}
			col := make([]vanilla.Commitment, s.cfg.Layers)
			for l := range col {
				col[l] = src.node()
			}
			s.columns[uint64(p)] = col
		}
	}
}

// labels computes the labels of challenged nodes. Layer by layer and in ascending order, so that a challenged parent is ready: in a
// layer parents are smaller, in the layer before everything is.
func (s *sealing) labels(replicaID *vanilla.Commitment) {
	for layer := 1; layer <= s.cfg.Layers; layer++ {
		for _, c := range s.challenged {
			s.columns[c][layer-1] = porep.Label(replicaID, uint32(layer), c, s.parentLabels(c, layer))
		}
	}
}

// parentLabels are the 37 labels that the label of a node in a layer (from 1) hashes.
func (s *sealing) parentLabels(node uint64, layer int) []vanilla.Commitment {
	var own []vanilla.Commitment
	for i, p := range s.parents[node] {
		switch {
		case i < porep.DRGParents:
			own = append(own, s.columns[uint64(p)][layer-1])
		case layer > 1:
			own = append(own, s.columns[uint64(p)][layer-2])
		}
	}
	return porep.ExpandParents(own)
}

// commit builds the trees C and R-last.
func (s *sealing) commit(ctx context.Context, c *porep.C1, src source) error {
	nodes := make([]uint64, 0, len(s.columns))
	for n := range s.columns {
		nodes = append(nodes, n)
	}
	slices.Sort(nodes)
	hashes := make([]fr.Element, len(nodes))
	err := par.Range(ctx, 0, len(nodes), 64, func(_, from, to int) error {
		for i := from; i < to; i++ {
			h, err := porep.HashColumn(s.columns[nodes[i]])
			if err != nil {
				return err
			}
			hashes[i] = h.FrReduced()
		}
		return nil
	})
	if err != nil {
		return err
	}
	columns := make(map[uint64]fr.Element, len(nodes))
	for i, n := range nodes {
		columns[n] = hashes[i]
	}
	replica := make(map[uint64]fr.Element, len(s.challenged))
	for _, n := range s.challenged {
		e, err := porep.Encode(&s.columns[n][s.cfg.Layers-1], &s.data[0])
		if err != nil {
			return err
		}
		replica[n] = e.FrReduced()
	}
	filler := s.tree.constant(src.element())
	if s.treeC, err = newSparse(ctx, s.tree, filler, columns); err != nil {
		return err
	}
	if s.treeR, err = newSparse(ctx, s.tree, filler, replica); err != nil {
		return err
	}
	commC, commRLast := s.treeC.root(), s.treeR.root()
	c.CommR, err = vanilla.Poseidon2(&commC, &commRLast)
	return err
}

func (s *sealing) proofs(ctx context.Context, c *porep.C1) error {
	c.Proofs = make([][]porep.ChallengeProof, s.cfg.Partitions)
	for k := range c.Proofs {
		c.Proofs[k] = make([]porep.ChallengeProof, s.cfg.Challenges)
	}
	per := s.cfg.Challenges
	return par.Do(ctx, 0, s.cfg.Partitions*per, func(_, i int) error {
		s.proof(&c.Proofs[i/per][i%per], s.challenges[i/per][i%per])
		return nil
	})
}

func (s *sealing) proof(p *porep.ChallengeProof, c uint64) {
	p.CommD = proveData(s.data, c)
	p.CommRLast = s.treeR.prove(c)
	p.Column = s.column(c)
	for i, parent := range s.parents[c] {
		if i < porep.DRGParents {
			p.DRGParents[i] = s.column(uint64(parent))
		} else {
			p.ExpParents[i-porep.DRGParents] = s.column(uint64(parent))
		}
	}
	p.Labels = make([]porep.LabelProof, s.cfg.Layers)
	for l := range p.Labels {
		p.Labels[l] = porep.LabelProof{Parents: s.parentLabels(c, l+1), Layer: uint32(l + 1), Node: c}
	}
	p.Encoding = porep.LabelProof{Parents: s.parentLabels(c, s.cfg.Layers), Layer: uint32(s.cfg.Layers), Node: c}
}

func (s *sealing) column(node uint64) porep.ColumnProof {
	rows := append([]vanilla.Commitment(nil), s.columns[node]...)
	return porep.ColumnProof{Index: uint32(node), Rows: rows, Inclusion: s.treeC.prove(node)}
}
