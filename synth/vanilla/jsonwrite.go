package vanilla

import (
	"encoding/json"
	"strconv"
)

// jsonWriter appends the compact form that the deployed stack writes: members in order, no white space.
type jsonWriter struct{ b []byte }

// AppendJSON appends one document to dst; walk describes it.
func AppendJSON(dst []byte, walk func(Walker) error) ([]byte, error) {
	e := &jsonWriter{b: dst}
	if err := walk(e); err != nil {
		return dst, err
	}
	return e.b, nil
}

func (e *jsonWriter) Decoding() bool { return false }

func (e *jsonWriter) name(s string) {
	e.b = strconv.AppendQuote(e.b, s)
	e.b = append(e.b, ':')
}

func (e *jsonWriter) Object(fields ...Field) error {
	e.b = append(e.b, '{')
	for i, f := range fields {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.name(f.Name)
		if err := f.Walk(); err != nil {
			return In(f.Name, err)
		}
	}
	e.b = append(e.b, '}')
	return nil
}

func (e *jsonWriter) Variant(names []string, sel *int, payload func() error) error {
	e.b = append(e.b, '{')
	e.name(names[*sel])
	if err := payload(); err != nil {
		return In(names[*sel], err)
	}
	e.b = append(e.b, '}')
	return nil
}

func (e *jsonWriter) List(n int, elem func(i int) error) error {
	e.b = append(e.b, '[')
	for i := 0; i < n; i++ {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		if err := elem(i); err != nil {
			return At(i, err)
		}
	}
	e.b = append(e.b, ']')
	return nil
}

func (e *jsonWriter) Nodes(s []Commitment) error {
	return e.List(len(s), func(i int) error { return e.Node(&s[i]) })
}

func (e *jsonWriter) Node(c *Commitment) error { return e.Bytes32(c) }

func (e *jsonWriter) Bytes32(c *Commitment) error {
	b := append(e.b, '[')
	for i, x := range c {
		if i > 0 {
			b = append(b, ',')
		}
		if x >= 100 {
			b = append(b, '0'+x/100)
		}
		if x >= 10 {
			b = append(b, '0'+x/10%10)
		}
		b = append(b, '0'+x%10)
	}
	e.b = append(b, ']')
	return nil
}

func (e *jsonWriter) U32(v *uint32) error {
	e.b = strconv.AppendUint(e.b, uint64(*v), 10)
	return nil
}

func (e *jsonWriter) U64(v *uint64) error {
	e.b = strconv.AppendUint(e.b, *v, 10)
	return nil
}

func (e *jsonWriter) Text(s *string) error {
	q, err := json.Marshal(*s)
	e.b = append(e.b, q...)
	return err
}

func (e *jsonWriter) Unit() error {
	e.b = append(e.b, "null"...)
	return nil
}
