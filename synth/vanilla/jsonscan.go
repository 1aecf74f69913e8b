package vanilla

import (
	"encoding/json"
	"math/bits"
	"unicode/utf8"
)

// Bytes32 reads an array of 32 byte numbers; this is where nearly all of a document is.
func (d *jsonReader) Bytes32(c *Commitment) error {
	if d.peek() != '[' {
		return d.fail("found %s, want an array of 32 bytes", d.kind())
	}
	d.i++
	for k := range c {
		if err := d.byteNumber(&c[k]); err != nil {
			return At(k, err)
		}
		if d.i < len(d.b) && k < 31 && d.b[d.i] == ',' {
			d.i++
			continue
		}
		switch x := d.peek(); {
		case x == ',' && k < 31:
			d.i++
		case x == ']' && k == 31:
			d.i++
		case x == ']':
			return d.fail("has %d elements, want 32", k+1)
		case x == ',':
			return d.fail("has more than 32 elements")
		default:
			return At(k, d.fail("found %s, want ',' or ']'", d.kind()))
		}
	}
	return nil
}

// byteNumber reads 0 to 255 at the cursor.
func (d *jsonReader) byteNumber(out *byte) error {
	b, i := d.b, d.i
	if i+3 < len(b) {
		x, y, z, w := b[i]-'0', b[i+1]-'0', b[i+2]-'0', b[i+3]
		switch {
		case x > 9 || x == 0: // anything unusual, and 0 itself, takes the general way
		case y > 9:
			if b[i+1] == ',' {
				*out, d.i = x, i+1
				return nil
			}
		case z > 9:
			if b[i+2] == ',' {
				*out, d.i = x*10+y, i+2
				return nil
			}
		case w == ',':
			if v := uint(x)*100 + uint(y)*10 + uint(z); v < 256 {
				*out, d.i = byte(v), i+3
				return nil
			}
		}
	}
	if d.peek() == ']' {
		return d.fail("the array ends, want 32 elements")
	}
	v, err := d.integer(255)
	*out = byte(v)
	return err
}

// integer reads a non-negative JSON integer up to max.
func (d *jsonReader) integer(max uint64) (uint64, error) {
	c := d.peek()
	if c < '0' || c > '9' {
		return 0, d.fail("found %s, want an integer from 0 to %d", d.negative(), max)
	}
	start := d.i
	var v uint64
	over := false
	for ; d.i < len(d.b) && d.b[d.i]-'0' <= 9; d.i++ {
		hi, lo := bits.Mul64(v, 10)
		var carry uint64
		v, carry = bits.Add64(lo, uint64(d.b[d.i]-'0'), 0)
		over = over || hi != 0 || carry != 0
	}
	switch {
	case c == '0' && d.i > start+1:
		d.i = start
		return 0, d.fail("number with a leading zero")
	case d.i < len(d.b) && (d.b[d.i] == '.' || d.b[d.i]|0x20 == 'e'):
		d.i = start
		return 0, d.fail("found a number with a fraction or exponent, want an integer from 0 to %d", max)
	case over || v > max:
		d.i = start
		return 0, d.fail("integer out of range, want 0 to %d", max)
	}
	return v, nil
}

func (d *jsonReader) negative() string {
	if d.peek() == '-' {
		return "a negative number"
	}
	return d.kind()
}

// str reads the string at the cursor (a quote).
func (d *jsonReader) str() (string, error) {
	raw, escaped, err := d.rawString()
	if err != nil {
		return "", err
	}
	if escaped {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", d.fail("malformed escape in a string")
		}
		return s, nil
	}
	raw = raw[1 : len(raw)-1]
	if !utf8.Valid(raw) {
		return "", d.fail("string is not UTF-8")
	}
	return string(raw), nil
}

// rawString returns the bytes of a string with its quotes and whether there are escapes in it.
func (d *jsonReader) rawString() (raw []byte, escaped bool, err error) {
	start := d.i
	for i := start + 1; i < len(d.b); i++ {
		switch c := d.b[i]; {
		case c == '"':
			d.i = i + 1
			return d.b[start:d.i], escaped, nil
		case c == '\\':
			escaped = true
			n := escapeLen(d.b[i:])
			if n == 0 {
				d.i = i
				return nil, false, d.fail("malformed escape in a string")
			}
			i += n - 1
		case c < 0x20:
			d.i = i
			return nil, false, d.fail("control character in a string")
		}
	}
	d.i = len(d.b)
	return nil, false, d.fail("found the end of the input in a string")
}

