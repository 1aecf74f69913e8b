package update

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"math/big"
	"os"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

func commitment(t testing.TB, s string) (c vanilla.Commitment) {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	require.Equal(t, 32, copy(c[:], b))
	return c
}

func readGz(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	return b
}

func goldenUpdate(t testing.TB) (public *Public, p *PartitionProof, inputs []string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/update.json")
	require.NoError(t, err)
	var g struct {
		RegisteredProof string   `json:"registered_proof"`
		CommD           string   `json:"comm_d_new"`
		CommR           string   `json:"comm_r_new"`
		Old             string   `json:"comm_r_old"`
		Inputs          []string `json:"inputs_le_hex"`
	}
	require.NoError(t, json.Unmarshal(raw, &g))
	proof, err := vanilla.ParseUpdateProof(g.RegisteredProof)
	require.NoError(t, err)
	shape, err := ProofShape(proof)
	require.NoError(t, err)
	public = &Public{Shape: shape, HSelect: shape.DefaultH(), CommDNew: commitment(t, g.CommD), CommRNew: commitment(t, g.CommR), CommROld: commitment(t, g.Old)}
	p, err = DecodePartitionProof(&shape, readGz(t, "update-p0.vanilla.bincode.gz"))
	require.NoError(t, err)
	return public, p, g.Inputs
}

func TestVanillaGolden(t *testing.T) {
	public, p, inputs := goldenUpdate(t)
	bin, err := p.AppendBincode(&public.Shape, nil)
	require.NoError(t, err)
	require.True(t, bytes.Equal(readGz(t, "update-p0.vanilla.bincode.gz"), bin))
	doc, err := p.AppendJSON(&public.Shape, nil)
	require.NoError(t, err)
	require.True(t, bytes.Equal(readGz(t, "update-p0.vanilla.json.gz"), doc))
	again, err := DecodePartitionProofJSON(&public.Shape, doc)
	require.NoError(t, err)
	require.Equal(t, p, again)
	in, err := public.Inputs(0)
	require.NoError(t, err)
	require.Len(t, inputs, len(in)+1)
	for i := range in {
		require.Equal(t, inputs[i+1], vanilla.FromFr(in[i]).String())
	}
	require.NoError(t, Check(context.Background(), public, 0, p))
}

// Published challenges of the deployed stack.
func TestChallenges(t *testing.T) {
	n, ok := new(big.Int).SetString("6c0740d6edb22eb13054f4587d6d2dcbc688f796c303c7044f60429c4bbe1c10", 16)
	require.True(t, ok)
	var e fr.Element
	e.SetBigInt(n)
	for _, v := range []struct {
		nodes      uint64
		partitions int
		k          int
		want       []uint64
	}{
		{1 << 5, 1, 0, []uint64{21, 7, 3, 31, 0}}, {1 << 6, 1, 0, []uint64{53, 51, 56, 3, 0}}, {1 << 7, 1, 0, []uint64{117, 25, 62, 0, 72}},
		{1 << 8, 1, 0, []uint64{245, 140, 15, 128, 28}}, {1 << 9, 2, 1, []uint64{286, 308, 493, 510, 508}},
		{1 << 10, 2, 1, []uint64{542, 666, 955, 927, 911}}, {1 << 18, 4, 0, []uint64{36085, 32783, 44060, 10950, 3731}},
	} {
		p := Public{CommRNew: vanilla.FromFr(e), Shape: CircuitShape{Nodes: v.nodes, Partitions: v.partitions, Challenges: 10}}
		got, err := p.Challenges(v.k)
		require.NoError(t, err)
		require.Len(t, got, 10)
		require.Equal(t, v.want, got[:5])
	}
}

func TestDefaultH(t *testing.T) {
	for size, want := range map[vanilla.SectorSize]int{vanilla.Size2KiB: 0, vanilla.Size32KiB: 0, vanilla.Size8MiB: 3, vanilla.Size64GiB: 3} {
		s, err := ShapeOf(size)
		require.NoError(t, err)
		require.Equal(t, want, s.DefaultH())
	}
	_, err := ProofShape(5)
	require.Error(t, err)
}

