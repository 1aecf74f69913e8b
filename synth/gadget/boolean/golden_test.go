package boolean_test

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/stretchr/testify/require"
)

func show(bits []boolean.Bool) string {
	var s strings.Builder
	for _, x := range bits {
		if x.Val {
			s.WriteByte('1')
		} else {
			s.WriteByte('0')
		}
	}
	return s.String()
}

// check compares f's circuit, and the bits it gives, with the reference.
func check(t *testing.T, name string, f func(b *synth.Builder) []boolean.Bool) {
	g := gadgettest.Reference(t, name)
	want, err := g.OutputString()
	require.NoError(t, err)
	gadgettest.Check(t, g, gadgettest.Func(func(b *synth.Builder) error {
		if got := show(f(b)); b.HasValues() {
			require.Equal(t, want, got, "%s in %v mode", name, b.Mode())
		}
		return nil
	}))
}

func TestGolden(t *testing.T) {
	check(t, "bool_and", func(b *synth.Builder) []boolean.Bool {
		x, y := boolean.Alloc(b, true), boolean.Alloc(b, false)
		return []boolean.Bool{boolean.And(b, x, y), boolean.And(b, x, y.Not()), boolean.And(b, x.Not(), y.Not())}
	})
	check(t, "bool_xor", func(b *synth.Builder) []boolean.Bool {
		x, y := boolean.Alloc(b, true), boolean.Alloc(b, false)
		return []boolean.Bool{boolean.Xor(b, x, y), boolean.Xor(b, x, y.Not()), boolean.Xor(b, x.Not(), y)}
	})
	check(t, "bool_ch_maj", func(b *synth.Builder) []boolean.Bool {
		x, y, z := boolean.Alloc(b, true), boolean.Alloc(b, false), boolean.Alloc(b, true)
		yes, no := boolean.Const(true), boolean.Const(false)
		return []boolean.Bool{
			boolean.Ch(b, x, y, z), boolean.Maj(b, x, y, z),
			boolean.Ch(b, x, y, yes), boolean.Ch(b, x, no, z), boolean.Maj(b, x, y, yes), boolean.Maj(b, x, no, z),
			boolean.Ch(b, x.Not(), y, z), boolean.Maj(b, x, y.Not(), z),
		}
	})
	p0, p1 := sha256.Sum256([]byte("mp/0")), sha256.Sum256([]byte("mp/1"))
	check(t, "xor_32_64", func(b *synth.Builder) []boolean.Bool {
		key := boolean.AllocBytes(b, p0[:]).Bools()
		in := boolean.Concat(boolean.AllocBytes(b, p0[:]), boolean.AllocBytes(b, p1[:])).Bools()
		return boolean.XorRepeating(b, key, in)
	})
}
