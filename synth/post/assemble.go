package post

import (
	"fmt"

	"github.com/filgroth/filgroth/synth/vanilla"
)

// Partition is the vanilla proof of one partition: what its circuit is filled with.
type Partition struct {
	Config Config
	Index  int
	// Sectors are the circuit sectors, as many as the shape has. For window the first Real are sectors, the rest repeats the last
	// one; for winning all are the one sector, each with one of its challenges.
	Sectors []CircuitSector
	Real    int
}

// CircuitSector is one circuit sector. Its slices are shared with the SectorProof.
type CircuitSector struct {
	Sector           Sector
	Position         int // in the list of all sectors
	CommC, CommRLast vanilla.Commitment
	Inclusion        []vanilla.MerkleProof // Shape.Challenges of them
	Challenges       []uint64
}

// Assemble distributes the vanilla proofs of sectors over the partitions. Each sector needs a proof with its number, and each proof a
// sector; the order of proofs is free, that of sectors counts (see SortSectors). The first problem is returned, except for missing
// proofs and those of another comm_r: these are listed all in one *vanilla.CheckError.
func Assemble(public *Public, proofs []*SectorProof) ([]*Partition, error) {
	if err := public.check(); err != nil {
		return nil, err
	}
	byID, err := index(public, proofs)
	if err != nil {
		return nil, err
	}
	out := make([]*Partition, public.Config.Partitions(len(public.Sectors)))
	for k := range out {
		from, to, err := public.slice(k)
		if err != nil {
			return nil, err
		}
		out[k] = &Partition{Config: public.Config, Index: k, Real: to - from}
		for i := from; i < to; i++ {
			out[k].add(public, i, byID[public.Sectors[i].ID])
		}
		if public.Config.Winning {
			out[k].Real = len(out[k].Sectors)
		}
		for last := len(out[k].Sectors) - 1; len(out[k].Sectors) < public.Config.Shape.Sectors; {
			out[k].Sectors = append(out[k].Sectors, out[k].Sectors[last])
		}
	}
	return out, nil
}

// add appends the circuit sectors of one sector.
func (p *Partition) add(public *Public, i int, proof *SectorProof) {
	position := public.Offset + i
	s := CircuitSector{Sector: public.Sectors[i], Position: position, CommC: proof.CommC, CommRLast: proof.CommRLast}
	challenges := public.Config.Challenges(public.Randomness, s.Sector.ID, position)
	per := public.Config.Shape.Challenges
	for n := 0; n < len(challenges); n += per {
		s.Inclusion, s.Challenges = proof.Inclusion[n:n+per:n+per], challenges[n:n+per:n+per]
		p.Sectors = append(p.Sectors, s)
	}
}

// index finds the proof of every sector.
func index(public *Public, proofs []*SectorProof) (map[uint64]*SectorProof, error) {
	byID := make(map[uint64]*SectorProof, len(proofs))
	for i, p := range proofs {
		at := fmt.Sprintf("vanilla_proofs[%d]", i)
		if p == nil {
			return nil, vanilla.Errorf(at, "is missing")
		}
		if byID[p.SectorID] != nil {
			return nil, vanilla.Errorf(at+".sector_id", "is %d, of which there is a proof already", p.SectorID)
		}
		if err := vanilla.Validate(func(w vanilla.Walker) error { return p.walk(w, &public.Config) }); err != nil {
			return nil, vanilla.In(at, err)
		}
		byID[p.SectorID] = p
	}
	if err := complete(public, byID); err != nil {
		return nil, err
	}
	if len(byID) > len(public.Sectors) {
		listed := make(map[uint64]bool, len(public.Sectors))
		for _, s := range public.Sectors {
			listed[s.ID] = true
		}
		for i, p := range proofs {
			if !listed[p.SectorID] {
				return nil, vanilla.Errorf(fmt.Sprintf("vanilla_proofs[%d].sector_id", i), "is %d, which is not among the sectors", p.SectorID)
			}
		}
	}
	return byID, nil
}

// complete lists the sectors without a proof of their comm_r.
func complete(public *Public, byID map[uint64]*SectorProof) error {
	var bad []vanilla.Fault
	for i := range public.Sectors {
		s := &public.Sectors[i]
		f := vanilla.Faults{Partition: i / public.Config.Shape.Sectors, Item: i, Sector: s.ID, Prefix: fmt.Sprintf("sector %d", s.ID)}
		if p := byID[s.ID]; p == nil {
			f.Add("", "has no vanilla proof")
		} else if p.CommR != s.CommR {
			f.Add("comm_r", "of the vanilla proof is %v, the sector has %v", p.CommR, s.CommR)
		}
		bad = append(bad, f.List...)
	}
	return vanilla.AsCheckError(bad)
}
