package synth

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/atomicfile"
	"github.com/filgroth/filgroth/pinning"
)

// The file of a System: a header of 4096 bytes, then sections, each padded to 64 bytes. All integers little endian. The
// header has the magic, the version, the counts, the R1CS digest, for each section its length in bytes and CRC-32C, and a
// CRC-32C of the header itself. The sections are the in-memory form, so that opening is mapping.
const (
	fileMagic   = "FILGSYS\x00"
	fileVersion = 1
	headerSize  = 4096
	sectionPad  = 64
)

const (
	secCoeffs = iota
	secTemplates
	secPtr
	secCol
	secCoef
	secTemplateBits
	secInstances
	secWires
	secBools
	secAAux
	secBAux
	secBInput
	secSegments
	secGroups
	numSections
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// templateHeader is a template's fixed part in the file: counts, then the number of terms of A, B, C.
type templateHeader struct {
	Wires, Locals, Rows uint32
	Terms               [3]uint32
}

// FormatError says what is wrong with a system file. It wraps ErrFormat.
type FormatError struct {
	Path    string
	Section string
	Problem string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("synth: system file %s: %s: %s", e.Path, e.Section, e.Problem)
}

func (e *FormatError) Unwrap() error { return ErrFormat }

var sectionNames = [numSections]string{"coefficients", "templates", "row pointers", "columns", "coefficient indices",
	"template bits", "instances", "wires", "bits", "A density", "B density", "B input density", "segments", "groups"}

// WriteFile writes s to path atomically. The digest is computed if it is not known yet.
func (s *System) WriteFile(ctx context.Context, path string) error {
	return atomicfile.Write(path, 0o644, func(w io.Writer) error { return s.Encode(ctx, w) })
}

// Encode writes the content of a system file to w.
func (s *System) Encode(ctx context.Context, w io.Writer) error {
	if s.closed {
		return ErrClosed
	}
	d, err := s.Digest(ctx)
	if err != nil {
		return err
	}
	if !littleEndian {
		return fmt.Errorf("%w: system files need a little-endian machine", ErrFormat)
	}
	secs := s.sections()
	hdr := make([]byte, headerSize)
	copy(hdr, fileMagic)
	le := binary.LittleEndian
	le.PutUint32(hdr[8:], fileVersion)
	le.PutUint32(hdr[12:], numSections)
	le.PutUint64(hdr[16:], uint64(s.inputs))
	le.PutUint64(hdr[24:], uint64(s.aux))
	le.PutUint64(hdr[32:], uint64(s.rows))
	copy(hdr[40:], d[:])
	for i, parts := range secs {
		n, crc := 0, uint32(0)
		for _, p := range parts {
			n += len(p)
			crc = crc32.Update(crc, castagnoli, p)
		}
		le.PutUint64(hdr[128+16*i:], uint64(n))
		le.PutUint32(hdr[128+16*i+8:], crc)
	}
	le.PutUint32(hdr[headerSize-4:], crc32.Checksum(hdr[:headerSize-4], castagnoli))
	if _, err := w.Write(hdr); err != nil {
		return err
	}
	for _, parts := range secs {
		n := 0
		for _, p := range parts {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, err := w.Write(p); err != nil {
				return err
			}
			n += len(p)
		}
		if _, err := w.Write(make([]byte, (sectionPad-n%sectionPad)%sectionPad)); err != nil {
			return err
		}
	}
	return nil
}

var littleEndian = func() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 1
}()

func rawBytes[T any](v []T) []byte {
	var t T
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(t)))
}

