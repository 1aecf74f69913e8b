package groth16

import (
	"bytes"
	"context"
	"errors"
	"math/big"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
)

// plainFixedBase is a FixedBase by the definition.
type plainFixedBase struct {
	chunk int
	fail  int
}

func (p *plainFixedBase) Chunk() int { return p.chunk }

func (p *plainFixedBase) G1(_ context.Context, k []fr.Element, dst []byte) error {
	if p.fail--; p.fail == 0 {
		return errors.New("device lost")
	}
	_, _, g, _ := bls12381.Generators()
	for i := range k {
		var q bls12381.G1Affine
		q.ScalarMultiplication(&g, k[i].BigInt(new(big.Int)))
		raw := q.RawBytes()
		copy(dst[96*i:], raw[:])
	}
	return nil
}

func (p *plainFixedBase) G2(_ context.Context, k []fr.Element, dst []byte) error {
	_, _, _, g := bls12381.Generators()
	for i := range k {
		var q bls12381.G2Affine
		q.ScalarMultiplication(&g, k[i].BigInt(new(big.Int)))
		raw := q.RawBytes()
		copy(dst[192*i:], raw[:])
	}
	return nil
}

// squares is a chain x, x^2, x^4, ... with a public result.
type squares struct{ n int }

func (c squares) Synthesize(b *synth.Builder) error {
	x := fr.NewElement(3)
	v := b.Alloc(x)
	for i := 0; i < c.n; i++ {
		x.Square(&x)
		var w synth.Var
		if i == c.n-1 {
			w = b.AllocInput(x)
		} else {
			w = b.Alloc(x)
		}
		b.Enforce(b.LC().AddVar(v), b.LC().AddVar(v), b.LC().AddVar(w))
		v = w
	}
	return nil
}

func TestSetupWithFixedBase(t *testing.T) {
	ctx := context.Background()
	sys, err := synth.Compile(ctx, squares{50})
	require.NoError(t, err)
	var want, got bytes.Buffer
	_, err = SetupTo(ctx, sys, &want, SetupOptions{Trapdoor: DevTrapdoor("fixed base")})
	require.NoError(t, err)
	for _, chunk := range []int{1, 7, 64, 1 << 20} {
		got.Reset()
		_, err = SetupTo(ctx, sys, &got, SetupOptions{Trapdoor: DevTrapdoor("fixed base"), FixedBase: &plainFixedBase{chunk: chunk}})
		require.NoError(t, err)
		require.True(t, bytes.Equal(want.Bytes(), got.Bytes()), "chunk %d", chunk)
	}
	_, err = SetupTo(ctx, sys, &got, SetupOptions{Trapdoor: DevTrapdoor("fixed base"), FixedBase: &plainFixedBase{chunk: 7, fail: 3}})
	require.ErrorContains(t, err, "device lost")
}
