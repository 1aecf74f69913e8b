package vanillasim

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// PoSt returns the vanilla proofs of a number of sectors with ascending numbers (one for winning), and what a verifier knows of them:
// input for post.Assemble. Each sector costs about a Poseidon hash a level and challenge.
func PoSt(ctx context.Context, cfg post.Config, sectors int, o Options) (*post.Public, []*post.SectorProof, error) {
	tree, err := newLevels(cfg.Shape.Tree, cfg.Shape.Nodes)
	if err != nil {
		return nil, nil, err
	}
	src := newSource(o.Seed, "post")
	public := &post.Public{Config: cfg, Randomness: src.node(), Sectors: make([]post.Sector, sectors)}
	filler := tree.constant(src.element())
	proofs := make([]*post.SectorProof, sectors)
	seeds := make([]uint64, sectors)
	for i := range seeds {
		seeds[i] = src.Uint64()
	}
	err = par.Do(ctx, 0, sectors, func(_, i int) error {
		id := o.Sector + uint64(i)
		p, err := sectorProof(ctx, public, tree, filler, newSource(seeds[i], "sector"), id, i)
		if err != nil {
			return err
		}
		proofs[i] = p
		public.Sectors[i] = post.Sector{ID: id, CommR: p.CommR}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return public, proofs, nil
}

func sectorProof(ctx context.Context, public *post.Public, tree levels, filler []fr.Element, src source, id uint64, position int) (*post.SectorProof, error) {
	challenges := public.Config.Challenges(public.Randomness, id, position)
	leaves := make(map[uint64]fr.Element, len(challenges))
	for _, c := range challenges {
		leaves[c] = src.element()
	}
	t, err := newSparse(ctx, tree, filler, leaves)
	if err != nil {
		return nil, err
	}
	p := &post.SectorProof{SectorID: id, CommC: src.node(), CommRLast: t.root()}
	if p.CommR, err = vanilla.Poseidon2(&p.CommC, &p.CommRLast); err != nil {
		return nil, err
	}
	for _, c := range challenges {
		p.Inclusion = append(p.Inclusion, t.prove(c))
	}
	return p, nil
}