// escapeLen is the length of the escape sequence at the start of b, 0 if it is malformed.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if c-'0' > 9 && (c|0x20)-'a' > 5 {
				return 0
			}
		}
		return 6
	}
	return 0
}

func (d *jsonReader) literal(s string) error {
	if len(d.b)-d.i < len(s) || string(d.b[d.i:d.i+len(s)]) != s {
		return d.fail("malformed literal, want %s", s)
	}
	d.i += len(s)
	return nil
}

// FirstMember returns the first of the given names that is a member of the document's top-level object, "" if none is; everything
// before it is checked for syntax only.
func FirstMember(b []byte, names ...string) (string, error) {
	d := &jsonReader{b: b}
	return d.find(names)
}

// ReadMember decodes one member of the document's top-level object, wherever it stands, and ignores the rest.
func ReadMember(b []byte, name string, walk func(Walker) error) error {
	d := &jsonReader{b: b}
	k, err := d.find([]string{name})
	if err != nil {
		return err
	}
	if k == "" {
		return In(name, &FieldError{Offset: 0, Reason: "missing member"})
	}
	return In(name, walk(d))
}

// find moves the cursor to the value of the first member with one of the names.
func (d *jsonReader) find(names []string) (string, error) {
	if err := d.open('{', "an object"); err != nil {
		return "", err
	}
	for first := true; ; first = false {
		ok, err := d.more(first, '}')
		if err != nil || !ok {
			return "", err
		}
		k, err := d.key()
		if err != nil {
			return "", err
		}
		for _, n := range names {
			if n == k {
				return n, nil
			}
		}
		if err := d.skip(); err != nil {
			return "", In(printable(k), err)
		}
	}
}

// skip passes over one value of any kind, without recursion.
func (d *jsonReader) skip() error {
	base := d.depth
	var closing [maxDepth]byte
	for {
		c := d.peek()
		switch {
		case c == '{' || c == '[':
			if err := d.open(c, ""); err != nil {
				return err
			}
			closing[d.depth-1] = c + 2 // '}' and ']' are two above
			if end, err := d.first(c + 2); err != nil {
				return err
			} else if !end {
				continue
			}
		default:
			if err := d.scalar(); err != nil {
				return err
			}
		}
		for {
			if d.depth == base {
				return nil
			}
			end := closing[d.depth-1]
			ok, err := d.more(false, end)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			if end == '}' {
				if err := d.skipKey(); err != nil {
					return err
				}
			}
			break
		}
	}
}

// first handles the begin of a container that is skipped: true if it is empty, otherwise the cursor is at the first value.
func (d *jsonReader) first(end byte) (bool, error) {
	ok, err := d.more(true, end)
	if err != nil || !ok {
		return true, err
	}
	if end == '}' {
		return false, d.skipKey()
	}
	return false, nil
}

func (d *jsonReader) skipKey() error {
	_, err := d.key()
	return err
}

func (d *jsonReader) scalar() error {
	switch c := d.peek(); {
	case c == '"':
		_, _, err := d.rawString()
		return err
	case c == 't':
		return d.literal("true")
	case c == 'f':
		return d.literal("false")
	case c == 'n':
		return d.literal("null")
	case c == '-' || c >= '0' && c <= '9':
		return d.number()
	}
	return d.fail("found %s, want a value", d.kind())
}

// number passes over a number of the JSON grammar.
func (d *jsonReader) number() error {
	start := d.i
	if d.b[d.i] == '-' {
		d.i++
	}
	lead := d.i
	n := d.digits()
	ok := n > 0 && (n == 1 || d.b[lead] != '0')
	if ok && d.i < len(d.b) && d.b[d.i] == '.' {
		d.i++
		ok = d.digits() > 0
	}
	if ok && d.i < len(d.b) && d.b[d.i]|0x20 == 'e' {
		d.i++
		if d.i < len(d.b) && (d.b[d.i] == '+' || d.b[d.i] == '-') {
			d.i++
		}
		ok = d.digits() > 0
	}
	if !ok {
		d.i = start
		return d.fail("malformed number")
	}
	return nil
}

func (d *jsonReader) digits() int {
	start := d.i
	for d.i < len(d.b) && d.b[d.i]-'0' <= 9 {
		d.i++
	}
	return d.i - start
}
