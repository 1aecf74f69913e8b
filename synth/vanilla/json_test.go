package vanilla

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type sample struct {
	a uint32
	b uint64
	c Commitment
	s string
	v int
	l []Commitment
}

func (s *sample) walk(w Walker) error {
	return w.Object(
		Field{"a", func() error { return w.U32(&s.a) }},
		Field{"b", func() error { return w.U64(&s.b) }},
		Field{"c", func() error { return w.Bytes32(&s.c) }},
		Field{"s", func() error { return w.Text(&s.s) }},
		Field{"v", func() error { return w.Variant([]string{"X", "Y"}, &s.v, w.Unit) }},
		Field{"l", func() error { return NodeSlice(w, &s.l, 2) }})
}

func TestCodecsRoundTrip(t *testing.T) {
	in := sample{a: math.MaxUint32, b: math.MaxUint64, s: "a\"\\\n\u00e4", v: 1, l: make([]Commitment, 2)}
	for i := range in.c {
		in.c[i] = byte(i * 9)
		in.l[1][i] = byte(i)
	}
	doc, err := AppendJSON([]byte("x"), in.walk)
	require.NoError(t, err)
	require.True(t, json.Valid(doc[1:]))
	var out sample
	require.NoError(t, ReadJSON(doc[1:], out.walk))
	require.Equal(t, in, out)
	bin, err := AppendBincode(nil, in.walk)
	require.NoError(t, err)
	require.Len(t, bin, 4+8+32+8+len(in.s)+4+8+64)
	out = sample{}
	require.NoError(t, ReadBincode(bin, out.walk))
	require.Equal(t, in, out)
	for n := range bin {
		require.Error(t, ReadBincode(bin[:n], out.walk))
	}
	for n := 1; n < len(doc); n++ {
		require.Error(t, ReadJSON(doc[1:n], out.walk))
	}
	in.l = in.l[:1]
	for _, write := range []func([]byte, func(Walker) error) ([]byte, error){AppendJSON, AppendBincode} {
		_, err = write(nil, in.walk)
		require.ErrorContains(t, err, "l: has 1 elements, want 2")
	}
	require.ErrorContains(t, Validate(in.walk), "l: has 1 elements, want 2")
}

func TestBincodeLengthsAreNotTrusted(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}
	var s string
	require.ErrorContains(t, ReadBincode(huge, func(w Walker) error { return w.Text(&s) }), "only 0 are left")
	var l []Commitment
	require.ErrorContains(t, ReadBincode(huge, func(w Walker) error { return NodeSlice(w, &l, 3) }), "has 9223372036854775807 elements, want 3")
	var sel int
	err := ReadBincode([]byte{2, 0, 0, 0}, func(w Walker) error { return w.Variant([]string{"X", "Y"}, &sel, w.Unit) })
	require.ErrorContains(t, err, "unknown variant 2")
}

func TestBytesOfEveryForm(t *testing.T) {
	num := []string{"0", "1", "9", "10", "99", "100", "199", "200", "255"}
	for shift := range num {
		parts := make([]string, 32)
		for i := range parts {
			parts[i] = num[(i+shift)%len(num)]
		}
		for _, sep := range []string{",", " , ", ",\n", "\t,"} {
			var c Commitment
			doc := "[" + strings.Join(parts, sep) + "]"
			require.NoError(t, ReadJSON([]byte(doc), func(w Walker) error { return w.Bytes32(&c) }))
			var want [32]byte
			var ints []int
			require.NoError(t, json.Unmarshal([]byte(doc), &ints))
			for i := range want {
				want[i] = byte(ints[i])
			}
			require.Equal(t, Commitment(want), c)
			for k := 0; k < 32; k++ {
				for _, bad := range []string{"256", "300", "999", "1000", "00", "01", "1.0", "1e1", "1E1", "-1", "-0", `"1"`, "null", "[]", "", "1 1", "99999999999999999999999"} {
					keep := parts[k]
					parts[k] = bad
					err := ReadJSON([]byte("["+strings.Join(parts, sep)+"]"), func(w Walker) error { return w.Bytes32(&c) })
					require.ErrorContains(t, err, "[")
					require.Error(t, err, bad)
					parts[k] = keep
				}
			}
		}
	}
}

