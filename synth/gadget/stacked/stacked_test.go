package stacked_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/filgroth/filgroth/internal/golden"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/filgroth/filgroth/synth/gadget/stacked"
	"github.com/filgroth/filgroth/synth/internal/circuittest"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// label is the stand-alone label of the golden set: replica id SHA-256("rid"), parents SHA-256("p/0"), ..., node 22, layer 3.
type label struct {
	parentBits int
	allocNode  bool
	out        num.Num
}

func (c *label) Synthesize(b *synth.Builder) error {
	rid := sha256.Sum256([]byte("rid"))
	replica := boolean.AllocBytes(b, rid[:])
	parents := make([]boolean.Vec, stacked.LabelParents)
	for i := range parents {
		p := sha256.Sum256([]byte(fmt.Sprintf("p/%d", i)))
		if c.parentBits == 256 {
			parents[i] = boolean.AllocBytes(b, p[:])
			continue
		}
		// AllocBytes takes whole bytes: the last 6 bits come one by one
		head := boolean.AllocBytes(b, p[:31])
		var tail []boolean.Bool
		for j := 248; j < c.parentBits; j++ {
			tail = append(tail, boolean.Alloc(b, p[31]>>(7-j&7)&1 == 1))
		}
		parents[i] = boolean.Concat(head, boolean.Of(b, tail))
	}
	node := num.ConstUInt64(b, 22)
	if c.allocNode {
		node = num.AllocUInt64(b, 22)
	}
	var err error
	c.out, err = stacked.CreateLabel(b, replica, parents, 3, node.BitsBE(b))
	return err
}

func TestGoldenLabel(t *testing.T) {
	for _, c := range []struct {
		name string
		l    label
	}{
		{"create_label_layer1_37", label{parentBits: 256}},
		{"create_label_node_alloc", label{parentBits: 254, allocNode: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := gadgettest.Reference(t, c.name)
			gadgettest.Check(t, g, &c.l)
			want, err := g.OutputString()
			require.NoError(t, err)
			require.Equal(t, want, vanilla.FromFr(c.l.out.Val).String())
		})
	}
}

// TestSpecLabel is the label as it stands in the circuit: replica id and parents are decomposed numbers.
func TestSpecLabel(t *testing.T) {
	s, err := synth.Compile(context.Background(), gadgettest.Func(func(b *synth.Builder) error {
		rid := num.Alloc(b, golden.X(0)).ToBitsLE(b).ReverseBitNumbering()
		var parents, all []boolean.Vec
		for i := 0; i < 14; i++ {
			parents = append(parents, num.Alloc(b, golden.X(i)).ToBitsLE(b).ReverseBitNumbering())
		}
		for i := 0; i < stacked.LabelParents; i++ {
			all = append(all, parents[i%14])
		}
		_, err := stacked.CreateLabel(b, rid, all, 3, num.AllocUInt64(b, 22).BitsBE(b))
		return err
	}))
	require.NoError(t, err)
	require.Equal(t, [2]int{525653, 526173}, [2]int{s.Aux(), s.Rows()})
	require.Equal(t, "86d1afce544fd03b6e427db1f736e685cff4a353352f1b7619c26a8a26dde94f", circuittest.TDigest(t, s))
}

func TestGoldenColumn(t *testing.T) {
	for _, n := range []int{2, 11} {
		g := gadgettest.Reference(t, fmt.Sprintf("hash_single_column_%d", n))
		var out num.Num
		gadgettest.Check(t, g, gadgettest.Func(func(b *synth.Builder) (err error) {
			rows := make([]num.Num, n)
			for i := range rows {
				rows[i] = num.Alloc(b, golden.X(i))
			}
			out, err = stacked.HashColumn(b, rows)
			return err
		}))
		want, err := g.OutputString()
		require.NoError(t, err)
		require.Equal(t, want, vanilla.FromFr(out.Val).String())
	}
}

func TestColumnLengths(t *testing.T) {
	for _, n := range []int{0, 1, 3, 10, 12} {
		_, err := synth.Compile(context.Background(), gadgettest.Func(func(b *synth.Builder) error {
			_, err := stacked.HashColumn(b, make([]num.Num, n))
			return err
		}))
		require.ErrorIs(t, err, stacked.ErrColumn)
	}
}