func TestCheckNamesTheFault(t *testing.T) {
	for want, alter := range map[string]func(*Public, *PartitionProof){
		"comm_c: does not hash to comm_r_old":                                              func(_ *Public, p *PartitionProof) { p.CommC[0] ^= 1 },
		"vanilla_proofs[0].apex_leafs: do not hash to comm_d_new":                          func(_ *Public, p *PartitionProof) { p.Apex[7][0] ^= 1 },
		"challenge_proofs[4].proof_d_new.data.Single: leaf and path do not hash":           func(_ *Public, p *PartitionProof) { p.Challenges[4].DNew.Base[5].Hashes[0][0] ^= 1 },
		"challenge_proofs[0].proof_d_new.data.Single: leaf and path do not hash":           func(_ *Public, p *PartitionProof) { p.Challenges[0].DNew.Leaf[0] ^= 1 },
		"challenge_proofs[9].proof_r_old.data.Single: leaf and path do not hash":           func(_ *Public, p *PartitionProof) { p.Challenges[9].ROld.Leaf[0] ^= 1 },
		"challenge_proofs[2].proof_r_new.data.Single.root: is not the root of tree R-last": func(_ *Public, p *PartitionProof) { p.Challenges[2].RNew.Root[0] ^= 1 },
		"challenge_proofs[1].proof_r_new.data.Single: path of leaf":                        func(_ *Public, p *PartitionProof) { p.Challenges[1].RNew.Base[0].Index ^= 1 },
		"proof_r_new.data.Single.leaf: is not the encoding of the old replica node":        func(u *Public, _ *PartitionProof) { u.Shape.H[0] = 2 },
		"vanilla_proofs[0].apex_leafs: has 7 elements, want 8":                             func(_ *Public, p *PartitionProof) { p.Apex = p.Apex[:7] },
		"comm_r_new: is not a canonical":                                                   func(u *Public, _ *PartitionProof) { u.CommRNew[31] = 0xff },
		"h selector 6 is not below 6":                                                      func(u *Public, _ *PartitionProof) { u.HSelect = 6 },
	} {
		public, p, _ := goldenUpdate(t)
		alter(public, p)
		err := Check(context.Background(), public, 0, p)
		require.ErrorContains(t, err, want)
	}
	public, p, _ := goldenUpdate(t)
	require.ErrorContains(t, Check(context.Background(), public, 1, p), "no partition 1 in 1")
	public.Shape.Poseidon = true
	require.ErrorIs(t, Check(context.Background(), public, 0, p), ErrPoseidonVariant)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	public.Shape.Poseidon = false
	require.ErrorIs(t, Check(ctx, public, 0, p), context.Canceled)
}

func TestEncodeGolden(t *testing.T) {
	public, p, _ := goldenUpdate(t)
	e, err := NewEncoder(public)
	require.NoError(t, err)
	challenges, err := public.Challenges(0)
	require.NoError(t, err)
	for i := range p.Challenges {
		c := &p.Challenges[i]
		require.Equal(t, challenges[i], c.DNew.Index())
		got, err := e.Encode(challenges[i], &c.ROld.Leaf, &c.DNew.Leaf)
		require.NoError(t, err)
		require.Equal(t, c.RNew.Leaf, got)
		// another region has another randomness
		other, err := e.Encode(challenges[i]^32, &c.ROld.Leaf, &c.DNew.Leaf)
		require.NoError(t, err)
		require.NotEqual(t, c.RNew.Leaf, other)
	}
}

func FuzzDecodePartitionProof(f *testing.F) {
	raw := readGz(f, "update-p0.vanilla.bincode.gz")
	shape, err := ProofShape(0)
	require.NoError(f, err)
	f.Add(0, 0, []byte(nil))
	f.Add(32, 8, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, at, cut int, insert []byte) {
		at = max(0, min(at, len(raw)))
		cut = max(0, min(cut, len(raw)-at))
		b := append(append(append([]byte(nil), raw[:at]...), insert...), raw[at+cut:]...)
		p, err := DecodePartitionProof(&shape, b)
		if err != nil {
			var f *vanilla.FieldError
			require.ErrorAs(t, err, &f)
			return
		}
		out, err := p.AppendBincode(&shape, nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(b, out))
	})
}
