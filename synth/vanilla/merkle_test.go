package vanilla

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/poseidon"
	"github.com/stretchr/testify/require"
)

// tree builds every row of a small tree from random leaves.
func tree(t *testing.T, rnd *rand.Rand, arities []int, leaves int, sha bool) [][]Commitment {
	row := make([]Commitment, leaves)
	for i := range row {
		var e fr.Element
		e.SetBigInt(new(big.Int).SetUint64(rnd.Uint64()))
		e.Square(&e)
		row[i] = FromFr(e)
	}
	rows := [][]Commitment{row}
	for _, k := range arities {
		next := make([]Commitment, len(row)/k)
		for i := range next {
			if sha {
				next[i] = SHA256Pair(&row[2*i], &row[2*i+1])
				continue
			}
			in := make([]fr.Element, k)
			for j := range in {
				var err error
				in[j], err = row[k*i+j].Fr()
				require.NoError(t, err)
			}
			next[i] = FromFr(poseidon.Sum(in))
		}
		rows = append(rows, next)
		row = next
	}
	require.Len(t, row, 1)
	return rows
}

func prove(rows [][]Commitment, arities []int, shape TreeShape, leaf int) MerkleProof {
	p := MerkleProof{Form: shape.Form(), Leaf: rows[0][leaf], Root: rows[len(rows)-1][0]}
	i := leaf
	for l, k := range arities {
		e := PathElement{Index: uint64(i % k)}
		for j := i / k * k; j < i/k*k+k; j++ {
			if j != i {
				e.Hashes = append(e.Hashes, rows[l][j])
			}
		}
		i /= k
		switch rest := len(arities) - l; {
		case shape.Top > 0 && rest == 1:
			p.Top = []PathElement{e}
		case shape.Top > 0 && rest == 2, shape.Top == 0 && shape.Sub > 0 && rest == 1:
			p.Sub = []PathElement{e}
		default:
			p.Base = append(p.Base, e)
		}
	}
	return p
}

func TestMerkleProofs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		shape  TreeShape
		leaves int
		levels []int
		sha    bool
	}{
		{TreeShape{8, 0, 0}, 64, []int{8, 8}, false}, {TreeShape{8, 2, 0}, 128, []int{8, 8, 2}, false}, {TreeShape{8, 4, 0}, 32, []int{8, 4}, false},
		{TreeShape{8, 8, 2}, 1024, []int{8, 8, 8, 2}, false}, {TreeShape{2, 0, 0}, 8, []int{2, 2, 2}, false}, {Binary, 64, []int{2, 2, 2, 2, 2, 2}, true},
		{TreeShape{8, 4, 2}, 64, []int{8, 4, 2}, false}, {TreeShape{8, 0, 0}, 1, nil, false},
	} {
		t.Run(fmt.Sprintf("%v/%d/%v", c.shape, c.leaves, c.sha), func(t *testing.T) {
			levels, err := c.shape.Levels(uint64(c.leaves))
			require.NoError(t, err)
			require.Equal(t, c.levels, levels)
			rows := tree(t, rnd, levels, c.leaves, c.sha)
			verify := (*MerkleProof).Verify
			if c.sha {
				verify = (*MerkleProof).VerifySHA256
			}
			for n := 0; n < 5; n++ {
				leaf := rnd.IntN(c.leaves)
				p := prove(rows, levels, c.shape, leaf)
				require.NoError(t, p.CheckShape(c.shape, uint64(c.leaves)))
				require.True(t, verify(&p))
				require.EqualValues(t, leaf, p.Index())
				require.Len(t, p.Path(), len(levels))
				walk := func(w Walker) error { return p.Walk(w, c.shape, uint64(c.leaves)) }
				for _, round := range []func() MerkleProof{
					func() (q MerkleProof) {
						b, err := AppendJSON(nil, walk)
						require.NoError(t, err)
						require.NoError(t, ReadJSON(b, func(w Walker) error { return q.Walk(w, c.shape, uint64(c.leaves)) }))
						return q
					},
					func() (q MerkleProof) {
						b, err := AppendBincode(nil, walk)
						require.NoError(t, err)
						require.NoError(t, ReadBincode(b, func(w Walker) error { return q.Walk(w, c.shape, uint64(c.leaves)) }))
						return q
					},
				} {
					q := round()
					require.True(t, verify(&q))
					require.Equal(t, p.Index(), q.Index())
				}
				if c.leaves == 1 {
					continue
				}
				q := p
				q.SetIndex(uint64((leaf + 1) % c.leaves))
				require.False(t, verify(&q))
				q.SetIndex(uint64(leaf))
				require.True(t, verify(&q))
				q.Leaf[0] ^= 1
				require.False(t, verify(&q))
				q.Leaf[0] ^= 1
				q.Root[0] ^= 1
				require.False(t, verify(&q))
				q.Root[0] ^= 1
				q.Path()[0].Hashes[0][1] ^= 1
				require.False(t, verify(&q))
				q.Path()[0].Hashes[0][1] ^= 1
			}
		})
	}
}

func TestShapesThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		s TreeShape
		n uint64
	}{{TreeShape{8, 0, 0}, 32}, {TreeShape{8, 2, 0}, 64}, {TreeShape{8, 8, 2}, 0}, {TreeShape{}, 8}, {TreeShape{8, 8, 2}, 63}} {
		_, err := c.s.Levels(c.n)
		require.ErrorContains(t, err, "do not fit", "%v %d", c.s, c.n)
	}
}

func TestCanonical(t *testing.T) {
	q := fr.Modulus()
	for _, d := range []int64{-2, -1, 0, 1} {
		v := new(big.Int).Add(q, big.NewInt(d))
		var c Commitment
		v.FillBytes(c[:])
		for i := 0; i < 16; i++ {
			c[i], c[31-i] = c[31-i], c[i]
		}
		require.Equal(t, d < 0, c.Canonical())
		e, err := c.Fr()
		require.Equal(t, d < 0, err == nil)
		if err == nil {
			require.Equal(t, c, FromFr(e))
		}
	}
	var c Commitment
	for i := range c {
		c[i] = 0xff
	}
	require.False(t, c.Canonical())
	c.Truncate()
	require.True(t, c.Canonical())
}

func TestProverID(t *testing.T) {
	require.Equal(t, "e807"+fmt.Sprintf("%060d", 0), ProverID(1000).String())
	require.Equal(t, fmt.Sprintf("%064d", 0), ProverID(0).String())
	require.Equal(t, "ffffffffffffffffff01"+fmt.Sprintf("%044d", 0), ProverID(1<<64-1).String())
}
