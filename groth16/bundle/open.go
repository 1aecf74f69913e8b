package bundle

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"unicode/utf8"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// Open maps the bundle at path and checks all of it: checksums, every index of the system, every field element, that only
// bits are where bits should be. The error of a bad file is a *FormatError. What Check does is left to it.
func Open(ctx context.Context, path string) (*Bundle, error) {
	f, err := pinning.MapFile(path)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	b, err := decode(ctx, path, f.Bytes())
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	b.unmap = f.Close
	return b, nil
}

// Decode is Open for bytes in memory, which must not change while the bundle is in use and whose address must be a multiple
// of 8.
func Decode(ctx context.Context, raw []byte) (*Bundle, error) { return decode(ctx, "", raw) }

func decode(ctx context.Context, path string, raw []byte) (*Bundle, error) {
	d := &decoder{path: path, raw: raw, b: &Bundle{path: path}}
	if err := d.header(); err != nil {
		return nil, err
	}
	if err := d.all(ctx); err != nil {
		if d.b.a != nil {
			err = errors.Join(err, d.b.a.Close())
		}
		if d.b.key != nil {
			err = errors.Join(err, d.b.key.Close())
		}
		return nil, err
	}
	return d.b, nil
}

type decoder struct {
	path string
	raw  []byte
	sec  [numSections][]byte
	b    *Bundle
}

func (d *decoder) bad(sec string, at int, format string, a ...any) error {
	return &FormatError{d.path, sec, at, fmt.Errorf(format, a...)}
}

// header checks header, table and checksums.
func (d *decoder) header() error {
	le, size := binary.LittleEndian, uint64(len(d.raw))
	if size < headerSize || string(d.raw[:8]) != magic {
		return d.bad("header", -1, "not a bundle")
	}
	hdr := d.raw[:headerSize]
	if v := le.Uint32(hdr[8:]); v != version {
		return d.bad("header", -1, "version %d, expected %d", v, version)
	}
	if le.Uint32(hdr[headerSize-4:]) != crc32.Checksum(hdr[:headerSize-4], castagnoli) || le.Uint32(hdr[12:]) != numSections {
		return d.bad("header", -1, "checksum differs")
	}
	copy(d.b.r1cs[:], hdr[16:])
	copy(d.b.keyDigest[:], hdr[48:])
	copy(d.b.keyID[:], hdr[112:])
	if !zero(hdr[tableAt+entrySize*numSections : headerSize-4]) {
		return d.bad("header", -1, "%w", errPadding)
	}
	off := uint64(headerSize)
	for i := range d.sec {
		e := hdr[tableAt+entrySize*i:]
		n := le.Uint64(e[8:])
		if le.Uint64(e) != off || le.Uint32(e[20:]) != 0 {
			return d.bad(sectionNames[i], -1, "does not follow the section before it")
		}
		if n > size-off || padded(n) > size-off {
			return d.bad(sectionNames[i], -1, "file ends inside")
		}
		d.sec[i] = d.raw[off : off+n : off+n]
		if crc32.Checksum(d.sec[i], castagnoli) != le.Uint32(e[16:]) {
			return d.bad(sectionNames[i], -1, "checksum differs")
		}
		if !zero(d.raw[off+n : off+padded(n)]) {
			return d.bad(sectionNames[i], -1, "%w", errPadding)
		}
		off += padded(n)
	}
	if off != size {
		return d.bad("file", -1, "%d bytes too many", size-off)
	}
	return nil
}

func zero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// all decodes the sections.
func (d *decoder) all(ctx context.Context) error {
	b := d.b
	if uintptr(unsafe.Pointer(unsafe.SliceData(d.raw)))%8 != 0 {
		return d.bad("file", -1, "not aligned to 8 bytes")
	}
	var err error
	if b.sys, err = synth.Decode(d.path, d.sec[secSystem]); err != nil {
		return &FormatError{d.path, sectionNames[secSystem], -1, err}
	}
	digest, err := b.sys.Digest(ctx)
	if err != nil {
		return err
	}
	if digest != b.r1cs {
		return d.bad(sectionNames[secSystem], -1, "digest %x, the header has %x", digest, b.r1cs)
	}
	note := d.sec[secNote]
	if len(note) > MaxNote || !utf8.Valid(note) {
		return d.bad(sectionNames[secNote], -1, "%d bytes: at most %d, in UTF-8", len(note), MaxNote)
	}
	b.note = string(note)
	if err := d.witness(ctx); err != nil {
		return err
	}
	return d.keys(ctx)
}

// witness decodes inputs, bits and fields; lengths are checked before anything is allocated.
func (d *decoder) witness(ctx context.Context) error {
	sys := d.b.sys
	for _, x := range []struct {
		sec, want int
	}{{secInputs, fr.Bytes * sys.Inputs()}, {secBits, (sys.Aux() + 63) / 64 * 8}, {secFields, fr.Bytes * sys.Fields()}} {
		if len(d.sec[x.sec]) != x.want {
			return d.bad(sectionNames[x.sec], -1, "%d bytes, the system needs %d", len(d.sec[x.sec]), x.want)
		}
	}
	a, err := synth.NewAssignment(sys)
	if err != nil {
		return err
	}
	d.b.a = a
	if err := d.elements(ctx, secInputs, a.Inputs); err != nil {
		return err
	}
	if !a.Inputs[0].IsOne() {
		return d.bad(sectionNames[secInputs], 0, "not one")
	}
	for i, mask := range sys.Bits() {
		w := binary.LittleEndian.Uint64(d.sec[secBits][8*i:])
		if w&^mask != 0 {
			return d.bad(sectionNames[secBits], i, "a bit is set for a variable that is none")
		}
		a.Bits[i] = w
	}
	return d.elements(ctx, secFields, a.Fields)
}

func (d *decoder) elements(ctx context.Context, sec int, dst []fr.Element) error {
	src := d.sec[sec]
	return par.Range(ctx, 0, len(dst), 1<<13, func(_, lo, hi int) error {
		for i := lo; i < hi; i++ {
			e, err := fr.LittleEndian.Element((*[fr.Bytes]byte)(src[fr.Bytes*i:]))
			if err != nil {
				return d.bad(sectionNames[sec], i, "not below the field's modulus")
			}
			dst[i] = e
		}
		return nil
	})
}

// keys decodes the verifying key and opens an embedded key in place.
func (d *decoder) keys(ctx context.Context) error {
	b := d.b
	if (b.keyDigest == [64]byte{}) != (b.keyID == [32]byte{}) {
		return d.bad("header", -1, "a key's digest without its identity, or the other way round")
	}
	if b.keyDigest == [64]byte{} {
		if len(d.sec[secVK]) != 0 || len(d.sec[secKey]) != 0 {
			return d.bad("header", -1, "keys without a digest")
		}
		return nil
	}
	var err error
	if b.vk, err = groth16.ParseVerifyingKey(d.sec[secVK]); err != nil {
		return &FormatError{d.path, sectionNames[secVK], -1, err}
	}
	if len(d.sec[secKey]) == 0 {
		return nil
	}
	if b.key, err = groth16.ParseProvingKey(d.sec[secKey]); err != nil {
		return &FormatError{d.path, sectionNames[secKey], -1, err}
	}
	if !b.key.VerifyingKey().Equal(b.vk) {
		return d.bad(sectionNames[secKey], -1, "its verifying key is not that of the bundle")
	}
	if err := b.key.CheckSystem(ctx, b.sys); err != nil {
		return &FormatError{d.path, sectionNames[secKey], -1, err}
	}
	b.key.SetR1CS(b.r1cs)
	return nil
}
