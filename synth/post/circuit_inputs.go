package post

import (
	"fmt"

	"github.com/filgroth/filgroth/synth/internal/witness"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Circuit returns the partition's circuit with its values. It does not check that the vanilla proofs hold (see Check): bad ones
// make an assignment that does not satisfy the system. Values that are not canonical are a *vanilla.FieldError.
func (p *Partition) Circuit() (*Circuit, error) {
	if p.Real > len(p.Sectors) {
		return nil, fmt.Errorf("%w: %d sectors of which %d are real", ErrCircuitInputs, len(p.Sectors), p.Real)
	}
	in := &CircuitInputs{Sectors: make([]SectorInputs, len(p.Sectors))}
	for i := range p.Sectors {
		if i >= p.Real && p.Real > 0 {
			in.Sectors[i] = in.Sectors[p.Real-1] // padding repeats the last sector
			continue
		}
		if err := p.Sectors[i].circuitInputs(&in.Sectors[i]); err != nil {
			return nil, vanilla.In(fmt.Sprintf("sectors[%d]", p.Sectors[i].Position), err)
		}
	}
	return &Circuit{Shape: p.Config.Shape, Inputs: in}, nil
}

func (s *CircuitSector) circuitInputs(in *SectorInputs) error {
	var v witness.Values
	in.CommR = v.Fr("comm_r", &s.Sector.CommR)
	in.CommC = v.Fr("comm_c", &s.CommC)
	in.CommRLast = v.Fr("comm_r_last", &s.CommRLast)
	in.Leaves = make([]LeafInputs, len(s.Inclusion))
	for n := range s.Inclusion {
		p := &s.Inclusion[n]
		in.Leaves[n].Leaf = v.Fr(fmt.Sprintf("inclusion_proofs[%d].leaf", n), &p.Leaf)
		in.Leaves[n].Path = v.Path(fmt.Sprintf("inclusion_proofs[%d]", n), p)
		if v.Err != nil {
			return v.Err
		}
	}
	return v.Err
}
