package uint32_test

import (
	"fmt"
	"testing"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/filgroth/filgroth/synth/gadget/multieq"
	u32 "github.com/filgroth/filgroth/synth/gadget/uint32"
	"github.com/stretchr/testify/require"
)

// check compares f's circuit, and the words it gives, with the reference.
func check(t *testing.T, name string, f func(b *synth.Builder) []u32.UInt32) {
	g := gadgettest.Reference(t, name)
	want, err := g.OutputStrings()
	require.NoError(t, err)
	gadgettest.Check(t, g, gadgettest.Func(func(b *synth.Builder) error {
		var got []string
		for _, x := range f(b) {
			got = append(got, fmt.Sprintf("%032b", x.Value()))
		}
		if b.HasValues() {
			require.Equal(t, want, got, "%s in %v mode", name, b.Mode())
		}
		return nil
	}))
}

func TestGolden(t *testing.T) {
	alloc := func(b *synth.Builder) (x, y, z u32.UInt32) {
		return u32.Alloc(b, 0xdeadbeef), u32.Alloc(b, 0x12345678), u32.Alloc(b, 0x0f0f1234)
	}
	check(t, "uint32_ops", func(b *synth.Builder) []u32.UInt32 {
		x, y, z := alloc(b)
		r, s := x.Rotr(7), x.Shr(3)
		p := u32.Xor(b, &x, &y)
		q := u32.Xor(b, &p, &r)
		v := u32.Xor(b, &q, &s)
		ch := u32.Ch(b, &x, &y, &z)
		mj := u32.Maj(b, &x, &y, &z)
		return []u32.UInt32{r, s, p, q, v, ch, mj}
	})
	check(t, "uint32_addmany_multieq", func(b *synth.Builder) []u32.UInt32 {
		x, y, z := alloc(b)
		m := multieq.New(b)
		s := []u32.UInt32{u32.AddMany(m, x, y), u32.AddMany(m, x, y, z, u32.Const(0x428a2f98)), u32.AddMany(m, x, y, z, x, y)}
		m.Flush()
		return s
	})
}
