package groth16

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/filgroth/filgroth/internal/atomicfile"
	"github.com/filgroth/filgroth/internal/curveio"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"golang.org/x/crypto/blake2b"
)

// ProvingKey is a verifying key and five sections of points, which are read by chunk in the encoding of the parameter
// file (uncompressed, big endian, canonical) from wherever they are: a mapped file, memory, or an io.ReaderAt. It is safe
// for concurrent use. Sessions retain the key: Close lets go of its memory when the last of them is closed.
type ProvingKey struct {
	vk   *VerifyingKey
	path string
	lens [NumSections]int
	offs [NumSections]int64
	size int64
	src  source

	mu     sync.Mutex
	refs   int
	closed bool
	r1cs   *synth.Digest

	native nativeCell
}

// source is where the bytes of a key are. What at gives is read only and, for a mapped file, valid until close.
type source interface {
	at(off int64, n int) ([]byte, error)
	close() error
}

type memSource struct {
	b     []byte
	owner io.Closer
}

func (s *memSource) at(off int64, n int) ([]byte, error) { return s.b[off:][:n:n], nil }

func (s *memSource) close() error {
	if s.owner == nil {
		return nil
	}
	return s.owner.Close()
}

type readerSource struct{ r io.ReaderAt }

func (s readerSource) at(off int64, n int) ([]byte, error) {
	b := make([]byte, n)
	if m, err := s.r.ReadAt(b, off); m < n {
		return nil, unexpectedEOF(err)
	}
	return b, nil
}

func (readerSource) close() error { return nil }

// OpenProvingKey maps the parameter file at path and checks its verifying key and that its lengths add up to the size of
// the file. Points are checked for the curve equation when they are decoded; CheckPoints does all of it at once. The
// error of a damaged file is a *KeyError.
func OpenProvingKey(path string) (*ProvingKey, error) {
	f, err := pinning.MapFile(path)
	if err != nil {
		return nil, fmt.Errorf("groth16: parameters: %w", err)
	}
	k, err := parseKey(path, &memSource{f.Bytes(), f}, int64(len(f.Bytes())))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return k, nil
}

// ParseProvingKey is OpenProvingKey for bytes in memory, which must not change while the key is in use.
func ParseProvingKey(b []byte) (*ProvingKey, error) {
	return parseKey("", &memSource{b: b}, int64(len(b)))
}

// NewProvingKey is OpenProvingKey for size bytes at r, which are read as they are needed.
func NewProvingKey(r io.ReaderAt, size int64) (*ProvingKey, error) {
	return parseKey("", readerSource{r}, size)
}

// parseKey reads the verifying key and walks the section lengths. No allocation is sized by what the file says.
func parseKey(path string, src source, size int64) (*ProvingKey, error) {
	k := &ProvingKey{vk: new(VerifyingKey), path: path, src: src, size: size}
	n, err := k.vk.ReadFrom(&sourceReader{src: src, left: size})
	if err != nil {
		return nil, withPath(err, path)
	}
	off := n
	for s := SectionH; s < NumSections; s++ {
		count := int64(0)
		if off+4 <= size {
			b, err := src.at(off, 4)
			if err != nil {
				return nil, &KeyError{path, s.String(), -1, err}
			}
			count = int64(binary.BigEndian.Uint32(b))
		}
		k.lens[s], k.offs[s] = int(count), off+4
		off += 4 + count*int64(s.PointSize())
		if off > size {
			return nil, &KeyError{path, s.String(), -1, fmt.Errorf("%d points do not fit: %w", count, &LengthError{off, size})}
		}
	}
	if off != size {
		return nil, &KeyError{path, "file", -1, &LengthError{off, size}}
	}
	return k, nil
}

func withPath(err error, path string) error {
	var ke *KeyError
	if errors.As(err, &ke) && ke.Path == "" {
		ke.Path = path
	}
	return err
}

// sourceReader reads a source from its beginning.
type sourceReader struct {
	src  source
	off  int64
	left int64
}

func (r *sourceReader) Read(p []byte) (int, error) {
	n := int(min(int64(len(p)), r.left))
	if n == 0 {
		return 0, io.EOF
	}
	b, err := r.src.at(r.off, n)
	if err != nil {
		return 0, err
	}
	r.off, r.left = r.off+int64(n), r.left-int64(n)
	return copy(p, b), nil
}

