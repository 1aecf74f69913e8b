package aggregate

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDecode: no input panics; what parses encodes to the bytes that were read.
func FuzzDecode(f *testing.F) {
	for _, c := range goldenCases(f) {
		if len(c.inputs) == 2 { // small inputs mutate faster
			f.Add(c.aggregate)
			f.Add(c.aggregate[:len(c.aggregate)-1])
		}
	}
	f.Add([]byte{})
	f.Add(make([]byte, Size(2)))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, n, err := Decode(context.Background(), b)
		if err != nil {
			require.ErrorIs(t, err, ErrMalformed)
			require.Nil(t, p)
			return
		}
		require.Equal(t, Size(p.Count()), n)
		out, err := p.Bytes()
		require.NoError(t, err)
		require.Equal(t, b[:n], out)
	})
}

// FuzzLoadSRS: no input panics; what is read whole is written as it was.
func FuzzLoadSRS(f *testing.F) {
	f.Add(readFile(f, "snarkpack_n8.srs"), 0)
	f.Add(readFile(f, "seal_2k.srs"), 5)
	f.Add([]byte{0, 0, 0, 2}, 2)
	f.Fuzz(func(t *testing.T, b []byte, points int) {
		s, err := load(b, points)
		if err != nil {
			require.Nil(t, s)
			return
		}
		var w bytes.Buffer
		_, err = s.WriteTo(&w)
		require.NoError(t, err)
		if w.Len() == len(b) { // nothing was skipped
			require.Equal(t, b, w.Bytes())
		}
	})
}
