// Package l1 gives tests the small reference circuits of the deployed Rust stack with keys and proofs for recorded
// randomness. It is for tests only.
package l1

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/golden"
	"github.com/filgroth/filgroth/synth"
)

//go:embed testdata
var data embed.FS

// Scalar is a field element, 32 bytes little-endian canonical in hex.
type Scalar struct{ fr.Element }

// UnmarshalJSON reads it.
func (s *Scalar) UnmarshalJSON(b []byte) error {
	var t string
	if err := json.Unmarshal(b, &t); err != nil {
		return err
	}
	v, err := hex.DecodeString(t)
	if err != nil {
		return err
	}
	slices.Reverse(v)
	return s.SetBytesCanonical(v)
}

// Elements drops the wrapper.
func Elements(s []Scalar) []fr.Element {
	out := make([]fr.Element, len(s))
	for i := range s {
		out[i] = s[i].Element
	}
	return out
}

// Proof is a recorded proof.
type Proof struct {
	Label string
	R, S  Scalar
	Hex   string `json:"proof_compressed_192"`
	Image Scalar // mimc batch: the public input
	XL    Scalar
	XR    Scalar
}

// Bytes is the encoded proof.
func (p *Proof) Bytes() []byte {
	b, err := hex.DecodeString(p.Hex)
	if err != nil {
		panic(err) // the file is embedded
	}
	return b
}

// Case is one circuit.
type Case struct {
	Name   string
	Toxic  struct{ Alpha, Beta, Gamma, Delta, Tau Scalar }
	Proofs []Proof
	Public []Scalar `json:"public_inputs_le_hex"`
	H      []Scalar `json:"h_coeffs"`
	HSHA   string   `json:"h_coeffs_sha256"`
	EvalA  []Scalar `json:"eval_a"`
	EvalB  []Scalar `json:"eval_b"`
	EvalC  []Scalar `json:"eval_c"`
	Blake  string   `json:"params_blake2b_512"`
	VKHash string   `json:"vk_blake2b_512"`
	Extra  struct {
		Constants []Scalar `json:"constants_le_hex"`
	}
	Dump *golden.Dump `json:"-"`
}

// Names are the circuits.
func Names() []string { return []string{"cubic", "edge", "mimc", "sha256_64"} }

// Load reads a circuit.
func Load(name string) (*Case, error) {
	c := new(Case)
	if err := readJSON(name+".json.gz", c); err != nil {
		return nil, err
	}
	raw, err := unzip(name + ".r1csdmp.gz")
	if err != nil {
		return nil, err
	}
	c.Dump, err = golden.ParseDump(raw)
	return c, err
}

// Batch is the mimc batch.
type Batch struct {
	Proofs []Proof
	Random struct{ Proofs []Proof } `json:"random_batch3"`
}

// LoadBatch reads the mimc batch.
func LoadBatch() (*Batch, error) {
	b := new(Batch)
	return b, readJSON("mimc_batch10.json.gz", b)
}

// File reads a file as it is: NAME.params, NAME.vk.
func File(name string) ([]byte, error) { return data.ReadFile("testdata/" + name) }

func readJSON(name string, v any) error {
	raw, err := unzip(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("l1: %s: %w", name, err)
	}
	return nil
}

func unzip(name string) ([]byte, error) {
	z, err := File(name)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(z))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// Replay is a dump as a circuit. Aux variables whose recorded value is 0 or 1 are allocated as bits where Bits is set.
type Replay struct {
	Dump *golden.Dump
	Bits bool
}

func element(b [32]byte) (e fr.Element) {
	slices.Reverse(b[:])
	e.SetBytes(b[:])
	return
}

// Synthesize implements synth.Circuit.
func (r Replay) Synthesize(b *synth.Builder) error {
	d := r.Dump
	for _, w := range d.Witness[1:d.Inputs] {
		b.AllocInput(element(w))
	}
	for _, w := range d.Witness[d.Inputs:] {
		e := element(w)
		if r.Bits && (e.IsZero() || e.IsOne()) {
			b.AllocBit(e.IsOne())
		} else {
			b.Alloc(e)
		}
	}
	if !b.WantRows() {
		return nil
	}
	for _, row := range d.Rows {
		var lc [3]*synth.LC
		for k := range lc {
			lc[k] = b.LC()
			for _, t := range row[k] {
				v := synth.AuxVar(int(t.Index))
				if t.Input {
					v = synth.InputVar(int(t.Index))
				}
				lc[k].Add(v, element(t.Coeff))
			}
		}
		b.Enforce(lc[0], lc[1], lc[2])
	}
	return b.Err()
}

// MiMC is the circuit of bellperson's test of that name, as in the batch: y_{i+1} = x_i + (y_i + c_i)^3, x_{i+1} = y_i
// in the reference's notation with xl, xr.
type MiMC struct {
	XL, XR    fr.Element
	Constants []fr.Element
}

// Synthesize implements synth.Circuit.
func (m MiMC) Synthesize(b *synth.Builder) error {
	xl, xr := m.XL, m.XR
	vl, vr := b.Alloc(xl), b.Alloc(xr)
	for i, c := range m.Constants {
		var s, tmp, next fr.Element
		s.Add(&xl, &c)
		tmp.Square(&s)
		vt := b.Alloc(tmp)
		b.Enforce(b.LC().AddVar(vl).AddConst(c), b.LC().AddVar(vl).AddConst(c), b.LC().AddVar(vt))
		next.Mul(&tmp, &s)
		next.Add(&next, &xr)
		var vn synth.Var
		if i == len(m.Constants)-1 {
			vn = b.AllocInput(next)
		} else {
			vn = b.Alloc(next)
		}
		b.Enforce(b.LC().AddVar(vt), b.LC().AddVar(vl).AddConst(c), b.LC().AddVar(vn).SubVar(vr))
		xl, xr, vl, vr = next, xl, vn, vl
	}
	return b.Err()
}
