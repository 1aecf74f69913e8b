package aggregate

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/big"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/groth16"
)

// alter moves the element to another one of the same group.
func (e *element) alter() {
	_, _, g, h := bls12381.Generators()
	switch {
	case e.gt != nil:
		x, _ := bls12381.Pair([]bls12381.G1Affine{g}, []bls12381.G2Affine{h})
		e.gt.Mul(e.gt, &x)
	case e.g1 != nil:
		e.g1.Add(e.g1, &g)
	default:
		e.g2.Add(e.g2, &h)
	}
}

// TestEveryElementCounts changes each element of the golden aggregates to another valid one.
func TestEveryElementCounts(t *testing.T) {
	ctx := context.Background()
	for _, c := range goldenCases(t) {
		p, _, err := Decode(ctx, c.aggregate)
		require.NoError(t, err)
		head, tail := p.layout()
		all := append(head, tail...)
		require.Len(t, all, 17+12*len(p.rounds))
		for i := range all {
			q, _, err := Decode(ctx, c.aggregate)
			require.NoError(t, err)
			head, tail := q.layout()
			e := append(head, tail...)[i]
			e.alter()
			b, err := q.Bytes()
			require.NoError(t, err)
			ok, err := Verify(ctx, c.srs.Verifier(), c.vk, c.inputs, b, c.transcript, c.version)
			require.NoError(t, err)
			require.False(t, ok, "%s: %s[%d]", c.name, e.field, e.index)
		}
	}
}

// TestFlippedBits: no changed byte is accepted, and what does not parse is named.
func TestFlippedBits(t *testing.T) {
	ctx := context.Background()
	c := mimcCases(t)[1]
	for at := 0; at < len(c.aggregate); at += 61 {
		b := bytes.Clone(c.aggregate)
		b[at] ^= 1 << (at % 8)
		ok, err := Verify(ctx, c.srs.Verifier(), c.vk, c.inputs, b, c.transcript, c.version)
		require.False(t, ok, "byte %d", at)
		if err != nil {
			var e *Error
			require.ErrorAs(t, err, &e)
			require.ErrorIs(t, err, ErrMalformed)
		}
	}
}

// offsetOf finds the first element of a field in the encoding of an aggregate of n proofs.
func offsetOf(t *testing.T, n int, field string, index int) (at int, e element) {
	t.Helper()
	p, _, err := Decode(context.Background(), mimcCases(t)[0].aggregate)
	require.NoError(t, err)
	require.Equal(t, n, p.n)
	head, tail := p.layout()
	for i, e := range append(head, tail...) {
		if i == len(head) {
			at += 4
		}
		if e.field == field && e.index == index {
			return at, e
		}
		at += e.size()
	}
	t.Fatalf("no field %s[%d]", field, index)
	return 0, element{}
}

func TestMalformedElements(t *testing.T) {
	var bigP [fp.Bytes]byte
	fp.Modulus().FillBytes(bigP[:])
	littleP := bigP
	for i := range littleP {
		littleP[i] = bigP[fp.Bytes-1-i]
	}
	order3 := make([]byte, sizeG1) // (0, 2) is on the curve, not in the subgroup
	order3[0] = 0x80
	smallG2 := make([]byte, sizeG2) // x = 2 likewise
	smallG2[0], smallG2[sizeG2-1] = 0xa0, 2
	over := bytes.Clone(bigP[:])
	over[0] |= 0x80
	infinityJunk := make([]byte, sizeG1)
	infinityJunk[0], infinityJunk[5] = 0xc0, 1
	uncompressed := make([]byte, sizeG1)
	uncompressed[0] = 0x40
	for _, c := range []struct {
		field string
		index int
		bytes []byte
	}{
		{"com_ab.2", -1, littleP[:]},                    // coefficient p
		{"com_c.1", -1, make([]byte, sizeGT)},           // b = 0 is -1, of order 2
		{"tab_r.2", 2, bytes.Repeat([]byte{1}, sizeGT)}, // outside the subgroup
		{"zab_l", 1, bytes.Repeat([]byte{0xff}, sizeGT)},
		{"agg_c", -1, order3},
		{"zc_r", 2, over},
		{"final_a", -1, infinityJunk},
		{"final_b", -1, smallG2},
		{"final_v.2", -1, make([]byte, sizeG2)}, // no flag of compression
		{"pi_w.2", -1, uncompressed},
	} {
		at, _ := offsetOf(t, 8, c.field, c.index)
		b := bytes.Clone(mimcCases(t)[0].aggregate)
		copy(b[at:], c.bytes)
		_, _, err := Decode(context.Background(), b)
		var e *Error
		require.ErrorAs(t, err, &e, c.field)
		require.ErrorIs(t, err, ErrMalformed)
		require.Equal(t, c.field, e.Field)
		require.Equal(t, c.index, e.Index)
	}
}

