package post

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Public is what a verifier knows of all sectors that are proven together.
type Public struct {
	Config     Config
	Randomness vanilla.Commitment
	Sectors    []Sector // see SortSectors; one for winning
	// Offset is the position of Sectors[0] in the list of all sectors, for one window partition proven alone: the challenges of API
	// 1.0.0 depend on it.
	Offset int
}

// check refuses what no proof can exist for.
func (p *Public) check() error {
	if !p.Randomness.Canonical() {
		return vanilla.Errorf("randomness", "is not a canonical field element (callers clear the two top bits of byte 31)")
	}
	if len(p.Sectors) == 0 {
		return vanilla.Errorf("sectors", "is empty")
	}
	if p.Config.Winning && len(p.Sectors) != 1 {
		return vanilla.Errorf("sectors", "has %d elements, want 1 for a winning proof", len(p.Sectors))
	}
	first := make(map[uint64]int, len(p.Sectors))
	for i := range p.Sectors {
		if !p.Sectors[i].CommR.Canonical() {
			return vanilla.Errorf(fmt.Sprintf("sectors[%d].comm_r", i), "is not a canonical field element")
		}
		id := p.Sectors[i].ID
		if j, twice := first[id]; twice {
			return vanilla.Errorf(fmt.Sprintf("sectors[%d].sector_id", i), "is %d, as in sectors[%d]", id, j)
		}
		first[id] = i
	}
	return nil
}

// slice returns the bounds of a partition in the list of sectors.
func (p *Public) slice(partition int) (from, to int, err error) {
	if n := p.Config.Partitions(len(p.Sectors)); partition < 0 || partition >= n {
		return 0, 0, fmt.Errorf("post: no partition %d in %d", partition, n)
	}
	from = partition * p.Config.Shape.Sectors
	return from, min(from+p.Config.Shape.Sectors, len(p.Sectors)), nil
}

// Inputs returns the public inputs of a partition (from 0) without ONE, in Montgomery form: for each circuit sector comm_r and its
// challenges. A partition with fewer sectors than the circuit repeats the last one.
func (p *Public) Inputs(partition int) ([]fr.Element, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return p.inputs(partition)
}

// AllInputs returns Inputs of every partition. It stops between partitions when ctx ends.
func (p *Public) AllInputs(ctx context.Context) ([][]fr.Element, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	out := make([][]fr.Element, p.Config.Partitions(len(p.Sectors)))
	for k := range out {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if out[k], err = p.inputs(k); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inputs is Inputs of what was checked.
func (p *Public) inputs(partition int) ([]fr.Element, error) {
	from, to, err := p.slice(partition)
	if err != nil {
		return nil, err
	}
	out := make([]fr.Element, 0, p.Config.InputCount())
	per := p.Config.Shape.Challenges
	var block []fr.Element
	for i := from; i < to; i++ {
		block = block[:0]
		commR := p.Sectors[i].CommR.FrReduced() // canonical, see check
		for n, c := range p.Config.Challenges(p.Randomness, p.Sectors[i].ID, p.Offset+i) {
			if n%per == 0 {
				block = append(block, commR)
			}
			block = append(block, fr.NewElement(c))
		}
		out = append(out, block...)
	}
	for len(out) < p.Config.InputCount() {
		out = append(out, block...)
	}
	return out, nil
}