// VerifyingKey is the key's verifying key. Read only.
func (k *ProvingKey) VerifyingKey() *VerifyingKey { return k.vk }

// Path is the file that the key was opened from, or "".
func (k *ProvingKey) Path() string { return k.path }

// Size is the length of the file encoding in bytes.
func (k *ProvingKey) Size() int64 { return k.size }

// Len is the number of points of a section.
func (k *ProvingKey) Len(s Section) int { return k.lens[s] }

// Offset is where a section's first point lies in the file encoding, for backends that read the file themselves.
func (k *ProvingKey) Offset(s Section) int64 { return k.offs[s] }

// Retain keeps the key's memory until Release, so that Raw may be used while others close the key.
func (k *ProvingKey) Retain() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return fmt.Errorf("%w: proving key", ErrClosed)
	}
	k.refs++
	return nil
}

// hold is Retain that also serves those who hold the key already, though it is closed to others.
func (k *ProvingKey) hold() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed && k.refs == 0 {
		return fmt.Errorf("%w: proving key", ErrClosed)
	}
	k.refs++
	return nil
}

// Release undoes one Retain.
func (k *ProvingKey) Release() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refs <= 0 {
		return fmt.Errorf("%w: proving key released more often than retained", ErrClosed)
	}
	k.refs--
	return k.letGo()
}

// Close gives the key back, at once or when the last session that uses it is closed. A second Close is ErrClosed.
func (k *ProvingKey) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return fmt.Errorf("%w: proving key", ErrClosed)
	}
	k.closed = true
	return k.letGo()
}

func (k *ProvingKey) letGo() error {
	if !k.closed || k.refs > 0 {
		return nil
	}
	return k.src.close()
}

// Raw gives points from <= i < from+n of a section in file encoding. The slice is read only and valid until Close; hold
// a Retain where Close may happen meanwhile.
func (k *ProvingKey) Raw(s Section, from, n int) ([]byte, error) {
	if err := k.hold(); err != nil {
		return nil, err
	}
	b, err := k.raw(s, from, n)
	return b, errors.Join(err, k.Release())
}

// raw is Raw for callers that hold a Retain.
func (k *ProvingKey) raw(s Section, from, n int) ([]byte, error) {
	if s >= NumSections || from < 0 || n < 0 || from > k.lens[s]-n {
		return nil, fmt.Errorf("%w: points [%d,%d) of section %v", ErrKey, from, from+n, s)
	}
	if n == 0 {
		return nil, nil
	}
	b, err := k.src.at(k.offs[s]+int64(from)*int64(s.PointSize()), n*s.PointSize())
	if err != nil {
		return nil, &KeyError{k.path, s.String(), from, err}
	}
	return b, nil
}

// ioChunk is how many bytes are read or written at a time.
const ioChunk = 4 << 20

// WriteTo writes the key in bellperson's .params encoding.
func (k *ProvingKey) WriteTo(w io.Writer) (int64, error) {
	if err := k.hold(); err != nil {
		return 0, err
	}
	n, err := k.vk.WriteTo(w)
	for s := SectionH; s < NumSections && err == nil; s++ {
		var m int
		m, err = w.Write(binary.BigEndian.AppendUint32(nil, uint32(k.lens[s])))
		n += int64(m)
		step := ioChunk / s.PointSize()
		for i := 0; i < k.lens[s] && err == nil; i += step {
			var b []byte
			if b, err = k.raw(s, i, min(step, k.lens[s]-i)); err == nil {
				err = k.mapped(s, func() (err error) {
					m, err = w.Write(b)
					return err
				})
				n += int64(m)
			}
		}
	}
	return n, errors.Join(err, k.Release())
}

// WriteFile writes the key to path: whole or not at all.
func (k *ProvingKey) WriteFile(ctx context.Context, path string) error {
	return atomicfile.Write(path, 0o644, func(w io.Writer) error {
		_, err := k.WriteTo(ctxWriter{ctx, w})
		return err
	})
}

type ctxWriter struct {
	ctx context.Context
	w   io.Writer
}

func (w ctxWriter) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(b)
}

