package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Embedded reads a file of an embedded tree, uncompressing *.gz.
func Embedded(files fs.FS, name string) ([]byte, error) {
	b, err := fs.ReadFile(files, name)
	if err != nil || !strings.HasSuffix(name, ".gz") {
		return b, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// Hex32 decodes 32 bytes.
func Hex32(s string) (v [32]byte, err error) {
	b, err := hex.DecodeString(s)
	if err == nil && len(b) != len(v) {
		err = fmt.Errorf("%d bytes, want 32", len(b))
	}
	copy(v[:], b)
	return v, err
}

// PoSt is the public side of an embedded proof of spacetime.
type PoSt struct {
	Type       vanilla.PoStProof
	Randomness [32]byte
	Sectors    []filgroth.PoStSector
}

// ReadPoSt decodes the JSON beside embedded vanilla proofs.
func ReadPoSt(b []byte) (*PoSt, error) {
	var raw struct {
		Proof      string `json:"registered_proof"`
		Randomness string `json:"randomness"`
		Sectors    []struct {
			Number uint64 `json:"sector"`
			CommR  string `json:"comm_r"`
		} `json:"sectors"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	p := &PoSt{}
	var err error
	if p.Type, err = vanilla.ParsePoStProof(raw.Proof); err != nil {
		return nil, err
	}
	if p.Randomness, err = Hex32(raw.Randomness); err != nil {
		return nil, fmt.Errorf("randomness: %w", err)
	}
	for i, s := range raw.Sectors {
		c, err := Hex32(s.CommR)
		if err != nil {
			return nil, fmt.Errorf("sectors[%d].comm_r: %w", i, err)
		}
		p.Sectors = append(p.Sectors, filgroth.PoStSector{Number: s.Number, CommR: c})
	}
	return p, nil
}
