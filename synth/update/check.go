package update

import (
	"context"
	"errors"
	"fmt"

	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// ErrPoseidonVariant: the vanilla side knows the network's circuit only, not the variant with a Poseidon data tree.
var ErrPoseidonVariant = errors.New("update: no vanilla proofs for the Poseidon variant")

// Check verifies that the vanilla proof of a partition (from 0) holds, so that its circuit is satisfied: commitments, all paths, the
// encoding of every challenged node, and the apex tree.
//
// Everything wrong is found in one pass and returned as a *vanilla.CheckError; a malformed structure is a *vanilla.FieldError. It runs
// on all processors and stops within a challenge when ctx ends.
func Check(ctx context.Context, public *Public, partition int, p *PartitionProof) error {
	if public.Shape.Poseidon {
		return ErrPoseidonVariant
	}
	challenges, err := public.Challenges(partition)
	if err != nil {
		return err
	}
	if err := vanilla.Validate(func(w vanilla.Walker) error { return p.walk(w, &public.Shape) }); err != nil {
		return vanilla.In(fmt.Sprintf("vanilla_proofs[%d]", partition), err)
	}
	k := &checker{public: public, p: p, partition: partition}
	if k.encoder, err = NewEncoder(public); err != nil {
		return err
	}
	shared := k.shared()
	results := make([]vanilla.Faults, len(challenges))
	err = par.Do(ctx, 0, len(results), func(_, i int) error {
		results[i] = k.challenge(i, challenges[i])
		return nil
	})
	if err != nil {
		return err
	}
	lists := [][]vanilla.Fault{shared}
	for i := range results {
		lists = append(lists, results[i].List)
	}
	return vanilla.AsCheckError(lists...)
}

type checker struct {
	public     *Public
	p          *PartitionProof
	partition  int
	encoder    *Encoder
	rOld, rNew vanilla.Commitment    // roots that hash to comm_r, or those of the first challenge
	above      []vanilla.PathElement // of tree D, above the apex tree
}

func (k *checker) faults(item int) vanilla.Faults {
	f := vanilla.Faults{Partition: k.partition, Item: item, Prefix: fmt.Sprintf("vanilla_proofs[%d]", k.partition)}
	if item >= 0 {
		f.Prefix += fmt.Sprintf(".challenge_proofs[%d]", item)
	}
	return f
}

// shared checks what all challenges have in common, and picks the roots and the path above the apex tree for the rest.
func (k *checker) shared() []vanilla.Fault {
	f := k.faults(-1)
	pick := func(name string, want vanilla.Commitment, get func(*ChallengeProof) *vanilla.MerkleProof) vanilla.Commitment {
		for i := range k.p.Challenges {
			root := get(&k.p.Challenges[i]).Root
			if h, err := vanilla.Poseidon2(&k.p.CommC, &root); err == nil && h == want {
				return root
			}
		}
		f.Add("comm_c", "does not hash to %s with any root of tree R", name)
		return get(&k.p.Challenges[0]).Root
	}
	k.rOld = pick("comm_r_old", k.public.CommROld, func(c *ChallengeProof) *vanilla.MerkleProof { return &c.ROld })
	k.rNew = pick("comm_r_new", k.public.CommRNew, func(c *ChallengeProof) *vanilla.MerkleProof { return &c.RNew })
	s := &k.public.Shape
	below := s.nodeBits() - s.partitionBits()
	k.above = k.p.Challenges[0].DNew.Base[below:]
	for i := range k.p.Challenges {
		if d := &k.p.Challenges[i].DNew; d.Root == k.public.CommDNew && d.VerifySHA256() {
			k.above = d.Base[below:]
			break
		}
	}
	k.apex(&f)
	return f.List
}

// apex hashes the apex leaves up to comm_d_new.
func (k *checker) apex(f *vanilla.Faults) {
	row := append([]vanilla.Commitment(nil), k.p.Apex...)
	for len(row) > 1 {
		for i := 0; i < len(row)/2; i++ {
			row[i] = vanilla.SHA256Pair(&row[2*i], &row[2*i+1])
		}
		row = row[:len(row)/2]
	}
	top := vanilla.MerkleProof{Leaf: row[0], Base: k.above}
	if root, ok := top.SHA256Root(); !ok || root != k.public.CommDNew {
		f.Add("apex_leafs", "do not hash to comm_d_new")
	}
}

func (k *checker) challenge(i int, c uint64) vanilla.Faults {
	f := k.faults(i)
	p := &k.p.Challenges[i]
	old := f.Merkle("proof_r_old", &p.ROld, vanilla.MerkleWant{Index: c, Root: k.rOld, RootName: "the root of tree R-last (old)"})
	data := f.Merkle("proof_d_new", &p.DNew, vanilla.MerkleWant{Index: c, Root: k.public.CommDNew, RootName: "comm_d_new", SHA256: true})
	replica := f.Merkle("proof_r_new", &p.RNew, vanilla.MerkleWant{Index: c, Root: k.rNew, RootName: "the root of tree R-last (new)"})
	if data {
		k.underApex(&f, p, c)
	}
	if old && data && replica {
		want, err := k.encoder.Encode(c, &p.ROld.Leaf, &p.DNew.Leaf)
		if err != nil || want != p.RNew.Leaf {
			f.Add("proof_r_new.data."+p.RNew.Form.String()+".leaf", "is not the encoding of the old replica node and the new data")
		}
	}
	return f
}

// underApex checks that the path of tree D runs through the apex leaf.
func (k *checker) underApex(f *vanilla.Faults, p *ChallengeProof, c uint64) {
	s := &k.public.Shape
	below := s.nodeBits() - s.partitionBits() - s.apexBits()
	bottom := vanilla.MerkleProof{Leaf: p.DNew.Leaf, Base: p.DNew.Base[:below]}
	got, ok := bottom.SHA256Root()
	at := c >> below & uint64(s.ApexLeaves-1)
	if !ok || got != k.p.Apex[at] {
		f.Add("proof_d_new", "does not run through apex_leafs[%d]", at)
	}
}