// Digest is the unkeyed BLAKE2b-512 of the whole file encoding; its first 16 bytes are the digest of a published
// parameters.json. It reads everything.
func (k *ProvingKey) Digest(ctx context.Context) (d [64]byte, err error) {
	h, err := blake2b.New512(nil)
	if err != nil {
		return d, err
	}
	if _, err := k.WriteTo(ctxWriter{ctx, h}); err != nil {
		return d, err
	}
	return [64]byte(h.Sum(nil)), nil
}

// Identity is a digest of the verifying key, the lengths, and the first and last point of each section. It tells keys of
// different circuits or ceremonies apart in no time, but not a damaged file from a sound one: Digest does that.
func (k *ProvingKey) Identity() ([32]byte, error) {
	if err := k.hold(); err != nil {
		return [32]byte{}, err
	}
	h := sha256.New()
	h.Write(k.vk.Bytes())
	var err error
	for s := SectionH; s < NumSections && err == nil; s++ {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(k.lens[s])))
		for _, i := range []int{0, k.lens[s] - 1} {
			if i < 0 || i >= k.lens[s] || err != nil {
				continue
			}
			var b []byte
			if b, err = k.raw(s, i, 1); err == nil {
				err = k.mapped(s, func() error { h.Write(b); return nil })
			}
		}
	}
	if err = errors.Join(err, k.Release()); err != nil {
		return [32]byte{}, err
	}
	return [32]byte(h.Sum(nil)), nil
}

// SetR1CS records the digest of the system that the key was made for, which a parameter file does not carry;
// CheckSystem then compares it. Setup does so.
func (k *ProvingKey) SetR1CS(d synth.Digest) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.r1cs = &d
}

// CheckSystem says whether the key has the dimensions of sys, and its R1CS digest where that is known; else it gives a
// *DimensionError. A key of another system of the same dimensions is only found by its proofs, which do not verify.
func (k *ProvingKey) CheckSystem(ctx context.Context, sys *synth.System) error {
	for _, c := range expectedLengths(sys) {
		found := len(k.vk.IC)
		if c.section != nil {
			found = k.lens[*c.section]
		}
		if found == c.want {
			continue
		}
		e := &DimensionError{Section: "ic", Expected: c.want, Found: found}
		if c.section != nil {
			e.Section = c.section.String()
			if *c.section == SectionH {
				e.Note = hNote(sys, found)
			}
		}
		return e
	}
	k.mu.Lock()
	want := k.r1cs
	k.mu.Unlock()
	if want == nil {
		return nil
	}
	got, err := sys.Digest(ctx)
	if err != nil {
		return err
	}
	if !bytes.Equal(got[:], want[:]) {
		return fmt.Errorf("%w: the key was made for the system with digest %x, this one has %x", ErrDimension, want[:], got[:])
	}
	return nil
}

func hNote(sys *synth.System, found int) string {
	m := sys.DomainSize()
	switch {
	case found == m:
		return "as many as the domain: this key keeps the h query with one point too many, of another convention"
	case found > 0 && found&(found+1) == 0:
		return fmt.Sprintf("a key for domain %d, the system needs %d", found+1, m)
	}
	return ""
}

type expected struct {
	section *Section // nil for ic
	want    int
}

func expectedLengths(sys *synth.System) []expected {
	l := SectionLengths(sys)
	out := []expected{{nil, sys.Inputs()}}
	for s := SectionH; s < NumSections; s++ {
		out = append(out, expected{&s, l[s]})
	}
	return out
}

// SectionLengths are the numbers of points that a key for sys has.
func SectionLengths(sys *synth.System) (l [NumSections]int) {
	b := popcount(sys.BInputDensity()) + popcount(sys.BDensity())
	return [NumSections]int{sys.DomainSize() - 1, sys.Aux(), sys.Inputs() + popcount(sys.ADensity()), b, b}
}

// KeySize is the size in bytes of the parameter file of a key for sys.
func KeySize(sys *synth.System) int64 {
	n := int64(vkHeader + curveio.G1Size*sys.Inputs())
	for s, l := range SectionLengths(sys) {
		n += 4 + int64(l)*int64(Section(s).PointSize())
	}
	return n
}