func TestJSONSyntax(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	u := func(w Walker) error { return w.Object(Field{"n", func() error { var v uint32; return w.U32(&v) }}) }
	for _, ok := range []string{
		`{"n":1}`, ` { "n" : 0 , "x" : [ 1.5e+3 , -0.0 , { } , [ ] , "\u00e9\"" ] } ` + "\n", `{"\u006e":4294967295}`, `{"x":` + deep(127) + `,"n":1}`,
		`{"x":1,"x":{"n":5},"n":2}`,
	} {
		require.NoError(t, ReadJSON([]byte(ok), u), ok)
	}
	for _, bad := range []struct{ doc, want string }{
		{`{"n":1,}`, "trailing comma"}, {`{,"n":1}`, "want a member name"}, {`{"n" 1}`, "want ':'"}, {`{"n":1 "x":2}`, "want ',' or '}'"},
		{`{"n":1,"x":[1,]}`, "x: trailing comma"}, {`{"x":` + deep(128) + `,"n":1}`, "nested deeper than 128 levels"}, {`{"n":1}{}`, "trailing characters"},
		{`{"n":1,"x":01}`, "malformed number"}, {`{"n":1,"x":1.}`, "malformed number"}, {`{"n":1,"x":-}`, "malformed number"}, {`{"n":1,"x":1e}`, "malformed number"},
		{`{"n":1,"x":tru}`, "malformed literal"}, {`{"n":1,"x":"\q"}`, "malformed escape"}, {`{"n":1,"x":"` + "\n" + `"}`, "control character"},
		{`{"n":1,"x":"abc`, "end of the input in a string"}, {`{"n":4294967296}`, "n: integer out of range, want 0 to 4294967295"},
		{`{"n":1,"n":1}`, "n: duplicate member"}, {`{}`, "n: missing member"}, {`[]`, "found an array, want an object"}, {"{\"\xff\":1}", "not UTF-8"},
		{`{"n":1,"x":{"y":[}]}}`, `x: found '}', want a value`}, {`{"n":1,"x":}`, "x: found '}', want a value"},
	} {
		err := ReadJSON([]byte(bad.doc), u)
		require.ErrorContains(t, err, bad.want, bad.doc)
	}
}

func TestFirstAndReadMember(t *testing.T) {
	doc := []byte(`{"x":{"b":1},"b":7,"a":[]}`)
	k, err := FirstMember(doc, "a", "b")
	require.NoError(t, err)
	require.Equal(t, "b", k)
	k, err = FirstMember(doc, "c")
	require.NoError(t, err)
	require.Empty(t, k)
	var v uint32
	require.NoError(t, ReadMember(doc, "b", func(w Walker) error { return w.U32(&v) }))
	require.EqualValues(t, 7, v)
	require.ErrorContains(t, ReadMember(doc, "c", func(w Walker) error { return w.U32(&v) }), "c: missing member")
}

// FuzzSkip compares what is accepted of ignored members with the standard library.
func FuzzSkip(f *testing.F) {
	for _, s := range []string{`{}`, `[1,-2.5e3,{"a":[null,true,false]},"\u1234"]`, `"\ud800"`, ` 0 `, `[[]]`, `-`, `"`, `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &jsonReader{b: b}
		err := d.skip()
		d.space()
		ok := err == nil && d.i == len(b)
		if ok != json.Valid(b) && !(err != nil && (strings.Contains(err.Error(), "nested") || strings.Contains(err.Error(), "UTF-8"))) {
			t.Fatalf("accepted %v, json.Valid %v: %q", ok, json.Valid(b), b)
		}
	})
}
