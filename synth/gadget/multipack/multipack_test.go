package multipack_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/filgroth/filgroth/synth/gadget/multipack"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/stretchr/testify/require"
)

func le(n num.Num) string {
	b := n.Val.Bytes()
	slices.Reverse(b[:])
	return hex.EncodeToString(b[:])
}

func TestGolden(t *testing.T) {
	p0, p1 := sha256.Sum256([]byte("mp/0")), sha256.Sum256([]byte("mp/1"))
	g := gadgettest.Reference(t, "multipack_pack_into_inputs_512")
	_, a := gadgettest.Check(t, g, gadgettest.Func(func(b *synth.Builder) error {
		v := boolean.Concat(boolean.AllocBytes(b, p0[:]), boolean.AllocBytes(b, p1[:]))
		multipack.PackIntoInputs(b, v)
		return nil
	}))
	bits := multipack.BytesToBits(append(p0[:], p1[:]...))
	require.Equal(t, a.Public(), multipack.Compute(bits))

	g = gadgettest.Reference(t, "multipack_pack_bits_254")
	want, err := g.OutputString()
	require.NoError(t, err)
	gadgettest.Check(t, g, gadgettest.Func(func(b *synth.Builder) error {
		bits := make([]boolean.Bool, 254)
		for i, x := range multipack.BytesToBits(p0[:])[:254] {
			bits[i] = boolean.Alloc(b, x)
		}
		if n := multipack.PackBits(b, boolean.Of(b, bits)); b.HasValues() {
			require.Equal(t, want, le(n), "in %v mode", b.Mode())
		}
		return nil
	}))

	g = gadgettest.Reference(t, "uint64_alloc_pack")
	want, err = g.OutputString()
	require.NoError(t, err)
	gadgettest.Check(t, g, gadgettest.Func(func(b *synth.Builder) error {
		x := num.AllocUInt64(b, 0x1234567890abcdef)
		multipack.PackIntoInputs(b, x.LE)
		if b.HasValues() {
			got := ""
			for _, y := range x.BitsBE(b).Bools() {
				got += map[bool]string{false: "0", true: "1"}[y.Val]
			}
			require.Equal(t, want, got, "in %v mode", b.Mode())
		}
		return nil
	}))
}

func TestEmpty(t *testing.T) {
	c := gadgettest.Func(func(b *synth.Builder) error {
		multipack.PackIntoInputs(b, boolean.Vec{})
		in, aux, rows := b.Counts()
		require.Equal(t, []int{1, 0, 0}, []int{in, aux, rows})
		n := multipack.PackBits(b, boolean.Vec{})
		require.True(t, n.Val.IsZero())
		return nil
	})
	s := compile(t, c)
	require.Equal(t, [2]int{1, 1}, [2]int{s.Aux(), s.Rows()})
	gadgettest.Assign(t, s, c)
	require.Empty(t, multipack.Compute(nil))
}

func compile(t *testing.T, c synth.Circuit) *synth.System {
	s, err := synth.Compile(t.Context(), c)
	require.NoError(t, err)
	return s
}

func TestBitOrders(t *testing.T) {
	require.Equal(t, "[true false false false false false true true]", fmt.Sprint(multipack.BytesToBits([]byte{0x83})))
	require.Equal(t, "[true true false false false false false true]", fmt.Sprint(multipack.BytesToBitsLE([]byte{0x83})))
}
