// Package golden gives tests the reference circuits that the deployed Rust stack produced: digests, outputs, and row
// dumps to find where two implementations part. It is for tests only.
package golden

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

//go:embed testdata
var data embed.FS

// Summary is what the reference says about a circuit. Digests are hex.
type Summary struct {
	Inputs         int      `json:"num_inputs"` // the constant one included
	Aux            int      `json:"num_aux"`
	Constraints    int      `json:"num_constraints"`
	R1CS           string   `json:"r1cs_sha256"`
	Witness        string   `json:"witness_sha256"`
	NonzerosA      int64    `json:"nnz_a"`
	NonzerosB      int64    `json:"nnz_b"`
	NonzerosC      int64    `json:"nnz_c"`
	AAuxBitmap     string   `json:"a_aux_density_bitmap_sha256"`
	BAuxBitmap     string   `json:"b_aux_density_bitmap_sha256"`
	BInputBitmap   string   `json:"b_input_density_bitmap_sha256"`
	PublicInputsLE []string `json:"inputs_le_hex"` // the one first
}

// Gadget is one reference gadget.
type Gadget struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Output      json.RawMessage `json:"output"`
	Summary     Summary         `json:"summary"`
}

var gadgets = sync.OnceValues(func() (map[string]*Gadget, error) {
	raw, err := read("testdata/gadgets.json.gz")
	if err != nil {
		return nil, err
	}
	var file struct{ Gadgets []*Gadget }
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("golden: gadgets.json: %w", err)
	}
	m := map[string]*Gadget{}
	for _, g := range file.Gadgets {
		m[g.Name] = g
	}
	return m, nil
})

// Names are all gadgets there are, sorted.
func Names() ([]string, error) {
	m, err := gadgets()
	if err != nil {
		return nil, err
	}
	var n []string
	for k := range m {
		n = append(n, k)
	}
	slices.Sort(n)
	return n, nil
}

// ErrUnknown: there is no gadget of that name.
var ErrUnknown = errors.New("golden: no such gadget")

// Load gives a gadget by name.
func Load(name string) (*Gadget, error) {
	m, err := gadgets()
	if err != nil {
		return nil, err
	}
	g, ok := m[name]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	return g, nil
}

// OutputString is Output where it is a string, OutputStrings where it is a list of them.
func (g *Gadget) OutputString() (s string, err error) {
	err = json.Unmarshal(g.Output, &s)
	return
}

// OutputStrings is described at OutputString.
func (g *Gadget) OutputStrings() (s []string, err error) {
	err = json.Unmarshal(g.Output, &s)
	return
}

// Dump reads the rows; nil without an error if this gadget has no dump.
func (g *Gadget) Dump() (*Dump, error) {
	raw, err := read("testdata/" + g.Name + ".r1csdmp.gz")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return ParseDump(raw)
}

func read(name string) ([]byte, error) {
	z, err := data.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(z))
	if err != nil {
		return nil, fmt.Errorf("golden: %s: %w", name, err)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("golden: %s: %w", name, err)
	}
	return raw, nil
}

// HFr is the reference's way from a name to a field element: SHA-256 of it, little-endian, byte 31 masked by 0x3f.
func HFr(name string) fr.Element {
	h := sha256.Sum256([]byte(name))
	h[31] &= 0x3f
	slices.Reverse(h[:])
	var x fr.Element
	x.SetBytes(h[:])
	return x
}

// X is the i-th standard gadget input.
func X(i int) fr.Element { return HFr("gadget/x/" + strconv.Itoa(i)) }
