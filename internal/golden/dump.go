package golden

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// ErrDump: not a dump, or cut short.
var ErrDump = errors.New("golden: bad dump")

// Term is a coefficient (32 bytes, little-endian, canonical, not zero) of an input or aux variable.
type Term struct {
	Input bool
	Index uint32
	Coeff [32]byte
}

func (t Term) String() string {
	k, i := "W", len(t.Coeff)
	if t.Input {
		k = "I"
	}
	for i > 1 && t.Coeff[i-1] == 0 {
		i--
	}
	var s strings.Builder
	for ; i > 0; i-- {
		fmt.Fprintf(&s, "%02x", t.Coeff[i-1])
	}
	return fmt.Sprintf("0x%s*%s[%d]", s.String(), k, t.Index)
}

// Row is A, B and C of one constraint, each in canonical order: inputs, then aux, ascending.
type Row [3][]Term

// Dump is a constraint system written out.
type Dump struct {
	Inputs, Aux int
	Rows        []Row
	Witness     [][32]byte // inputs, then aux; nil if there is none
}

const termBytes = 1 + 4 + 32

// ParseDump reads the .r1csdmp format (see testdata/README.md).
func ParseDump(raw []byte) (*Dump, error) {
	const header = 8 + 4*4
	if len(raw) < header || string(raw[:8]) != "R1CSDMP1" {
		return nil, fmt.Errorf("%w: no header", ErrDump)
	}
	var n [4]int
	for i := range n {
		n[i] = int(binary.LittleEndian.Uint32(raw[8+4*i:]))
	}
	raw = raw[header:]
	d := &Dump{Inputs: n[0], Aux: n[1]}
	for i := 0; i < n[2]; i++ {
		var r Row
		for k := range r {
			if len(raw) < 4 {
				return nil, fmt.Errorf("%w: row %d", ErrDump, i)
			}
			m := int(binary.LittleEndian.Uint32(raw))
			raw = raw[4:]
			if len(raw)/termBytes < m {
				return nil, fmt.Errorf("%w: row %d", ErrDump, i)
			}
			r[k] = make([]Term, m)
			for j := range r[k] {
				t := raw[j*termBytes:]
				r[k][j] = Term{t[0] == 0, binary.LittleEndian.Uint32(t[1:]), [32]byte(t[5:37])}
			}
			raw = raw[m*termBytes:]
		}
		d.Rows = append(d.Rows, r)
	}
	if n[3] != 0 {
		if len(raw)/32 < n[0]+n[1] {
			return nil, fmt.Errorf("%w: witness", ErrDump)
		}
		d.Witness = make([][32]byte, n[0]+n[1])
		for i := range d.Witness {
			d.Witness[i] = [32]byte(raw[32*i:])
		}
	}
	return d, nil
}

// Diff compares row i with got and describes the difference; "" if there is none.
func (d *Dump) Diff(i int, got Row) string {
	if i >= len(d.Rows) {
		return fmt.Sprintf("row %d: the reference has only %d rows", i, len(d.Rows))
	}
	for k := range got {
		if want := d.Rows[i][k]; !equalTerms(want, got[k]) {
			return fmt.Sprintf("row %d, %c:\n  want %v\n  got  %v", i, 'A'+k, want, got[k])
		}
	}
	return ""
}

func equalTerms(a, b []Term) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
