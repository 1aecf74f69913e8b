package poseidon

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

func leHex(e fr.Element) string {
	var b [32]byte
	fr.LittleEndian.PutElement(&b, e)
	return hex.EncodeToString(b[:])
}

type goldenConstants struct {
	Arity     int
	Name      string
	Width     int
	Full      int        `json:"full_rounds"`
	Partial   int        `json:"partial_rounds"`
	DomainTag string     `json:"domain_tag"`
	RC        []string   `json:"round_constants"`
	CRC       []string   `json:"compressed_round_constants"`
	M         [][]string `json:"mds_m"`
	Pre       [][]string `json:"pre_sparse_matrix"`
	Sparse    []struct {
		W []string `json:"w_hat"`
		V []string `json:"v_rest"`
	} `json:"sparse_matrixes"`
}

func TestConstantsEqualGolden(t *testing.T) {
	f, err := os.Open("testdata/poseidon_constants.json.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var all []goldenConstants
	require.NoError(t, json.NewDecoder(z).Decode(&all))
	require.Len(t, all, 6)
	vec := func(want []string, got []fr.Element, what string) {
		require.Len(t, got, len(want), what)
		for i := range want {
			if h := leHex(got[i]); h != want[i] {
				t.Fatalf("%s[%d] = %s, want %s", what, i, h, want[i])
			}
		}
	}
	for _, g := range all {
		p := Constants(g.Arity)
		require.Equal(t, g.Width, p.T)
		require.Equal(t, g.Full, p.RF)
		require.Equal(t, g.Partial, p.RP)
		what := fmt.Sprintf("arity %d (%s): ", g.Arity, g.Name)
		tag := p.Tag
		if g.DomainTag != leHex(tag) {
			tag.SetUint64(TagGen)
		}
		if g.Arity != MaxArity {
			require.Equal(t, g.DomainTag, leHex(tag), what)
		}
		vec(g.RC, p.rc, what+"rc")
		vec(g.CRC, p.CRC, what+"crc")
		require.Len(t, p.Sparse, len(g.Sparse))
		for i := range g.M {
			vec(g.M[i], p.M[i], what+"m")
			vec(g.Pre[i], p.Pre[i], what+"pre")
		}
		for i := range g.Sparse {
			vec(g.Sparse[i].W, p.Sparse[i].W, what+"w_hat")
			vec(g.Sparse[i].V, p.Sparse[i].V, what+"v_rest")
		}
	}
}

func TestConstantDigests(t *testing.T) {
	sum := func(vs ...[]fr.Element) string {
		h := sha256.New()
		for _, v := range vs {
			for _, e := range v {
				var b [32]byte
				fr.LittleEndian.PutElement(&b, e)
				h.Write(b[:])
			}
		}
		return hex.EncodeToString(h.Sum(nil))
	}
	p := Constants(8)
	var sparse [][]fr.Element
	for _, s := range p.Sparse {
		sparse = append(sparse, s.W, s.V)
	}
	require.Equal(t, "9a4a743575f0eaf285c93d73f8adaf4e7ef4042c2445b42bddaf1a64e5face72", sum(p.rc))
	require.Equal(t, "f5a94aea73a583d080abdf7d71259fab9107f5523a4a1eddc41468f94564dd16", sum(p.CRC))
	require.Equal(t, "dcfbdaea3eb7e347664c8f881c5443b1895f10c85cab0878022eb287defa8587", sum(p.Pre...))
	require.Equal(t, "3f823785875d8cc161c963d2a62d103a3fefab30eb4244cef877d8e624fb79f4", sum(sparse...))
}

func TestRoundNumbers(t *testing.T) {
	for arity, rp := range map[int]int{2: 55, 4: 56, 8: 57, 11: 57, 16: 59, 24: 59, 36: 60} {
		require.Equal(t, rp, partialRounds(arity+1), arity)
	}
}

func TestHashVectors(t *testing.T) {
	for _, v := range []struct {
		arity     int
		seq, zero string
	}{
		{2, "bea95f3e83d91793d896586e724ec069769d6a43afcbab7b4d1f7f6506816f6d", "d413460e7f14e58b413d1defe188d36fb761afe5c6a733db6c6f1931130bfe48"},
		{4, "c5d928f4bc376414f3a25c0933caefcdb7ac69f7d9351f96ea7d60e22412183d", "bc11972b952e47641b62832393589af9eed366b878b8130f5f7e1ed875c4ce65"},
		{8, "7ec0e1c106a134b810eee278ecefca3ee8c429116af3d14376e0c48f2ed4ed04", "3a9bffca31b48234d189b30de60b7c33f529c08b0836a004f98938b614e6793f"},
		{11, "bd8022e95811611cf4df43adad526f4ccabcda49af1e79861696800ecd7e8104", "94fe4fc1d1b7c885c9538810707ed5691b68a11db65e2118cf928634ea2d1f44"},
	} {
		in := make([]fr.Element, v.arity)
		require.Equal(t, v.zero, leHex(Sum(in)))
		for i := range in {
			in[i].SetUint64(uint64(i + 1))
		}
		require.Equal(t, v.seq, leHex(Sum(in)))
	}
	var tag fr.Element
	tag.SetUint64(TagGen)
	one, two := fr.NewElement(1), fr.NewElement(2)
	require.Equal(t, "3c2fe9b59c5f0de453bbb6db5c84af5448c7d4c1fbf41830ab05dbaf9b872c70", leHex(Hash(tag, []fr.Element{one, two})))
	want, _ := new(big.Int).SetString("42f94ffbe786bc393c003cc74a24f26ec5907b3dc3094afb339ff6079800b5e", 16)
	got := Sum2(&one, new(fr.Element))
	require.Zero(t, want.Cmp(got.BigInt(new(big.Int))))
}

// naive is the definition: constants, S-boxes, full matrix, in every round.
func naive(p *Params, tag fr.Element, in []fr.Element) fr.Element {
	s := append([]fr.Element{tag}, in...)
	for q := 0; q < p.RF+p.RP; q++ {
		var zero fr.Element
		for i := range s {
			s[i].Add(&s[i], &p.rc[q*p.T+i])
			if i == 0 || q < halfFull || q >= halfFull+p.RP {
				sbox(&s[i], &zero)
			}
		}
		s = vecMat(s, p.M)
	}
	return s[1]
}

func TestEqualsDefinition(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for arity := 1; arity <= MaxArity; arity++ {
		p := Constants(arity)
		for n := 0; n < 4; n++ {
			in := make([]fr.Element, arity)
			for i := range in {
				switch {
				case n == 0:
					in[i].SetInt64(-1)
				case n == 1:
					in[i].SetZero()
				default:
					in[i].SetRandom()
				}
			}
			tag := fr.NewElement(rnd.Uint64())
			keep := append([]fr.Element(nil), in...)
			require.Equal(t, naive(p, tag, in), Hash(tag, in), "arity %d", arity)
			require.Equal(t, keep, in)
		}
	}
}

func TestDotExtremes(t *testing.T) {
	// the Montgomery representation r-1 in every place is the largest sum that reduce can meet
	max := fr.Element{q0 - 1, q1, q2, q3}
	for n := 0; n <= MaxArity+1; n++ {
		a := make([]fr.Element, n)
		var want, x fr.Element
		for i := range a {
			a[i] = max
			x.Mul(&max, &max)
			want.Add(&want, &x)
		}
		require.Equal(t, want, dot(a, a), "n = %d", n)
	}
}

func TestConcurrentAndNoAllocation(t *testing.T) {
	in := make([]fr.Element, 7)
	want := naive(newParams(7), fr.NewElement(127), in)
	var wg sync.WaitGroup
	got := make([]fr.Element, 8)
	for i := range got {
		wg.Add(1)
		go func() { defer wg.Done(); got[i] = Sum(in) }()
	}
	wg.Wait()
	for i := range got {
		require.Equal(t, want, got[i])
	}
	require.Zero(t, testing.AllocsPerRun(10, func() { Sum(in) }))
}

func BenchmarkHash(b *testing.B) {
	for _, arity := range []int{2, 4, 8, 11} {
		b.Run(fmt.Sprintf("arity=%d", arity), func(b *testing.B) {
			in := make([]fr.Element, arity)
			for i := range in {
				in[i].SetRandom()
			}
			Sum(in)
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				in[0] = Sum(in)
			}
		})
	}
}

func BenchmarkConstants(b *testing.B) {
	for _, arity := range []int{2, 8, 11, 36} {
		b.Run(fmt.Sprintf("arity=%d", arity), func(b *testing.B) {
			for i := 0; i < b.N; i++ {
				newParams(arity)
			}
		})
	}
}
