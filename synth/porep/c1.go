package porep

import (
	"context"

	"github.com/filgroth/filgroth/synth/vanilla"
)

// C1 is the output of SealCommitPhase1: the vanilla proofs of all partitions of a sector.
type C1 struct {
	// Proof is the registered type, or -1 for a test shape (which has no JSON form).
	Proof  vanilla.SealProof
	Config Config
	// Proofs are indexed by partition, then by challenge.
	Proofs                                [][]ChallengeProof
	CommR, CommD, ReplicaID, Seed, Ticket vanilla.Commitment
}

// ChallengeProof is the vanilla proof of one challenge.
type ChallengeProof struct {
	CommD      vanilla.MerkleProof // of the data node, binary SHA-256 tree
	CommRLast  vanilla.MerkleProof // of the replica node
	Column     ColumnProof         // of the challenge itself ("c_x")
	DRGParents [DRGParents]ColumnProof
	ExpParents [ExpParents]ColumnProof
	Labels     []LabelProof // one a layer
	Encoding   LabelProof   // the label of the last layer, again
}

// ColumnProof proves the labels of one node in all layers: the leaf of tree C is the hash of the rows.
type ColumnProof struct {
	Index     uint32
	Rows      []vanilla.Commitment // label in layers 1, 2, ...
	Inclusion vanilla.MerkleProof
}

// LabelProof is the preimage of a label: 37 parent labels, repetitions included.
type LabelProof struct {
	Parents []vanilla.Commitment
	Layer   uint32 // from 1
	Node    uint64
}

// shapeTags are the names under which the proofs of each size stand in the JSON, whatever the registered proof.
var shapeTags = func() (t []string) {
	for i := range vanilla.RegisteredSizes {
		t = append(t, vanilla.SealProof(i).String())
	}
	return t
}()

// DecodeC1 decodes the JSON form of a C1 output, or the envelope around it that benchmarks and proving daemons use (see
// DecodeEnvelope). Members may come in any order, unknown ones are ignored; anything missing, mistyped, out of range or of another
// size than the registered proof has is a *vanilla.FieldError that names the field. It checks form only: see Check.
func DecodeC1(b []byte) (*C1, error) { return DecodeC1Context(context.Background(), b) }

// DecodeC1Context is DecodeC1 that stops between challenges when ctx ends, with its error: the document of a non-interactive
// sector of 32 GiB has 700 MB.
func DecodeC1Context(ctx context.Context, b []byte) (*C1, error) {
	first, err := vanilla.FirstMember(b, "registered_proof", envelopeMember)
	if err != nil {
		return nil, err
	}
	if first == envelopeMember {
		e, err := decodeEnvelope(ctx, b)
		if err != nil {
			return nil, err
		}
		return e.C1, nil
	}
	return decodePlain(ctx, b)
}

func decodePlain(ctx context.Context, b []byte) (*C1, error) {
	c := &C1{Proof: -1}
	if err := registeredProof(b, c); err != nil {
		return nil, err
	}
	if err := vanilla.ReadJSON(b, func(w vanilla.Walker) error { return c.walkJSON(ctx, w) }); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return c, nil
}

// registeredProof reads that one member first, wherever it stands, because the sizes of all others follow from it.
func registeredProof(b []byte, c *C1) error {
	return vanilla.ReadMember(b, "registered_proof", func(w vanilla.Walker) error {
		var name string
		if err := w.Text(&name); err != nil {
			return err
		}
		p, err := vanilla.ParseSealProof(name)
		if err != nil {
			return err
		}
		c.Proof = p
		c.Config, err = ProofConfig(p)
		return err
	})
}

// AppendJSON appends the JSON form, byte for byte as the deployed stack writes it.
func (c *C1) AppendJSON(dst []byte) ([]byte, error) {
	if !c.Proof.Valid() {
		return dst, vanilla.Errorf("registered_proof", "a test shape has no JSON form")
	}
	return vanilla.AppendJSON(dst, func(w vanilla.Walker) error { return c.walkJSON(context.Background(), w) })
}

func (c *C1) walkJSON(ctx context.Context, w vanilla.Walker) error {
	name := c.Proof.String()
	size := int(c.Proof) % len(shapeTags)
	sel := size
	fields := []vanilla.Field{
		{Name: "registered_proof", Walk: func() error { return w.Text(&name) }},
		{Name: "vanilla_proofs", Walk: func() error {
			return w.Variant(shapeTags, &sel, func() error {
				if sel != size {
					return vanilla.Errorf("", "proofs of %s sectors under registered_proof %s", vanilla.RegisteredSizes[sel], c.Proof)
				}
				return c.walkProofs(ctx, w)
			})
		}},
	}
	return w.Object(append(fields, c.commitmentFields(w)...)...)
}

