package curveio

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/stretchr/testify/require"
)

type edgeCase struct {
	Name    string
	Hex     string
	Checked struct {
		OK           bool
		Uncompressed string `json:"reencoded_uncompressed"`
	}
	Unchecked struct{ OK bool }
}

func edgeCases(t testing.TB) map[string][]edgeCase {
	b, err := os.ReadFile("testdata/encoding_edge_cases.json")
	require.NoError(t, err)
	var raw map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(b, &raw))
	out := map[string][]edgeCase{}
	for _, k := range []string{"g1_compressed", "g1_uncompressed", "g2_compressed", "g2_uncompressed"} {
		var c []edgeCase
		require.NoError(t, json.Unmarshal(raw[k], &c))
		require.NotEmpty(t, c)
		out[k] = c
	}
	return out
}

// decode runs the named decoder and re-encodes.
func decode(kind string, b []byte) (out []byte, err error) {
	var p bls12381.G1Affine
	var q bls12381.G2Affine
	switch kind {
	case "g1_compressed":
		err = G1Compressed(&p, b)
	case "g1_uncompressed":
		err = G1Checked(&p, b)
	case "g2_compressed":
		err = G2Compressed(&q, b)
	case "g2_uncompressed":
		err = G2Checked(&q, b)
	}
	if kind[1] == '1' {
		out = make([]byte, G1Size)
		PutG1(out, &p)
	} else {
		out = make([]byte, G2Size)
		PutG2(out, &q)
	}
	return out, err
}

func TestGoldenEdgeCases(t *testing.T) {
	for kind, cases := range edgeCases(t) {
		for _, c := range cases {
			t.Run(kind+"/"+c.Name, func(t *testing.T) {
				b, err := hex.DecodeString(c.Hex)
				require.NoError(t, err)
				got, err := decode(kind, b)
				want := c.Checked.OK
				if len(b) > 48 && b[0]&0x80 != 0 && kind[3:] == "uncompressed" {
					want = false // the reference falls back to the compressed form there by accident; we do not
				}
				if !want {
					require.Error(t, err)
					require.ErrorIs(t, err, ErrPoint)
					if c.Unchecked.OK && !c.Checked.OK {
						require.ErrorIs(t, err, ErrSubgroup)
					}
					return
				}
				if !errors.Is(err, ErrInfinity) {
					require.NoError(t, err)
				} else {
					require.EqualValues(t, 0x40, b[0]&0x40)
				}
				require.Equal(t, c.Checked.Uncompressed, hex.EncodeToString(got))
			})
		}
	}
}

// (0, 2) is on the curve, of order 3.
func TestOrderThree(t *testing.T) {
	var p bls12381.G1Affine
	b := make([]byte, 48)
	b[0] = 0x80
	require.ErrorIs(t, G1Compressed(&p, b), ErrSubgroup)
	b[0] = 0xa0
	require.ErrorIs(t, G1Compressed(&p, b), ErrSubgroup)
	var q bls12381.G2Affine
	c := make([]byte, 96)
	c[0], c[95] = 0xa0, 2
	require.ErrorIs(t, G2Compressed(&q, c), ErrSubgroup)
}

func TestRoundTrip(t *testing.T) {
	_, _, g1, g2 := bls12381.Generators()
	for _, neg := range []bool{false, true} {
		if neg {
			g1.Neg(&g1)
			g2.Neg(&g2)
		}
		var b [G2Size]byte
		var p bls12381.G1Affine
		var q bls12381.G2Affine
		PutG1(b[:], &g1)
		require.NoError(t, G1Checked(&p, b[:G1Size]))
		require.True(t, p.Equal(&g1))
		PutG1Compressed(b[:], &g1)
		require.NoError(t, G1Compressed(&p, b[:G1CompressedSize]))
		require.True(t, p.Equal(&g1))
		PutG2(b[:], &g2)
		require.NoError(t, G2Checked(&q, b[:]))
		require.True(t, q.Equal(&g2))
		PutG2Compressed(b[:], &g2)
		require.NoError(t, G2Compressed(&q, b[:G2CompressedSize]))
		require.True(t, q.Equal(&g2))
		require.ErrorIs(t, G2Compressed(&q, b[:48]), ErrLength)
		require.ErrorIs(t, G1(&p, b[:48]), ErrLength)
	}
}

// Whatever is accepted must re-encode to the same bytes: there is one encoding of a point.
func FuzzDecode(f *testing.F) {
	kinds := []string{"g1_compressed", "g1_uncompressed", "g2_compressed", "g2_uncompressed"}
	for i, k := range kinds {
		for _, c := range edgeCases(f)[k] {
			b, _ := hex.DecodeString(c.Hex)
			f.Add(i, b)
		}
	}
	f.Fuzz(func(t *testing.T, kind int, b []byte) {
		k := kinds[uint(kind)%4]
		out, err := decode(k, b)
		if err != nil {
			return
		}
		var p bls12381.G1Affine
		var q bls12381.G2Affine
		re := make([]byte, len(b))
		switch k {
		case "g1_compressed":
			require.NoError(t, G1Checked(&p, out))
			PutG1Compressed(re, &p)
		case "g2_compressed":
			require.NoError(t, G2Checked(&q, out))
			PutG2Compressed(re, &q)
		default:
			copy(re, out)
		}
		require.True(t, bytes.Equal(re, b))
	})
}

func BenchmarkG1(b *testing.B) {
	_, _, g, _ := bls12381.Generators()
	var buf [96]byte
	PutG1(buf[:], &g)
	var p bls12381.G1Affine
	for b.Loop() {
		if err := G1(&p, buf[:]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPutG1(b *testing.B) {
	_, _, g, _ := bls12381.Generators()
	var buf [96]byte
	for b.Loop() {
		PutG1(buf[:], &g)
	}
}

func BenchmarkMul(b *testing.B) {
	x := fp.NewElement(12345)
	for b.Loop() {
		x.Mul(&x, &x)
	}
}
