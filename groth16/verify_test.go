package groth16

import (
	"bytes"
	"encoding/hex"
	"runtime"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16/internal/l1"
	"github.com/filgroth/filgroth/internal/curveio"
	"github.com/stretchr/testify/require"
)

// Input vectors of a wrong length are an error, never padded or cut.
func TestInputLengths(t *testing.T) {
	c, err := l1.Load("sha256_64")
	require.NoError(t, err)
	vk, err := ParseVerifyingKey(goldenFile(t, "sha256_64.vk"))
	require.NoError(t, err)
	x := l1.Elements(c.Public)
	p, err := ParseProof(c.Proofs[0].Bytes())
	require.NoError(t, err)
	for _, bad := range [][]fr.Element{nil, {}, x[:1], append(append([]fr.Element(nil), x...), fr.One()), append([]fr.Element{fr.One()}, x...)} {
		_, err := Verify(vk, bad, p)
		require.ErrorIs(t, err, ErrInputs)
		_, err = BatchVerify(vk, [][]fr.Element{x, bad}, []*Proof{p, p})
		require.ErrorIs(t, err, ErrInputs)
	}
	_, err = Verify(vk, x, nil)
	require.ErrorIs(t, err, ErrProof)
	_, err = BatchVerify(vk, nil, nil)
	require.ErrorIs(t, err, ErrInputs)
	_, err = BatchVerify(vk, [][]fr.Element{x}, []*Proof{p, p})
	require.ErrorIs(t, err, ErrInputs)
	_, err = BatchVerify(vk, [][]fr.Element{x, x}, []*Proof{p, nil})
	require.ErrorIs(t, err, ErrProof)
	_, err = Verify(new(VerifyingKey), nil, p)
	require.ErrorIs(t, err, ErrKey)
}

// What is wrong with a proof's bytes is said by element and position.
func TestProofEncodingErrors(t *testing.T) {
	c, err := l1.Load("cubic")
	require.NoError(t, err)
	good := c.Proofs[0].Bytes()
	three := bytes.Repeat(good, 3)
	for name, at := range map[string]int{"A": 0, "B": 48, "C": 144} {
		inf := patched(good, at, append([]byte{0xc0}, make([]byte, map[string]int{"A": 47, "B": 95, "C": 47}[name])...)...)
		for _, bad := range [][]byte{inf, patched(good, at, good[at]&0x7f), patched(good, at, good[at]|0x40), patched(good, at, 0x9f)} {
			_, err := ParseProof(bad)
			var e *ProofError
			require.ErrorAs(t, err, &e)
			require.Equal(t, name, e.Field)
			require.ErrorIs(t, err, ErrProof)
			require.ErrorIs(t, err, curveio.ErrPoint)
			_, err = ParseProofs(append(bytes.Repeat(good, 2), bad...), 3)
			require.ErrorAs(t, err, &e)
			require.Equal(t, 2, e.Index)
		}
	}
	outside := append([]byte{0x80}, make([]byte, 47)...)
	_, err = ParseProof(patched(good, 144, outside...))
	require.ErrorIs(t, err, curveio.ErrSubgroup)
	for _, n := range []int{0, 1, 191, 193, 384} {
		_, err = ParseProof(three[:n])
		require.ErrorIs(t, err, ErrProof)
	}
	for _, count := range []int{-1, 0, 2, 4} {
		_, err = ParseProofs(three, count)
		require.ErrorIs(t, err, ErrProof)
	}
	ps, err := ParseProofs(three, 3)
	require.NoError(t, err)
	require.Equal(t, three, AppendProofs(nil, ps...))
	ps, err = ParseProofs(nil, 0)
	require.NoError(t, err)
	require.Empty(t, ps)
}

// Re-randomised proofs verify: a proof is no identifier.
func TestRerandomisedProofVerifies(t *testing.T) {
	c, err := l1.Load("cubic")
	require.NoError(t, err)
	vk, err := ParseVerifyingKey(goldenFile(t, "cubic.vk"))
	require.NoError(t, err)
	p, err := ParseProof(c.Proofs[0].Bytes())
	require.NoError(t, err)
	k := randomScalars(1, 4)[0]
	var inv fr.Element
	inv.Inverse(&k)
	q := *p // (A/k, k·B, C)
	q.A.ScalarMultiplication(&p.A, bigInt(&inv))
	q.B.ScalarMultiplication(&p.B, bigInt(&k))
	ok, err := Verify(vk, l1.Elements(c.Public), &q)
	require.NoError(t, err)
	require.True(t, ok)
	require.NotEqual(t, p.Bytes(), q.Bytes())
}

