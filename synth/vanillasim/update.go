package vanillasim

import (
	"context"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/synth/update"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Update returns the vanilla proofs of all partitions of a sector update, and what a verifier knows of it. The old replica and the new
// data are constant, hence the new replica is constant in each region of equal encoding randomness.
func Update(ctx context.Context, shape update.CircuitShape, o Options) (*update.Public, []*update.PartitionProof, error) {
	if shape.Poseidon {
		return nil, nil, update.ErrPoseidonVariant
	}
	tree, err := newLevels(shape.Tree, shape.Nodes)
	if err != nil {
		return nil, nil, err
	}
	src := newSource(o.Seed, "update")
	u := &updating{shape: shape, commC: src.node(), old: src.node()}
	u.data = constantData(src.node(), bits.Len64(shape.Nodes)-1)
	oldTree := tree.constant(u.old.FrReduced())
	u.rOld = func(level int, _ uint64) fr.Element { return oldTree[level] }
	public := &update.Public{Shape: shape, HSelect: shape.DefaultH(), CommDNew: u.data[len(u.data)-1]}
	if public.CommROld, err = u.commR(oldTree[len(oldTree)-1]); err != nil {
		return nil, nil, err
	}
	rows, err := u.encode(ctx, public, tree)
	if err != nil {
		return nil, nil, err
	}
	u.rNew = rows.node
	if public.CommRNew, err = u.commR(rows.node(len(tree.arities), 0)); err != nil {
		return nil, nil, err
	}
	proofs := make([]*update.PartitionProof, shape.Partitions)
	err = par.Do(ctx, 0, len(proofs), func(_, k int) error {
		p, err := u.partition(public, tree, k)
		proofs[k] = p
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return public, proofs, nil
}

// updating is a simulated update at work.
type updating struct {
	shape      update.CircuitShape
	commC, old vanilla.Commitment
	data       []vanilla.Commitment // levels of tree D
	rOld, rNew func(level int, i uint64) fr.Element
}

func (u *updating) commR(root fr.Element) (vanilla.Commitment, error) {
	r := vanilla.FromFr(root)
	return vanilla.Poseidon2(&u.commC, &r)
}

// regions is a tree whose leaves are constant in regions of equal size. While a level's nodes lie inside a region there is one value a
// region, above all nodes are stored.
type regions struct {
	rows [][]fr.Element
	per  []uint64 // nodes of the level that share one stored value
}

func (r *regions) node(level int, i uint64) fr.Element { return r.rows[level][i/r.per[level]] }

// encode computes the new tree R.
func (u *updating) encode(ctx context.Context, public *update.Public, tree levels) (*regions, error) {
	encoder, err := update.NewEncoder(public)
	if err != nil {
		return nil, err
	}
	count := encoder.Region(u.shape.Nodes-1) + 1
	size := u.shape.Nodes / count
	leaves := make([]fr.Element, count)
	for i := range leaves {
		n, err := encoder.Encode(uint64(i)*size, &u.old, &u.data[0])
		if err != nil {
			return nil, err
		}
		leaves[i] = n.FrReduced()
	}
	r := &regions{rows: [][]fr.Element{leaves}, per: []uint64{size}}
	for l, k := range tree.arities {
		arity := uint64(k)
		n, per := uint64(len(r.rows[l])), r.per[l]/arity
		if r.per[l]%arity != 0 {
			// the level's nodes span several regions
			n, per = n*r.per[l]/arity, 1
		}
		row := make([]fr.Element, n)
		err := par.Range(ctx, 0, len(row), 64, func(_, from, to int) error {
			for i := from; i < to; i++ {
				first := uint64(i) * per * arity
				row[i] = hashRow(k, func(j int) fr.Element { return r.node(l, first+uint64(j)) })
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		r.rows, r.per = append(r.rows, row), append(r.per, per)
	}
	return r, nil
}

func (u *updating) partition(public *update.Public, tree levels, k int) (*update.PartitionProof, error) {
	challenges, err := public.Challenges(k)
	if err != nil {
		return nil, err
	}
	below := bits.Len64(u.shape.Nodes/uint64(u.shape.Partitions*u.shape.ApexLeaves)) - 1
	p := &update.PartitionProof{CommC: u.commC, Apex: make([]vanilla.Commitment, u.shape.ApexLeaves)}
	for i := range p.Apex {
		p.Apex[i] = u.data[below]
	}
	for _, c := range challenges {
		p.Challenges = append(p.Challenges, update.ChallengeProof{
			ROld: tree.proof(c, u.rOld), DNew: proveData(u.data, c), RNew: tree.proof(c, u.rNew),
		})
	}
	return p, nil
}
