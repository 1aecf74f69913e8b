package golden

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDumps recomputes both digests of every dump: the files are whole and their summaries belong to them.
func TestDumps(t *testing.T) {
	names, err := Names()
	require.NoError(t, err)
	require.Len(t, names, 55)
	dumps := 0
	for _, name := range names {
		g, err := Load(name)
		require.NoError(t, err)
		d, err := g.Dump()
		require.NoError(t, err, name)
		if d == nil {
			continue
		}
		dumps++
		h := sha256.New()
		for i, r := range d.Rows {
			require.Empty(t, d.Diff(i, r))
			for _, lc := range r {
				var b []byte
				b = binary.LittleEndian.AppendUint32(b, uint32(len(lc)))
				for _, x := range lc {
					kind := byte(1)
					if x.Input {
						kind = 0
					}
					b = append(b, kind)
					b = binary.LittleEndian.AppendUint32(b, x.Index)
					b = append(b, x.Coeff[:]...)
				}
				h.Write(b)
			}
		}
		require.Equal(t, g.Summary.R1CS, hex.EncodeToString(h.Sum(nil)), name)
		w := sha256.New()
		for _, v := range d.Witness {
			w.Write(v[:])
		}
		require.Equal(t, g.Summary.Witness, hex.EncodeToString(w.Sum(nil)), name)
	}
	require.Equal(t, 38, dumps)
}

func TestDiffNamesTheRow(t *testing.T) {
	g, err := Load("bool_xor")
	require.NoError(t, err)
	d, err := g.Dump()
	require.NoError(t, err)
	r := d.Rows[2]
	r[1] = append([]Term(nil), r[1]...)
	r[1][0].Index++
	require.Contains(t, d.Diff(2, r), "row 2, B")
	require.Contains(t, d.Diff(len(d.Rows), r), "only")
}

func TestDamagedDump(t *testing.T) {
	raw, err := read("testdata/bool_xor.r1csdmp.gz")
	require.NoError(t, err)
	for n := range raw {
		_, err := ParseDump(raw[:n])
		require.ErrorIs(t, err, ErrDump, n)
	}
	_, err = Load("nothing")
	require.True(t, errors.Is(err, ErrUnknown))
}