func (s *System) sections() [numSections][][]byte {
	var r [numSections][][]byte
	heads := make([]templateHeader, len(s.templates))
	for i := range s.templates {
		t := &s.templates[i]
		h := &heads[i]
		h.Wires, h.Locals, h.Rows = uint32(t.Wires), uint32(t.Locals), uint32(t.Rows)
		for k := range t.M {
			h.Terms[k] = uint32(len(t.M[k].Col))
			r[secPtr] = append(r[secPtr], rawBytes(t.M[k].Ptr))
			r[secCol] = append(r[secCol], rawBytes(t.M[k].Col))
			r[secCoef] = append(r[secCoef], rawBytes(t.M[k].Coef))
		}
		r[secTemplateBits] = append(r[secTemplateBits], rawBytes(t.Bits))
	}
	one := func(i int, b []byte) { r[i] = [][]byte{b} }
	one(secCoeffs, rawBytes(s.coeffs))
	one(secTemplates, rawBytes(heads))
	one(secInstances, rawBytes(s.instances))
	one(secWires, rawBytes(s.wires))
	one(secBools, rawBytes(s.bools))
	one(secAAux, rawBytes(s.aAux))
	one(secBAux, rawBytes(s.bAux))
	one(secBInput, rawBytes(s.bInput))
	one(secSegments, rawBytes(s.segments))
	one(secGroups, rawBytes(s.groups))
	return r
}

// OpenFile maps the system file at path. With want set, a file of another R1CS digest is refused. Everything is checked
// (checksums, then every index), so that a damaged file gives an error here and never a fault later.
func OpenFile(path string, want *Digest) (*System, error) {
	f, err := pinning.MapFile(path)
	if err != nil {
		return nil, err
	}
	s, err := parse(path, f.Bytes())
	if err == nil && want != nil && s.digest.d != *want {
		err = &FormatError{path, "header", fmt.Sprintf("digest %x, expected %x", s.digest.d, *want)}
	}
	if err != nil {
		return nil, errorsJoin(err, f.Close())
	}
	s.close = f.Close
	return s, nil
}

// Decode makes a System of the content of a system file with all the checks of OpenFile. The system's slices point into b,
// which must not change as long as it is used and whose address must be a multiple of 8. name is the file in errors.
func Decode(name string, b []byte) (*System, error) {
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 != 0 {
		return nil, &FormatError{name, "file", "not aligned to 8 bytes"}
	}
	return parse(name, b)
}

// parse makes a System whose slices point into b.
func parse(path string, b []byte) (*System, error) {
	bad := func(sec, format string, a ...any) (*System, error) {
		return nil, &FormatError{path, sec, fmt.Sprintf(format, a...)}
	}
	le := binary.LittleEndian
	if !littleEndian {
		return bad("header", "needs a little-endian machine")
	}
	if len(b) < headerSize || string(b[:8]) != fileMagic {
		return bad("header", "not a system file")
	}
	if v := le.Uint32(b[8:]); v != fileVersion {
		return bad("header", "version %d, expected %d", v, fileVersion)
	}
	if le.Uint32(b[headerSize-4:]) != crc32.Checksum(b[:headerSize-4], castagnoli) || le.Uint32(b[12:]) != numSections {
		return bad("header", "checksum differs")
	}
	var sec [numSections][]byte
	off := uint64(headerSize)
	for i := range sec {
		n := le.Uint64(b[128+16*i:])
		if n > uint64(len(b))-off {
			return bad(sectionNames[i], "file ends inside")
		}
		sec[i] = b[off : off+n]
		if crc32.Checksum(sec[i], castagnoli) != le.Uint32(b[128+16*i+8:]) {
			return bad(sectionNames[i], "checksum differs")
		}
		off += (n + sectionPad - 1) / sectionPad * sectionPad
		if off > uint64(len(b)) {
			return bad(sectionNames[i], "file ends inside")
		}
	}
	if off != uint64(len(b)) {
		return bad("file", "%d bytes too many", uint64(len(b))-off)
	}
	in, aux, rows := le.Uint64(b[16:]), le.Uint64(b[24:]), le.Uint64(b[32:])
	if in == 0 || in >= MaxVars || aux >= MaxVars || rows >= 1<<32-1 {
		return bad("header", "counts out of range")
	}
	s := &System{inputs: int(in), aux: int(aux), rows: int(rows)}
	copy(s.digest.d[:], b[40:72])
	s.digest.known = true
	if err := s.attach(path, &sec); err != nil {
		return nil, err
	}
	if err := s.validate(path); err != nil {
		return nil, err
	}
	s.derive()
	return s, nil
}