// TestIdentityParses: the parser allows the identity; the equations do not.
func TestIdentityParses(t *testing.T) {
	ctx := context.Background()
	c := mimcCases(t)[1]
	for _, field := range []string{"agg_c", "final_a", "final_b", "final_c", "final_v.1", "final_w.2", "pi_v.1", "pi_w.2"} {
		at, e := offsetOf(t, 8, field, -1)
		b := bytes.Clone(c.aggregate)
		clear(b[at : at+e.size()])
		b[at] = 0xc0
		ok, err := Verify(ctx, c.srs.Verifier(), c.vk, c.inputs, b, c.transcript, c.version)
		require.NoError(t, err, field)
		require.False(t, ok, field)
	}
}

func TestLengthsAndCounts(t *testing.T) {
	ctx := context.Background()
	c := mimcCases(t)[1]
	for n := 0; n < len(c.aggregate); n += 113 {
		_, _, err := Decode(ctx, c.aggregate[:n])
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.ErrorIs(t, err, ErrMalformed)
	}
	for _, n := range []uint32{0, 1, 3, 7, 9, 1 << 21, 1<<20 + 1, 1 << 31, 1<<32 - 1} {
		b := bytes.Clone(c.aggregate)
		binary.LittleEndian.PutUint32(b[atCount:], n)
		_, _, err := Decode(ctx, b)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "nproofs", e.Field)
	}
	// A greater power of two asks for more bytes than there are; a smaller one leaves some.
	b := bytes.Clone(c.aggregate)
	binary.LittleEndian.PutUint32(b[atCount:], 16)
	_, _, err := Decode(ctx, b)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)

	// Trailing bytes: Decode says where it stopped, Verify refuses.
	long := append(bytes.Clone(c.aggregate), 0)
	p, n, err := Decode(ctx, long)
	require.NoError(t, err)
	require.Equal(t, len(c.aggregate), n)
	ok, err := p.Verify(ctx, c.srs.Verifier(), c.vk, c.inputs, c.transcript, c.version)
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = Verify(ctx, c.srs.Verifier(), c.vk, c.inputs, long, c.transcript, c.version)
	require.ErrorIs(t, err, ErrMalformed)
	require.False(t, ok)
}

func TestArgumentsOfVerify(t *testing.T) {
	ctx := context.Background()
	c := mimcCases(t)[1]
	v := c.srs.Verifier()
	verify := func(field string, index int, err error) {
		t.Helper()
		var e *Error
		require.ErrorAs(t, err, &e)
		require.ErrorIs(t, err, ErrArgument)
		require.Equal(t, field, e.Field)
		require.Equal(t, index, e.Index)
	}
	_, err := Verify(ctx, v, c.vk, c.inputs[:7], c.aggregate, c.transcript, V2)
	verify("inputs", -1, err)
	_, err = Verify(ctx, v, c.vk, append(c.inputs[:8:8], c.inputs[0]), c.aggregate, c.transcript, V2)
	verify("inputs", -1, err)
	_, err = Verify(ctx, v, c.vk, nil, c.aggregate, c.transcript, V2)
	verify("inputs", -1, err)
	for _, n := range []int{0, 2} {
		bad := append(c.inputs[:0:0], c.inputs...)
		bad[5] = append(bad[5][:0:0], c.inputs[5][0], c.inputs[5][0])[:n]
		_, err = Verify(ctx, v, c.vk, bad, c.aggregate, c.transcript, V2)
		verify("inputs", 5, err)
	}
	_, err = Verify(ctx, v, c.vk, c.inputs, c.aggregate, c.transcript, 0)
	verify("version", -1, err)
	_, err = Verify(ctx, v, c.vk, c.inputs, c.aggregate, c.transcript, 3)
	verify("version", -1, err)
	_, err = Verify(ctx, nil, c.vk, c.inputs, c.aggregate, c.transcript, V2)
	verify("srs", -1, err)
	_, err = Verify(ctx, v, nil, c.inputs, c.aggregate, c.transcript, V2)
	verify("vk", -1, err)
	_, err = Verify(ctx, v, &groth16.VerifyingKey{}, c.inputs, c.aggregate, c.transcript, V2)
	verify("vk", -1, err)
}

