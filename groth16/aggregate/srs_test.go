package aggregate

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// vectorStarts are the offsets of the four lengths in a .srs file of n points.
func vectorStarts(n int) [4]int {
	g, h := 4+n*sizeG1, 4+n*sizeG2
	return [4]int{0, g, 2 * g, 2*g + h}
}

func load(b []byte, points int) (*SRS, error) {
	return LoadSRS(context.Background(), bytes.NewReader(b), LoadConfig{MaxPoints: points})
}

var vectorNames = [4]string{"g_alpha_powers", "g_beta_powers", "h_alpha_powers", "h_beta_powers"}

// TestLoadPrefix: the points that are kept are the first ones, and they serve.
func TestLoadPrefix(t *testing.T) {
	c := mimcCases(t)[1]
	file := readFile(t, "snarkpack_n8.srs")
	for _, points := range []int{2, 3, 15, 16, 17, MaxStored} {
		s, err := load(file, points)
		require.NoError(t, err)
		require.Equal(t, min(points, 16), s.Points())
		require.Equal(t, 16, s.Stored())
		require.Equal(t, c.srs.gB[:s.Points()], s.gB)
		require.Equal(t, c.srs.hB[:s.Points()], s.hB)
		_, _, err = s.Specialize(8)
		if points < 16 {
			require.ErrorIs(t, err, ErrArgument)
		} else {
			require.NoError(t, err)
		}
		ok, err := Verify(context.Background(), s.Verifier(), c.vk, c.inputs, c.aggregate, c.transcript, V2)
		require.NoError(t, err)
		require.True(t, ok)
	}
	for _, points := range []int{-1, 1, MaxStored + 1} {
		_, err := load(file, points)
		require.ErrorIs(t, err, ErrArgument)
	}
	require.Equal(t, "points<=32769", LoadConfig{}.String())
}

// TestMalformedSRS damages each vector; points that are skipped must be there but are not looked at.
func TestMalformedSRS(t *testing.T) {
	file := readFile(t, "snarkpack_n8.srs")
	for v, start := range vectorStarts(16) {
		size := sizeG1
		if v > 1 {
			size = sizeG2
		}
		refuse := func(b []byte, points, index int) {
			t.Helper()
			_, err := load(b, points)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.ErrorIs(t, err, ErrMalformed)
			require.Equal(t, vectorNames[v], e.Field)
			require.Equal(t, index, e.Index)
		}
		for _, n := range []uint32{0, 1, 15, 17, MaxStored, MaxStored + 1, 1<<32 - 1} {
			b := bytes.Clone(file)
			binary.BigEndian.PutUint32(b[start:], n)
			_, err := load(b, 0)
			require.ErrorIs(t, err, ErrMalformed, "%s of %d points", vectorNames[v], n)
		}
		for _, i := range []int{0, 1, 9, 15} {
			b := bytes.Clone(file)
			at := start + 4 + i*size
			clear(b[at : at+size])
			b[at] = 0x80 // x = 0: order 3 in G1, no point or wrong subgroup in G2
			refuse(b, 0, i)
			if i > 4 {
				_, err := load(b, 4)
				require.NoError(t, err)
			}
		}
		b := bytes.Clone(file)
		copy(b[start+4:start+4+size], b[start+4+size:])
		if v == 0 || v == 2 {
			v++ // the second of a pair is found to differ
		}
		refuse(b, 0, 0)
	}
}

// TestUnequalVectors: the shortest vector decides.
func TestUnequalVectors(t *testing.T) {
	file := readFile(t, "snarkpack_n8.srs")
	var b []byte
	for v, start := range vectorStarts(16) {
		n, size := []int{16, 11, 13, 16}[v], sizeG1
		if v > 1 {
			size = sizeG2
		}
		b = binary.BigEndian.AppendUint32(b, uint32(n))
		b = append(b, file[start+4:start+4+n*size]...)
	}
	for points, want := range map[int]int{0: 11, 5: 5, 12: 11} {
		s, err := load(b, points)
		require.NoError(t, err)
		require.Equal(t, want, s.Points())
		require.Equal(t, 11, s.Stored())
		require.Equal(t, [3]int{want, want, want}, [3]int{len(s.gB), len(s.hA), len(s.hB)})
	}
}

func TestTruncatedSRS(t *testing.T) {
	file := readFile(t, "snarkpack_n8.srs")
	for _, points := range []int{0, 3} {
		for n := 0; n < len(file); n += 19 {
			_, err := load(file[:n], points)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.ErrorIs(t, err, ErrMalformed)
		}
		_, err := load(append(bytes.Clone(file), 0), points)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "end", e.Field)
	}
}

// TestFalseLength: a length without points behind it does not become memory.
func TestFalseLength(t *testing.T) {
	file := bytes.Clone(readFile(t, "snarkpack_n8.srs"))
	binary.BigEndian.PutUint32(file, MaxStored)
	n := testing.AllocsPerRun(1, func() {
		_, err := load(file, MaxStored)
		require.ErrorIs(t, err, ErrMalformed)
	})
	require.Less(t, n, 2000.0)
	var s SRS
	_, err := readVector(context.Background(), newBufio(file), "g", MaxStored, sizeG1, &s.gA, setG1)
	require.Error(t, err)
	require.Less(t, cap(s.gA), 4096)
}

func TestLoadStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := LoadSRS(ctx, bytes.NewReader(readFile(t, "snarkpack_n8.srs")), LoadConfig{})
	require.ErrorIs(t, err, context.Canceled)
}
