package insertion_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/golden"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/filgroth/filgroth/synth/gadget/insertion"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/filgroth/filgroth/synth/internal/circuittest"
	"github.com/stretchr/testify/require"
)

// row is an insertion of X(100) at a position among X(0), X(1), ...
type row struct {
	arity, at int
	out       []num.Num
}

func (r *row) Synthesize(b *synth.Builder) error {
	el := num.Alloc(b, golden.X(100))
	index := allocIndex(b, bits.Len(uint(r.arity))-1, r.at)
	r.out = make([]num.Num, r.arity)
	insertion.Insert(b, r.out, el, index, allocX(b, r.arity-1))
	return nil
}

func allocIndex(b *synth.Builder, n, v int) []boolean.Bool {
	x := make([]boolean.Bool, n)
	for i := range x {
		x[i] = boolean.Alloc(b, v>>i&1 == 1)
	}
	return x
}

func allocX(b *synth.Builder, n int) []num.Num {
	x := make([]num.Num, n)
	for i := range x {
		x[i] = num.Alloc(b, golden.X(i))
	}
	return x
}

// choice is a selection of one of X(0), X(1), ...
type choice struct {
	from, at int
	out      num.Num
}

func (c *choice) Synthesize(b *synth.Builder) error {
	x := allocX(b, c.from)
	c.out = insertion.Select(b, x, allocIndex(b, bits.Len(uint(c.from))-1, c.at))
	return nil
}

func hexLE(v fr.Element) string {
	b := v.Bytes()
	slices.Reverse(b[:])
	return hex.EncodeToString(b[:])
}

func TestGoldenInsert(t *testing.T) {
	tDigest := map[int]string{
		2: "82c023e06614e98ea7c276fdb9fe7a756bd3f7bd064d54df4bb919aaa9e3d62e",
		4: "f17eed7b87158455ecd1851388db6d1de1498c170e1b1a855c2949ef64af717e",
		8: "393a19b029a34f2ab275a6bdec18b8aa306a9ce353209262944e3be6ec1180a6",
	}
	for _, r := range []row{{arity: 2, at: 0}, {arity: 4, at: 2}, {arity: 8, at: 6}, {arity: 16, at: 14}} {
		t.Run(fmt.Sprint(r.arity), func(t *testing.T) {
			g := gadgettest.Reference(t, fmt.Sprintf("insert_%d", r.arity))
			s, _ := gadgettest.Check(t, g, &r)
			want, err := g.OutputStrings()
			require.NoError(t, err)
			for i := range r.out {
				require.Equal(t, want[i], hexLE(r.out[i].Val))
			}
			if d, ok := tDigest[r.arity]; ok {
				require.Equal(t, d, circuittest.TDigest(t, s))
			}
		})
	}
}

func TestGoldenSelect(t *testing.T) {
	for _, c := range []choice{{from: 2, at: 1}, {from: 4, at: 3}, {from: 8, at: 7}} {
		t.Run(fmt.Sprint(c.from), func(t *testing.T) {
			g := gadgettest.Reference(t, fmt.Sprintf("select_%d", c.from))
			gadgettest.Check(t, g, &c)
			want, err := g.OutputString()
			require.NoError(t, err)
			require.Equal(t, want, hexLE(c.out.Val))
		})
	}
}

// TestEveryPosition inserts and selects at every position: the rows do not depend on it, the values are as expected.
func TestEveryPosition(t *testing.T) {
	ctx := context.Background()
	for _, arity := range []int{2, 4, 8, 16} {
		s, err := synth.Compile(ctx, &row{arity: arity})
		require.NoError(t, err)
		sel, err := synth.Compile(ctx, &choice{from: arity})
		require.NoError(t, err)
		for at := 0; at < arity; at++ {
			r := &row{arity: arity, at: at}
			a := gadgettest.Assign(t, s, r)
			k := 0
			for i := range r.out {
				want := golden.X(100)
				if i != at {
					want = golden.X(k)
					k++
				}
				require.Equal(t, want, a.Value(r.out[i].Var), "row of %d, inserted at %d, place %d", arity, at, i)
			}
			c := &choice{from: arity, at: at}
			a = gadgettest.Assign(t, sel, c)
			require.Equal(t, golden.X(at), a.Value(c.out.Var))
		}
	}
}

func TestWrongLengthsPanic(t *testing.T) {
	ctx := context.Background()
	require.Panics(t, func() {
		_, _ = synth.Compile(ctx, gadgettest.Func(func(b *synth.Builder) error {
			insertion.Select(b, allocX(b, 3), allocIndex(b, 2, 0))
			return nil
		}))
	})
	require.Panics(t, func() {
		_, _ = synth.Compile(ctx, gadgettest.Func(func(b *synth.Builder) error {
			insertion.Insert(b, make([]num.Num, 4), num.Num{}, allocIndex(b, 2, 0), allocX(b, 2))
			return nil
		}))
	})
}