func TestArgumentsOfProve(t *testing.T) {
	ctx := context.Background()
	c := mimcCases(t)[1]
	prover, _, err := c.srs.Specialize(8)
	require.NoError(t, err)
	prove := func(field string, index int, srs *ProverSRS, proofs []*groth16.Proof, version Version) {
		t.Helper()
		out, err := Prove(ctx, srs, proofs, c.transcript, version)
		require.Nil(t, out)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.ErrorIs(t, err, ErrArgument)
		require.Equal(t, field, e.Field)
		require.Equal(t, index, e.Index)
	}
	prove("version", -1, prover, c.proofs, 0)
	prove("srs", -1, nil, c.proofs, V2)
	prove("proofs", -1, prover, c.proofs[:1], V2)
	prove("proofs", -1, prover, c.proofs[:7], V2)
	prove("proofs", -1, prover, nil, V2)
	var order3 bls12381.G1Affine
	order3.Y.SetUint64(2)
	require.True(t, order3.IsOnCurve())
	for i, alter := range []func(p *groth16.Proof){
		func(p *groth16.Proof) { *p = groth16.Proof{} },
		func(p *groth16.Proof) { p.A = bls12381.G1Affine{} },
		func(p *groth16.Proof) { p.C = order3 },
		func(p *groth16.Proof) { p.A.X.SetOne() },
		func(p *groth16.Proof) { p.B.X.A0.SetOne() },
	} {
		bad := append([]*groth16.Proof{}, c.proofs...)
		q := *bad[i]
		alter(&q)
		bad[i] = &q
		prove("proofs", i, prover, bad, V2)
	}
	bad := append([]*groth16.Proof{}, c.proofs...)
	bad[6] = nil
	prove("proofs", 6, prover, bad, V2)
}

func TestSpecialize(t *testing.T) {
	s := loadSRS(t, "snarkpack_n8.srs")
	for _, n := range []int{-1, 0, 1, 3, 6, 16, MaxProofs, 2 * MaxProofs} {
		_, _, err := s.Specialize(n)
		require.ErrorIs(t, err, ErrArgument, "%d", n)
	}
	for _, n := range []int{2, 4, 8} {
		p, _, err := s.Specialize(n)
		require.NoError(t, err)
		require.Equal(t, n, p.Count())
	}
	_, err := SetupInsecure(1, [4]uint64{}, [4]uint64{})
	require.ErrorIs(t, err, ErrArgument)
}

func TestPadding(t *testing.T) {
	for n, want := range map[int]int{1: 2, 2: 2, 3: 4, 4: 4, 5: 8, 13: 16, 126: 128, 128: 128, 129: 256} {
		require.Equal(t, want, PaddedCount(n))
		list := make([]*groth16.Proof, n)
		for i := range list {
			list[i] = new(groth16.Proof)
		}
		padded, err := PadProofs(list)
		require.NoError(t, err)
		require.Len(t, padded, want)
		for i := range padded {
			require.Same(t, list[min(i, n-1)], padded[i])
		}
	}
	_, err := PadProofs(nil)
	require.ErrorIs(t, err, ErrArgument)
	_, err = PadInputs(nil)
	require.ErrorIs(t, err, ErrArgument)
	_, err = PadProofs(make([]*groth16.Proof, MaxProofs+1))
	require.ErrorIs(t, err, ErrArgument)
}

func TestVersions(t *testing.T) {
	for n, want := range map[int64]Version{0: V1, 1: V2} {
		v, err := FromRegistered(n)
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	for _, n := range []int64{-1, 2, 1 << 40} {
		_, err := FromRegistered(n)
		require.ErrorIs(t, err, ErrArgument)
	}
	require.Equal(t, "SnarkPackV2", V2.String())
}

// TestDegenerateGT: ±1 has no compressed form, and the identity is not what decompression gives.
func TestDegenerateGT(t *testing.T) {
	var one, minus bls12381.GT
	one.SetOne()
	minus.C0.B0.A0.SetOne().Neg(&minus.C0.B0.A0)
	var b [sizeGT]byte
	require.ErrorIs(t, compressGT(b[:], &one), errNoTorusForm)
	require.ErrorIs(t, compressGT(b[:], &minus), errNoTorusForm)
	_, err := decompressGT(b[:])
	require.True(t, errors.Is(err, errGTSubgroup))
	// Powers of e(G, H), the greatest exponent included, survive.
	_, _, g, h := bls12381.Generators()
	e, err := bls12381.Pair([]bls12381.G1Affine{g}, []bls12381.G2Affine{h})
	require.NoError(t, err)
	for k := int64(-3); k < 4; k++ {
		if k == 0 {
			continue
		}
		var x bls12381.GT
		x.CyclotomicExp(e, big.NewInt(k))
		require.NoError(t, compressGT(b[:], &x))
		back, err := decompressGT(b[:])
		require.NoError(t, err)
		require.Equal(t, x, back)
	}
}
