package vanilla

import (
	"fmt"
	"math"
	"strings"
)

// maxDepth bounds the nesting of a document, ignored members included.
const maxDepth = 128

// jsonReader is a pull parser over a whole document. It accepts what the deployed parser accepts of objects: members in any order,
// unknown members ignored, duplicate and missing members refused; integers only, without sign, fraction or exponent.
type jsonReader struct {
	b     []byte
	i     int
	depth int
}

// ReadJSON decodes one document; walk describes it. Anything but white space after it is an error. Errors are *FieldError.
func ReadJSON(b []byte, walk func(Walker) error) error {
	d := &jsonReader{b: b}
	if err := walk(d); err != nil {
		return err
	}
	d.space()
	if d.i != len(d.b) {
		return d.fail("trailing characters after the document")
	}
	return nil
}

func (d *jsonReader) Decoding() bool { return true }

func (d *jsonReader) fail(format string, args ...any) error {
	return &FieldError{Offset: d.i, Reason: fmt.Sprintf(format, args...)}
}

func (d *jsonReader) space() {
	for d.i < len(d.b) {
		switch d.b[d.i] {
		case ' ', '\t', '\n', '\r':
			d.i++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (d *jsonReader) peek() byte {
	d.space()
	if d.i < len(d.b) {
		return d.b[d.i]
	}
	return 0
}

// kind names the value that starts at the cursor, for messages.
func (d *jsonReader) kind() string {
	c := d.peek()
	switch {
	case d.i >= len(d.b):
		return "the end of the input"
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == '"':
		return "a string"
	case c == 't' || c == 'f':
		return "a boolean"
	case c == 'n':
		return "null"
	case c == '-' || c >= '0' && c <= '9':
		return "a number"
	}
	return fmt.Sprintf("%q", c)
}

func (d *jsonReader) open(c byte, what string) error {
	if d.peek() != c {
		return d.fail("found %s, want %s", d.kind(), what)
	}
	if d.depth++; d.depth > maxDepth {
		return d.fail("nested deeper than %d levels", maxDepth)
	}
	d.i++
	return nil
}

// more advances to the next element of a list or object: true if there is one, false at the closing byte, which is consumed.
func (d *jsonReader) more(first bool, closing byte) (bool, error) {
	c := d.peek()
	if c == closing {
		d.i++
		d.depth--
		return false, nil
	}
	if first {
		return true, nil
	}
	if c != ',' {
		return false, d.fail("found %s, want ',' or '%c'", d.kind(), closing)
	}
	d.i++
	if d.peek() == closing {
		return false, d.fail("trailing comma")
	}
	return true, nil
}

func (d *jsonReader) key() (string, error) {
	if d.peek() != '"' {
		return "", d.fail("found %s, want a member name", d.kind())
	}
	k, err := d.str()
	if err != nil {
		return "", err
	}
	if d.peek() != ':' {
		return "", d.fail("found %s, want ':'", d.kind())
	}
	d.i++
	return k, nil
}

func (d *jsonReader) Object(fields ...Field) error {
	start := d.i
	if err := d.open('{', "an object"); err != nil {
		return err
	}
	var seen uint32
	next := 0
	for first := true; ; first = false {
		ok, err := d.more(first, '}')
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		at := d.i
		k, err := d.key()
		if err != nil {
			return err
		}
		f := lookup(fields, k, next)
		if f < 0 {
			if err := d.skip(); err != nil {
				return In(printable(k), err)
			}
			continue
		}
		if seen>>f&1 == 1 {
			return In(k, &FieldError{Offset: at, Reason: "duplicate member"})
		}
		seen |= 1 << f
		next = f + 1
		if err := fields[f].Walk(); err != nil {
			return In(k, err)
		}
	}
	for f := range fields {
		if seen>>f&1 == 0 {
			return In(fields[f].Name, &FieldError{Offset: start, Reason: "missing member"})
		}
	}
	return nil
}

func lookup(fields []Field, k string, next int) int {
	if next < len(fields) && fields[next].Name == k {
		return next
	}
	for i := range fields {
		if fields[i].Name == k {
			return i
		}
	}
	return -1
}

// printable keeps a name of the input out of an error message if it is long or odd.
func printable(k string) string {
	if len(k) > 64 {
		k = k[:64] + "..."
	}
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e {
			return '?'
		}
		return r
	}, k)
}

func (d *jsonReader) Variant(names []string, sel *int, payload func() error) error {
	if err := d.open('{', "an object"); err != nil {
		return err
	}
	ok, err := d.more(true, '}')
	if err != nil {
		return err
	}
	if !ok {
		return d.fail("empty object, want one of %s", strings.Join(names, ", "))
	}
	at := d.i
	k, err := d.key()
	if err != nil {
		return err
	}
	*sel = -1
	for i, n := range names {
		if n == k {
			*sel = i
		}
	}
	if *sel < 0 {
		return &FieldError{Offset: at, Reason: fmt.Sprintf("unknown variant %q, want one of %s", printable(k), strings.Join(names, ", "))}
	}
	if err := payload(); err != nil {
		return In(k, err)
	}
	if d.peek() != '}' {
		return d.fail("found %s, want '}' after the only member", d.kind())
	}
	d.i++
	d.depth--
	return nil
}

func (d *jsonReader) List(n int, elem func(i int) error) error {
	if err := d.open('[', "an array"); err != nil {
		return err
	}
	for i := 0; ; i++ {
		ok, err := d.more(i == 0, ']')
		switch {
		case err != nil:
			return err
		case !ok && i < n:
			return d.fail("has %d elements, want %d", i, n)
		case !ok:
			return nil
		case i == n:
			return d.fail("has more than %d elements", n)
		}
		if err := elem(i); err != nil {
			return At(i, err)
		}
	}
}

func (d *jsonReader) Nodes(s []Commitment) error {
	return d.List(len(s), func(i int) error { return d.Node(&s[i]) })
}

func (d *jsonReader) Node(c *Commitment) error {
	start := d.i
	if err := d.Bytes32(c); err != nil {
		return err
	}
	if !c.Canonical() {
		return &FieldError{Offset: start, Reason: reasonCanonical}
	}
	return nil
}

func (d *jsonReader) U32(v *uint32) error {
	x, err := d.integer(math.MaxUint32)
	*v = uint32(x)
	return err
}

func (d *jsonReader) U64(v *uint64) (err error) {
	*v, err = d.integer(math.MaxUint64)
	return err
}

func (d *jsonReader) Text(s *string) (err error) {
	if d.peek() != '"' {
		return d.fail("found %s, want a string", d.kind())
	}
	*s, err = d.str()
	return err
}

func (d *jsonReader) Unit() error {
	if d.peek() != 'n' {
		return d.fail("found %s, want null", d.kind())
	}
	return d.literal("null")
}