// Batch weights of any size give the verdict of single verification: 0, 1, around 2^128 and near the group's order.
func TestBatchWeights(t *testing.T) {
	batch, err := l1.LoadBatch()
	require.NoError(t, err)
	vk, err := ParseVerifyingKey(goldenFile(t, "mimc.vk"))
	require.NoError(t, err)
	n := 4
	var public [][]fr.Element
	var proofs []*Proof
	for _, b := range batch.Proofs[:n] {
		p, err := ParseProof(b.Bytes())
		require.NoError(t, err)
		proofs = append(proofs, p)
		public = append(public, []fr.Element{b.Image.Element})
	}
	bad := append([]*Proof(nil), proofs...)
	bad[2] = proofs[3]
	weights := [][]fr.Element{randomScalars(n, 8), make([]fr.Element, n)}
	for i := range weights[1] {
		weights[1][i].SetOne()
	}
	for _, h := range []string{"ffffffffffffffffffffffffffffffff", "0100000000000000000000000000000000", "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000000"} {
		b, err := hex.DecodeString(h)
		require.NoError(t, err)
		w := make([]fr.Element, n)
		for i := range w {
			w[i].SetBytes(b)
			w[i].Sub(&w[i], new(fr.Element).SetUint64(uint64(i)))
		}
		weights = append(weights, w)
	}
	for i, w := range weights {
		ok, err := batchVerify(vk, public, proofs, w)
		require.NoError(t, err)
		require.True(t, ok, i)
		ok, err = batchVerify(vk, public, bad, w)
		require.NoError(t, err)
		require.False(t, ok, i)
		if i != 1 {
			continue
		}
		// Equal weights miss errors that cancel; random ones do not.
		var off Proof
		twin := append([]*Proof(nil), proofs...)
		off = *proofs[0]
		off.C.Add(&off.C, &vk.DeltaG1)
		twin[0] = &off
		off2 := *proofs[1]
		off2.C.Sub(&off2.C, &vk.DeltaG1)
		twin[1] = &off2
		ok, err = batchVerify(vk, public, twin, w)
		require.NoError(t, err)
		require.True(t, ok)
		ok, err = BatchVerify(vk, public, twin)
		require.NoError(t, err)
		require.False(t, ok)
	}
	// A zero weight ignores its proof: weights are therefore drawn, and zero has a chance of 2^-128.
	zero := randomScalars(n, 9)
	zero[2].SetZero()
	ok, err := batchVerify(vk, public, bad, zero)
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = BatchVerify(vk, public, bad)
	require.NoError(t, err)
	require.False(t, ok)
	ok, err = BatchVerify(vk, public[:1], proofs[:1])
	require.NoError(t, err)
	require.True(t, ok)
	infinite := append([]*Proof(nil), proofs...)
	infinite[1] = new(Proof)
	ok, err = BatchVerify(vk, public, infinite)
	require.NoError(t, err)
	require.False(t, ok)
}

func TestWeightsAre128Bits(t *testing.T) {
	b := make([]byte, 16)
	for i := range b {
		b[i] = byte(i + 1)
	}
	z, err := weight(bytes.NewReader(b))
	require.NoError(t, err)
	v := z.Bits()
	require.Equal(t, [4]uint64{0x0807060504030201, 0x100f0e0d0c0b0a09, 0, 0}, v)
	_, err = weight(bytes.NewReader(b[:15]))
	require.Error(t, err)
}

// Verification holds on to nothing.
func TestVerifyKeepsNoMemory(t *testing.T) {
	c, err := l1.Load("cubic")
	require.NoError(t, err)
	vk, err := ParseVerifyingKey(goldenFile(t, "cubic.vk"))
	require.NoError(t, err)
	x := l1.Elements(c.Public)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	run := func(n int) {
		for range n {
			ok, err := VerifyBytes(vk, x, c.Proofs[0].Bytes())
			require.NoError(t, err)
			require.True(t, ok)
		}
	}
	run(20)
	before := heap()
	run(300)
	require.Less(t, heap(), before+1<<20)
}
