package post

import (
	"context"
	"fmt"

	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Check verifies that the vanilla proofs of a partition hold, so that its circuit is satisfied: for each sector comm_r is the hash of
// comm_c and comm_r_last, and every challenged leaf's path leads to comm_r_last. For winning all 66 challenges are compared.
//
// All bad sectors are found in one pass and returned, with their numbers, as a *vanilla.CheckError. It runs on all processors and
// stops within a sector when ctx ends.
func Check(ctx context.Context, p *Partition) error {
	results := make([]vanilla.Faults, p.Real)
	err := par.Do(ctx, 0, p.Real, func(_, i int) error {
		results[i] = p.checkSector(i)
		return nil
	})
	if err != nil {
		return err
	}
	lists := make([][]vanilla.Fault, len(results))
	for i := range results {
		lists[i] = results[i].List
	}
	return vanilla.AsCheckError(lists...)
}

func (p *Partition) checkSector(i int) vanilla.Faults {
	s := &p.Sectors[i]
	f := vanilla.Faults{Partition: p.Index, Item: s.Position, Sector: s.Sector.ID, Prefix: fmt.Sprintf("sector %d", s.Sector.ID)}
	first := 0
	if p.Config.Winning {
		first = i * p.Config.Shape.Challenges
	}
	if first == 0 {
		h, err := vanilla.Poseidon2(&s.CommC, &s.CommRLast)
		if err != nil || h != s.Sector.CommR {
			f.Add("comm_r", "is not the hash of comm_c and comm_r_last")
		}
	}
	for n := range s.Inclusion {
		m := &s.Inclusion[n]
		field := fmt.Sprintf("inclusion_proofs[%d]", first+n)
		if err := m.CheckShape(p.Config.Shape.Tree, p.Config.Shape.Nodes); err != nil {
			f.Add(field, "%v", err)
			continue
		}
		f.Merkle(field, m, vanilla.MerkleWant{Index: s.Challenges[n], Root: s.CommRLast, RootName: "comm_r_last"})
	}
	return f
}