func view[T any](b []byte) ([]T, bool) {
	var t T
	n := int(unsafe.Sizeof(t))
	if len(b)%n != 0 {
		return nil, false
	}
	if len(b) == 0 {
		return nil, true
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/n), true
}

func (s *System) attach(path string, sec *[numSections][]byte) error {
	odd := func(i int) error {
		return &FormatError{path, sectionNames[i], "length is no multiple of the element size"}
	}
	var heads []templateHeader
	var ptr, col, coef []uint32
	var tbits []uint64
	bad := -1
	note := func(i int, got bool) {
		if !got && bad < 0 {
			bad = i
		}
	}
	var o bool
	s.coeffs, o = view[fr.Element](sec[secCoeffs])
	note(secCoeffs, o)
	heads, o = view[templateHeader](sec[secTemplates])
	note(secTemplates, o)
	ptr, o = view[uint32](sec[secPtr])
	note(secPtr, o)
	col, o = view[uint32](sec[secCol])
	note(secCol, o)
	coef, o = view[uint32](sec[secCoef])
	note(secCoef, o)
	tbits, o = view[uint64](sec[secTemplateBits])
	note(secTemplateBits, o)
	s.instances, o = view[Instance](sec[secInstances])
	note(secInstances, o)
	s.wires, o = view[Var](sec[secWires])
	note(secWires, o)
	s.segments, o = view[Segment](sec[secSegments])
	note(secSegments, o)
	s.groups, o = view[uint32](sec[secGroups])
	note(secGroups, o)
	for i, d := range map[int]*bitset{secBools: &s.bools, secAAux: &s.aAux, secBAux: &s.bAux, secBInput: &s.bInput} {
		w, o := view[uint64](sec[i])
		note(i, o)
		*d = w
	}
	if bad >= 0 {
		return odd(bad)
	}
	take := func(v *[]uint32, n uint64) ([]uint32, bool) {
		if n > uint64(len(*v)) {
			return nil, false
		}
		r := (*v)[:n:n]
		*v = (*v)[n:]
		return r, true
	}
	s.templates = make([]Template, len(heads))
	for i, h := range heads {
		t := &s.templates[i]
		t.Wires, t.Locals, t.Rows = int(h.Wires), int(h.Locals), int(h.Rows)
		words := (uint64(h.Wires) + uint64(h.Locals) + 63) / 64
		if words > uint64(len(tbits)) {
			return &FormatError{path, sectionNames[secTemplateBits], fmt.Sprintf("too short for template %d", i)}
		}
		t.Bits, tbits = tbits[:words:words], tbits[words:]
		for k := range t.M {
			var a, b, c bool
			t.M[k].Ptr, a = take(&ptr, uint64(h.Rows)+1)
			t.M[k].Col, b = take(&col, uint64(h.Terms[k]))
			t.M[k].Coef, c = take(&coef, uint64(h.Terms[k]))
			if !a || !b || !c {
				return &FormatError{path, sectionNames[secTemplates], fmt.Sprintf("template %d has more terms than the file", i)}
			}
		}
	}
	for i, left := range map[int]int{secPtr: len(ptr), secCol: len(col), secCoef: len(coef), secTemplateBits: len(tbits)} {
		if left != 0 {
			return &FormatError{path, sectionNames[i], fmt.Sprintf("%d elements more than the templates have", left)}
		}
	}
	return nil
}

