package porep

import (
	"context"
	"fmt"

	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Check verifies that the vanilla proofs hold for the replica id, seed and commitments of the C1 output, so that the circuit of
// every partition is satisfied. It does all that the verification in SealCommitPhase1 does, and more: also the paths to comm_d and
// comm_r_last are hashed, and the parents' labels compared with their columns.
//
// Everything wrong is found in one pass and returned as a *vanilla.CheckError; a malformed structure (only possible if it did not
// come from a decoder) is a *vanilla.FieldError. It runs on all processors and stops within a challenge when ctx ends.
//
// The ticket and the sector's identity are not part of the proofs: see CheckReplicaID.
func Check(ctx context.Context, c *C1) error {
	if err := vanilla.Validate(c.walkBincode); err != nil {
		return err
	}
	k := &checker{c1: c, graph: NewGraph(&c.Config)}
	sector := k.sector()
	per := c.Config.Challenges
	results := make([]checked, c.Config.Partitions*per)
	challenges := make([][]uint64, c.Config.Partitions)
	public := c.Public()
	for i := range challenges {
		challenges[i] = public.Challenges(i)
	}
	err := par.Do(ctx, 0, len(results), func(_, i int) error {
		results[i] = k.challenge(i/per, i%per, challenges[i/per][i%per])
		return nil
	})
	if err != nil {
		return err
	}
	lists := [][]vanilla.Fault{sector, k.common(results)}
	for i := range results {
		lists = append(lists, results[i].faults.List)
	}
	return vanilla.AsCheckError(lists...)
}

// CheckReplicaID reports whether the replica id is that of the given miner's sector with this ticket and data.
func CheckReplicaID(c *C1, miner, sector uint64) error {
	want := ReplicaID(vanilla.ProverID(miner), sector, c.Ticket, c.CommD, c.Config.PoRepID)
	if want != c.ReplicaID {
		return vanilla.Errorf("replica_id", "is not that of sector %d of miner %d with this ticket and comm_d (%v)", sector, miner, want)
	}
	return nil
}

type checker struct {
	c1    *C1
	graph *Graph
	// roots that hash to comm_r (or, if no challenge has such a pair, those of the first)
	commC, commRLast vanilla.Commitment
}

// checked is the outcome of one challenge: whether challenge number and labels agree with the header, and all faults.
type checked struct {
	faults               vanilla.Faults
	number, labels, data bool
}

// sector checks what all challenges share and picks the roots to check them against.
func (k *checker) sector() []vanilla.Fault {
	c := k.c1
	f := vanilla.Faults{Partition: -1, Item: -1}
	for _, z := range []struct {
		name string
		v    *vanilla.Commitment
	}{{"comm_r", &c.CommR}, {"comm_d", &c.CommD}, {"seed", &c.Seed}} {
		if z.v.IsZero() {
			f.Prefix = z.name
			f.Add("", "is all zero")
		}
	}
	first := &c.Proofs[0][0]
	k.commC, k.commRLast = first.Column.Inclusion.Root, first.CommRLast.Root
	for i := range c.Proofs {
		for j := range c.Proofs[i] {
			p := &c.Proofs[i][j]
			h, err := vanilla.Poseidon2(&p.Column.Inclusion.Root, &p.CommRLast.Root)
			if err == nil && h == c.CommR {
				k.commC, k.commRLast = p.Column.Inclusion.Root, p.CommRLast.Root
				return f.List
			}
		}
	}
	f.Prefix = "comm_r"
	f.Add("", "is not the hash of comm_c and comm_r_last of any challenge")
	return f.List
}

// common adds one fault that names the header field when every challenge disagrees with it.
func (k *checker) common(results []checked) []vanilla.Fault {
	number, labels, data := false, false, false
	for i := range results {
		number = number || results[i].number
		labels = labels || results[i].labels
		data = data || results[i].data
	}
	f := vanilla.Faults{Partition: -1, Item: -1}
	switch {
	case !labels:
		f.Prefix = "replica_id"
		f.Add("", "does not give the labels of any proof")
	case !number && k.c1.Config.Mode == vanilla.NonInteractive:
		f.Prefix = "comm_r"
		f.Add("", "does not give the challenge of any proof")
	case !number:
		f.Prefix = "seed"
		f.Add("", "does not give the challenge of any proof")
	}
	if !data {
		f.Prefix = "comm_d"
		f.Add("", "is not the root of any data proof")
	}
	return f.List
}

func (k *checker) challenge(partition, item int, c uint64) checked {
	tag := ""
	if k.c1.Proof.Valid() {
		tag = "." + shapeTags[int(k.c1.Proof)%len(shapeTags)]
	}
	r := checked{faults: vanilla.Faults{Partition: partition, Item: item, Prefix: fmt.Sprintf("vanilla_proofs%s[%d][%d]", tag, partition, item)}}
	f := &r.faults
	p := &k.c1.Proofs[partition][item]
	r.data = p.CommD.Root == k.c1.CommD
	if r.number = p.CommD.Index() == c || p.Labels[0].Node == c; !r.number {
		// everything else would be compared with the wrong node: one fault says it all
		f.Add("", "proves challenge %d, want %d", p.Labels[0].Node, c)
		r.labels = Label(&k.c1.ReplicaID, 1, p.Labels[0].Node, p.Labels[0].Parents) == p.Column.Rows[0]
		return r
	}
	data := f.Merkle("comm_d_proofs", &p.CommD, vanilla.MerkleWant{Index: c, Root: k.c1.CommD, RootName: "comm_d", SHA256: true})
	replica := f.Merkle("comm_r_last_proof", &p.CommRLast, vanilla.MerkleWant{Index: c, Root: k.commRLast, RootName: "comm_r_last"})
	good := k.columns(f, p, c)
	r.labels = k.labels(f, p, c, good)
	if data && replica {
		k.encoding(f, p, c)
	}
	return r
}

// columns checks the column of the challenge (index 0 of the result) and those of its parents.
func (k *checker) columns(f *vanilla.Faults, p *ChallengeProof, c uint64) (good [1 + Parents]bool) {
	parents := k.graph.Parents(c)
	good[0] = k.column(f, "replica_column_proofs.c_x", &p.Column, c)
	for i := range p.DRGParents {
		good[1+i] = k.column(f, fmt.Sprintf("replica_column_proofs.drg_parents[%d]", i), &p.DRGParents[i], uint64(parents[i]))
	}
	for i := range p.ExpParents {
		at := DRGParents + i
		good[1+at] = k.column(f, fmt.Sprintf("replica_column_proofs.exp_parents[%d]", i), &p.ExpParents[i], uint64(parents[at]))
	}
	return good
}

func (k *checker) column(f *vanilla.Faults, field string, col *ColumnProof, node uint64) bool {
	n := len(f.List)
	if uint64(col.Index) != node {
		f.Add(field+".column.index", "is %d, want %d", col.Index, node)
	}
	proof := f.Merkle(field+".inclusion_proof", &col.Inclusion, vanilla.MerkleWant{Index: node, Root: k.commC, RootName: "comm_c"})
	h, err := HashColumn(col.Rows)
	if err != nil || proof && h != col.Inclusion.Leaf {
		f.Add(field+".column.rows", "do not hash to the leaf of the inclusion proof")
	}
	return len(f.List) == n
}

// labels checks the label of every layer; parents are compared with those columns that are good. It reports whether all labels
// follow from the replica id.
func (k *checker) labels(f *vanilla.Faults, p *ChallengeProof, c uint64, good [1 + Parents]bool) bool {
	all := true
	for l := 1; l <= k.c1.Config.Layers; l++ {
		lp := &p.Labels[l-1]
		field := fmt.Sprintf("labeling_proofs[%d]", l-1)
		if !k.labelProof(f, field, lp, l, c) || !k.parents(f, field, p, l, good) {
			continue
		}
		if Label(&k.c1.ReplicaID, lp.Layer, lp.Node, lp.Parents) != p.Column.Rows[l-1] {
			all = false
			if good[0] {
				f.Add(field, "the label differs from replica_column_proofs.c_x.column.rows[%d]", l-1)
			}
		}
	}
	return all
}

func (k *checker) labelProof(f *vanilla.Faults, field string, lp *LabelProof, layer int, node uint64) bool {
	n := len(f.List)
	if lp.Layer != uint32(layer) {
		f.Add(field+".layer_index", "is %d, want %d", lp.Layer, layer)
	}
	if lp.Node != node {
		f.Add(field+".node", "is %d, want %d", lp.Node, node)
	}
	return len(f.List) == n
}

// parents compares the parents' labels of a layer with the columns.
func (k *checker) parents(f *vanilla.Faults, field string, p *ChallengeProof, layer int, good [1 + Parents]bool) bool {
	n := len(f.List)
	own := Parents
	if layer == 1 {
		own = DRGParents
	}
	for j := range p.Labels[layer-1].Parents {
		i := j % own
		row, col := layer-1, "drg_parents"
		src := p.DRGParents[:]
		at := i
		if i >= DRGParents {
			row, col, src, at = layer-2, "exp_parents", p.ExpParents[:], i-DRGParents
		}
		if good[1+i] && p.Labels[layer-1].Parents[j] != src[at].Rows[row] {
			f.Add(fmt.Sprintf("%s.parents[%d]", field, j), "differs from replica_column_proofs.%s[%d].column.rows[%d]", col, at, row)
		}
	}
	return len(f.List) == n
}

// encoding checks that replica node = label of the last layer + data node.
func (k *checker) encoding(f *vanilla.Faults, p *ChallengeProof, c uint64) {
	e := &p.Encoding
	last := &p.Labels[k.c1.Config.Layers-1]
	if !k.labelProof(f, "encoding_proof", e, k.c1.Config.Layers, c) {
		return
	}
	for j := range e.Parents {
		if e.Parents[j] != last.Parents[j] {
			f.Add(fmt.Sprintf("encoding_proof.parents[%d]", j), "differs from labeling_proofs[%d].parents[%d]", k.c1.Config.Layers-1, j)
			return
		}
	}
	key := Label(&k.c1.ReplicaID, e.Layer, e.Node, e.Parents)
	want, err := Encode(&key, &p.CommD.Leaf)
	if err != nil || want != p.CommRLast.Leaf {
		f.Add("encoding_proof", "label and data node do not add up to the replica node")
	}
}
