package post

import "github.com/filgroth/filgroth/synth/vanilla"

// SectorProof is the vanilla proof of one sector, as storage nodes exchange it: all challenged leaves of its tree R-last.
type SectorProof struct {
	SectorID  uint64
	CommR     vanilla.Commitment
	Inclusion []vanilla.MerkleProof // Config.PerSector of them
	CommC     vanilla.Commitment
	CommRLast vanilla.Commitment
}

// DecodeSectorProof decodes the bincode form. Lengths and forms must be those of the proof type; errors are *vanilla.FieldError.
// It checks form only: see Check.
func DecodeSectorProof(c *Config, b []byte) (*SectorProof, error) {
	p := new(SectorProof)
	if err := vanilla.ReadBincode(b, func(w vanilla.Walker) error { return p.walk(w, c) }); err != nil {
		return nil, err
	}
	return p, nil
}

// DecodeSectorProofJSON decodes the JSON form; unknown members are ignored.
func DecodeSectorProofJSON(c *Config, b []byte) (*SectorProof, error) {
	p := new(SectorProof)
	if err := vanilla.ReadJSON(b, func(w vanilla.Walker) error { return p.walk(w, c) }); err != nil {
		return nil, err
	}
	return p, nil
}

// AppendBincode appends the bincode form.
func (p *SectorProof) AppendBincode(c *Config, dst []byte) ([]byte, error) {
	return vanilla.AppendBincode(dst, func(w vanilla.Walker) error { return p.walk(w, c) })
}

// AppendJSON appends the JSON form, byte for byte as the deployed stack writes it.
func (p *SectorProof) AppendJSON(c *Config, dst []byte) ([]byte, error) {
	return vanilla.AppendJSON(dst, func(w vanilla.Walker) error { return p.walk(w, c) })
}

func (p *SectorProof) walk(w vanilla.Walker, c *Config) error {
	return w.Object(
		vanilla.Field{Name: "sector_id", Walk: func() error { return w.U64(&p.SectorID) }},
		vanilla.Field{Name: "comm_r", Walk: func() error { return w.Node(&p.CommR) }},
		vanilla.Field{Name: "vanilla_proof", Walk: func() error {
			return w.Object(vanilla.Field{Name: "sectors", Walk: func() error {
				return w.List(1, func(int) error { return p.walkSector(w, c) })
			}})
		}})
}

func (p *SectorProof) walkSector(w vanilla.Walker, c *Config) error {
	return w.Object(
		vanilla.Field{Name: "inclusion_proofs", Walk: func() error {
			return vanilla.Slice(w, &p.Inclusion, c.PerSector(), func(_ int, m *vanilla.MerkleProof) error {
				return m.Walk(w, c.Shape.Tree, c.Shape.Nodes)
			})
		}},
		vanilla.Field{Name: "comm_c", Walk: func() error { return w.Node(&p.CommC) }},
		vanilla.Field{Name: "comm_r_last", Walk: func() error { return w.Node(&p.CommRLast) }})
}