// validate checks every index, so that evaluation never leaves its slices.
func (s *System) validate(path string) error {
	bad := func(sec int, format string, a ...any) error {
		return &FormatError{path, sectionNames[sec], fmt.Sprintf(format, a...)}
	}
	if len(s.coeffs) < 2 || s.coeffs[0] != frOne || s.coeffs[1] != frMinusOne {
		return bad(secCoeffs, "does not start with 1, -1")
	}
	for i := range s.coeffs {
		if s.coeffs[i].IsZero() || !reduced(&s.coeffs[i]) {
			return bad(secCoeffs, "entry %d is zero or not reduced", i)
		}
	}
	for i := range s.templates {
		t := &s.templates[i]
		for k := range t.M {
			m := &t.M[k]
			if m.Ptr[0] != 0 || int(m.Ptr[t.Rows]) != len(m.Col) {
				return bad(secPtr, "template %d", i)
			}
			for r := 0; r < t.Rows; r++ {
				if m.Ptr[r] > m.Ptr[r+1] {
					return bad(secPtr, "template %d row %d", i, r)
				}
			}
			for j := range m.Col {
				if int(m.Col[j]) >= t.Columns() || int(m.Coef[j]) >= len(s.coeffs) {
					return bad(secCol, "template %d term %d", i, j)
				}
			}
		}
	}
	if len(s.bools) != (s.aux+63)/64 || len(s.aAux) != len(s.bools) || len(s.bAux) != len(s.bools) || len(s.bInput) != (s.inputs+63)/64 {
		return bad(secBools, "wrong length")
	}
	if s.aux%64 != 0 {
		for _, d := range []bitset{s.bools, s.aAux, s.bAux} {
			if d[len(d)-1]>>(s.aux%64) != 0 {
				return bad(secBools, "bits beyond the last variable")
			}
		}
	}
	if s.inputs%64 != 0 && s.bInput[len(s.bInput)-1]>>(s.inputs%64) != 0 {
		return bad(secBInput, "bits beyond the last input")
	}
	return s.validateInstances(bad)
}

func (s *System) validateInstances(bad func(int, string, ...any) error) error {
	row, wire := 0, 0
	for i := range s.instances {
		in := &s.instances[i]
		if int(in.Template) >= len(s.templates) {
			return bad(secInstances, "instance %d: no template %d", i, in.Template)
		}
		t := &s.templates[in.Template]
		if int(in.Row) != row || int(in.Wire) != wire || int(in.Aux)+t.Locals > s.aux || wire+t.Wires > len(s.wires) {
			return bad(secInstances, "instance %d does not continue the ones before", i)
		}
		for j, v := range s.wires[wire : wire+t.Wires] {
			ok := v.IsInput() && v.Index() < s.inputs || !v.IsInput() && v.Index() < s.aux
			if !ok || t.IsBit(1+j) != (!v.IsInput() && s.bools.get(v.Index())) {
				return bad(secWires, "instance %d wire %d", i, j)
			}
		}
		for j := 0; j < t.Locals; j += 64 {
			n := min(64, t.Locals-j)
			mask := ^uint64(0) >> (64 - n)
			if (bitset(t.Bits).word(t.Wires+j)^s.bools.word(int(in.Aux)+j))&mask != 0 {
				return bad(secInstances, "instance %d: its bits are not the system's", i)
			}
		}
		row += t.Rows
		wire += t.Wires
	}
	if row != s.rows || wire != len(s.wires) {
		return bad(secInstances, "rows or wires missing")
	}
	for i, g := range s.groups {
		if int(g) > len(s.segments) || (i > 0 && g < s.groups[i-1]) {
			return bad(secGroups, "group %d", i)
		}
	}
	for i, sg := range s.segments {
		if int(sg.Inputs) > s.inputs || int(sg.Aux) > s.aux || int(sg.Fields) > s.aux || int(sg.Rows) > s.rows {
			return bad(secSegments, "segment %d", i)
		}
	}
	return nil
}

func reduced(e *fr.Element) bool {
	// r, little-endian words
	q := [4]uint64{0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805, 0x73eda753299d7d48}
	for i := 3; i >= 0; i-- {
		if e[i] != q[i] {
			return e[i] < q[i]
		}
	}
	return false
}