func (c *C1) commitmentFields(w vanilla.Walker) []vanilla.Field {
	node := func(name string, v *vanilla.Commitment) vanilla.Field {
		return vanilla.Field{Name: name, Walk: func() error { return w.Node(v) }}
	}
	raw := func(name string, v *vanilla.Commitment) vanilla.Field {
		return vanilla.Field{Name: name, Walk: func() error { return w.Bytes32(v) }}
	}
	return []vanilla.Field{node("comm_r", &c.CommR), node("comm_d", &c.CommD), node("replica_id", &c.ReplicaID), raw("seed", &c.Seed), raw("ticket", &c.Ticket)}
}

// DecodeC1Bincode decodes the inner bincode form (without registered proof and shape), which some phase 1 implementations hand over.
func DecodeC1Bincode(p vanilla.SealProof, b []byte) (*C1, error) {
	cfg, err := ProofConfig(p)
	if err != nil {
		return nil, err
	}
	c := &C1{Proof: p, Config: cfg}
	if err := vanilla.ReadBincode(b, c.walkBincode); err != nil {
		return nil, err
	}
	return c, nil
}

// AppendBincode appends the form that DecodeC1Bincode reads.
func (c *C1) AppendBincode(dst []byte) ([]byte, error) {
	return vanilla.AppendBincode(dst, c.walkBincode)
}

func (c *C1) walkBincode(w vanilla.Walker) error {
	fields := []vanilla.Field{{Name: "vanilla_proofs", Walk: func() error { return c.walkProofs(context.Background(), w) }}}
	return w.Object(append(fields, c.commitmentFields(w)...)...)
}

func (c *C1) walkProofs(ctx context.Context, w vanilla.Walker) error {
	return vanilla.Slice(w, &c.Proofs, c.Config.Partitions, func(_ int, part *[]ChallengeProof) error {
		return vanilla.Slice(w, part, c.Config.Challenges, func(_ int, p *ChallengeProof) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return p.walk(w, c.Config.Shape)
		})
	})
}

func (p *ChallengeProof) walk(w vanilla.Walker, s Shape) error {
	return w.Object(
		vanilla.Field{Name: "comm_d_proofs", Walk: func() error { return p.CommD.Walk(w, vanilla.Binary, s.Nodes) }},
		vanilla.Field{Name: "comm_r_last_proof", Walk: func() error { return p.CommRLast.Walk(w, s.Tree, s.Nodes) }},
		vanilla.Field{Name: "replica_column_proofs", Walk: func() error {
			return w.Object(
				vanilla.Field{Name: "c_x", Walk: func() error { return p.Column.walk(w, s) }},
				vanilla.Field{Name: "drg_parents", Walk: func() error { return walkColumns(w, p.DRGParents[:], s) }},
				vanilla.Field{Name: "exp_parents", Walk: func() error { return walkColumns(w, p.ExpParents[:], s) }})
		}},
		vanilla.Field{Name: "labeling_proofs", Walk: func() error {
			return vanilla.Slice(w, &p.Labels, s.Layers, func(_ int, l *LabelProof) error { return l.walk(w) })
		}},
		vanilla.Field{Name: "encoding_proof", Walk: func() error { return p.Encoding.walk(w) }})
}

func walkColumns(w vanilla.Walker, cols []ColumnProof, s Shape) error {
	return w.List(len(cols), func(i int) error { return cols[i].walk(w, s) })
}

func (p *ColumnProof) walk(w vanilla.Walker, s Shape) error {
	return w.Object(
		vanilla.Field{Name: "column", Walk: func() error {
			return w.Object(
				vanilla.Field{Name: "index", Walk: func() error { return w.U32(&p.Index) }},
				vanilla.Field{Name: "rows", Walk: func() error { return vanilla.NodeSlice(w, &p.Rows, s.Layers) }},
				vanilla.Field{Name: "_h", Walk: w.Unit})
		}},
		vanilla.Field{Name: "inclusion_proof", Walk: func() error { return p.Inclusion.Walk(w, s.Tree, s.Nodes) }})
}

func (p *LabelProof) walk(w vanilla.Walker) error {
	return w.Object(
		vanilla.Field{Name: "parents", Walk: func() error { return vanilla.NodeSlice(w, &p.Parents, labelParents) }},
		vanilla.Field{Name: "layer_index", Walk: func() error { return w.U32(&p.Layer) }},
		vanilla.Field{Name: "node", Walk: func() error { return w.U64(&p.Node) }})
}
