package vanilla

import (
	"encoding/binary"
	"fmt"
)

// bincodeReader reads bincode 1 in its default form: little-endian fixed-width integers, u64 lengths, u32 variant tags.
type bincodeReader struct {
	b []byte
	i int
}

// ReadBincode decodes one value; walk describes it. Trailing bytes are an error. Errors are *FieldError.
func ReadBincode(b []byte, walk func(Walker) error) error {
	d := &bincodeReader{b: b}
	if err := walk(d); err != nil {
		return err
	}
	if d.i != len(d.b) {
		return d.fail("%d trailing bytes", len(d.b)-d.i)
	}
	return nil
}

func (d *bincodeReader) Decoding() bool { return true }

func (d *bincodeReader) fail(format string, args ...any) error {
	return &FieldError{Offset: d.i, Reason: fmt.Sprintf(format, args...)}
}

func (d *bincodeReader) take(n int) ([]byte, error) {
	if len(d.b)-d.i < n {
		return nil, d.fail("found the end of the input, want %d bytes", n)
	}
	d.i += n
	return d.b[d.i-n : d.i], nil
}

func (d *bincodeReader) Object(fields ...Field) error {
	for _, f := range fields {
		if err := f.Walk(); err != nil {
			return In(f.Name, err)
		}
	}
	return nil
}

func (d *bincodeReader) Variant(names []string, sel *int, payload func() error) error {
	var tag uint32
	if err := d.U32(&tag); err != nil {
		return err
	}
	if uint64(tag) >= uint64(len(names)) {
		d.i -= 4
		return d.fail("unknown variant %d, want below %d", tag, len(names))
	}
	*sel = int(tag)
	return In(names[tag], payload())
}

func (d *bincodeReader) List(n int, elem func(i int) error) error {
	if err := d.length(n); err != nil {
		return err
	}
	for i := 0; i < n; i++ {
		if err := elem(i); err != nil {
			return At(i, err)
		}
	}
	return nil
}

func (d *bincodeReader) length(n int) error {
	var have uint64
	if err := d.U64(&have); err != nil {
		return err
	}
	if have != uint64(n) {
		d.i -= 8
		return d.fail("has %d elements, want %d", have, n)
	}
	return nil
}

func (d *bincodeReader) Nodes(s []Commitment) error {
	return d.List(len(s), func(i int) error { return d.Node(&s[i]) })
}

func (d *bincodeReader) Node(c *Commitment) error {
	if err := d.Bytes32(c); err != nil {
		return err
	}
	if !c.Canonical() {
		d.i -= 32
		return d.fail(reasonCanonical)
	}
	return nil
}

func (d *bincodeReader) Bytes32(c *Commitment) error {
	b, err := d.take(32)
	copy(c[:], b)
	return err
}

func (d *bincodeReader) U32(v *uint32) error {
	b, err := d.take(4)
	if err == nil {
		*v = binary.LittleEndian.Uint32(b)
	}
	return err
}

func (d *bincodeReader) U64(v *uint64) error {
	b, err := d.take(8)
	if err == nil {
		*v = binary.LittleEndian.Uint64(b)
	}
	return err
}

func (d *bincodeReader) Text(s *string) error {
	var n uint64
	if err := d.U64(&n); err != nil {
		return err
	}
	if n > uint64(len(d.b)-d.i) {
		d.i -= 8
		return d.fail("string of %d bytes, only %d are left", n, len(d.b)-d.i-8)
	}
	b, err := d.take(int(n))
	*s = string(b)
	return err
}

func (d *bincodeReader) Unit() error { return nil }

type bincodeWriter struct{ b []byte }

// AppendBincode appends one value to dst; walk describes it.
func AppendBincode(dst []byte, walk func(Walker) error) ([]byte, error) {
	e := &bincodeWriter{b: dst}
	if err := walk(e); err != nil {
		return dst, err
	}
	return e.b, nil
}

func (e *bincodeWriter) Decoding() bool { return false }

func (e *bincodeWriter) Object(fields ...Field) error {
	for _, f := range fields {
		if err := f.Walk(); err != nil {
			return In(f.Name, err)
		}
	}
	return nil
}

func (e *bincodeWriter) Variant(names []string, sel *int, payload func() error) error {
	e.b = binary.LittleEndian.AppendUint32(e.b, uint32(*sel))
	return In(names[*sel], payload())
}

func (e *bincodeWriter) List(n int, elem func(i int) error) error {
	e.b = binary.LittleEndian.AppendUint64(e.b, uint64(n))
	for i := 0; i < n; i++ {
		if err := elem(i); err != nil {
			return At(i, err)
		}
	}
	return nil
}

func (e *bincodeWriter) Nodes(s []Commitment) error {
	return e.List(len(s), func(i int) error { return e.Node(&s[i]) })
}

func (e *bincodeWriter) Node(c *Commitment) error { return e.Bytes32(c) }

func (e *bincodeWriter) Bytes32(c *Commitment) error {
	e.b = append(e.b, c[:]...)
	return nil
}

func (e *bincodeWriter) U32(v *uint32) error {
	e.b = binary.LittleEndian.AppendUint32(e.b, *v)
	return nil
}

func (e *bincodeWriter) U64(v *uint64) error {
	e.b = binary.LittleEndian.AppendUint64(e.b, *v)
	return nil
}

func (e *bincodeWriter) Text(s *string) error {
	e.b = binary.LittleEndian.AppendUint64(e.b, uint64(len(*s)))
	e.b = append(e.b, *s...)
	return nil
}

func (e *bincodeWriter) Unit() error { return nil }
