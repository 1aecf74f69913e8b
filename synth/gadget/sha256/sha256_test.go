package sha256_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/filgroth/filgroth/internal/golden"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/filgroth/filgroth/synth/gadget/multipack"
	gadget "github.com/filgroth/filgroth/synth/gadget/sha256"
	"github.com/stretchr/testify/require"
)

func show(v boolean.Vec) (s string) {
	for _, x := range v.Bools() {
		s += map[bool]string{false: "0", true: "1"}[x.Val]
	}
	return s
}

func binary(digest [32]byte) (s string) {
	for _, x := range digest {
		s += fmt.Sprintf("%08b", x)
	}
	return s
}

func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// check compares f's circuit and digest with the reference. f says for each byte string whether it is allocated.
func check(t *testing.T, name string, f func(b *synth.Builder) (boolean.Vec, error)) {
	g := gadgettest.Reference(t, name)
	want, err := g.OutputString()
	require.NoError(t, err)
	gadgettest.Check(t, g, gadgettest.Func(func(b *synth.Builder) error {
		d, err := f(b)
		if b.HasValues() {
			require.Equal(t, want, show(d), "%s in %v mode", name, b.Mode())
		}
		return err
	}))
}

func TestGolden(t *testing.T) {
	p0, p1 := sha256.Sum256([]byte("mp/0")), sha256.Sum256([]byte("mp/1"))
	check(t, "sha256_32_alloc", func(b *synth.Builder) (boolean.Vec, error) {
		return gadget.Hash(b, boolean.AllocBytes(b, counting(32)))
	})
	check(t, "sha256_block_no_padding", func(b *synth.Builder) (boolean.Vec, error) {
		return gadget.BlockNoPadding(b, boolean.AllocBytes(b, counting(64)))
	})
	check(t, "sha256_64_alloc", func(b *synth.Builder) (boolean.Vec, error) {
		return gadget.Hash(b, boolean.AllocBytes(b, counting(64)))
	})
	check(t, "sha256_const_and_alloc", func(b *synth.Builder) (boolean.Vec, error) {
		return gadget.Hash(b, boolean.Constants(b, p0[:]), boolean.AllocBytes(b, p1[:]))
	})
}

// TestGoldenCircuit is a whole circuit of the reference: a 64-byte preimage hashed, the digest packed into two inputs.
func TestGoldenCircuit(t *testing.T) {
	g, err := golden.Load("l1_sha256_64")
	require.NoError(t, err)
	_, a := gadgettest.Check(t, g, gadgettest.Func(func(b *synth.Builder) error {
		d, err := gadget.Hash(b, boolean.AllocBytes(b, counting(64)))
		multipack.PackIntoInputs(b, d)
		return err
	}))
	sum := sha256.Sum256(counting(64))
	require.Equal(t, a.Public(), multipack.Compute(multipack.BytesToBits(sum[:])))
	want, err := g.OutputString()
	require.NoError(t, err)
	require.Equal(t, want, hex.EncodeToString(sum[:]))
}

// TestConstant: a constant message emits nothing.
func TestConstant(t *testing.T) {
	for _, n := range []int{0, 3, 55, 56, 64, 119} {
		want := sha256.Sum256(counting(n))
		c := gadgettest.Func(func(b *synth.Builder) error {
			d, err := gadget.Hash(b, boolean.Constants(b, counting(n)))
			in, aux, rows := b.Counts()
			require.Equal(t, []int{1, 0, 0}, []int{in, aux, rows})
			require.Equal(t, binary(want), show(d))
			return err
		})
		s, err := synth.Compile(t.Context(), c)
		require.NoError(t, err)
		gadgettest.Assign(t, s, c)
	}
}

// random is a circuit that hashes bits which are allocated, negated or constant by chance.
type random struct {
	bits []bool
	kind []synth.WireKind
	cut  []int // where the message is cut into pieces
	want string
	t    *testing.T
}

func (r *random) Synthesize(b *synth.Builder) error {
	bits := allocKinds(b, r.bits, r.kind)
	var pieces []boolean.Vec
	for i := range r.cut[1:] {
		pieces = append(pieces, boolean.Of(b, bits[r.cut[i]:r.cut[i+1]]))
	}
	d, err := gadget.Hash(b, pieces...)
	if b.HasValues() {
		require.Equal(r.t, r.want, show(d))
	}
	return err
}

func allocKinds(b *synth.Builder, v []bool, kind []synth.WireKind) []boolean.Bool {
	bits := make([]boolean.Bool, len(v))
	for i := range v {
		switch kind[i] {
		case synth.Plain:
			bits[i] = boolean.Alloc(b, v[i])
		case synth.Negated:
			bits[i] = boolean.Alloc(b, !v[i]).Not()
		default:
			bits[i] = boolean.Const(v[i])
		}
	}
	return bits
}

func newRandom(t *testing.T, rng *rand.Rand, n int) *random {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	r := &random{bits: multipack.BytesToBits(data), t: t, cut: []int{0}, want: binary(sha256.Sum256(data))}
	density := rng.IntN(4) // of other kinds than Plain
	mode := rng.IntN(3)
	for len(r.kind) < 8*n {
		k := synth.Plain
		if rng.IntN(4) < density {
			k = synth.WireKind([]int{1, 2, rng.IntN(4)}[mode])
		}
		run := []int{1, 8, 32}[rng.IntN(3)]
		for ; run > 0 && len(r.kind) < 8*n; run-- {
			r.kind = append(r.kind, k)
		}
	}
	for at := 0; at < 8*n; {
		at = min(8*n, at+[]int{1, 31, 32, 256}[rng.IntN(4)])
		r.cut = append(r.cut, at)
	}
	return r
}

// TestRandom: for messages of all kinds of bits, the word-wise witness satisfies the rows made bit by bit, equals the
// witness of direct mode, and the digest is SHA-256.
func TestRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := 24
	if testing.Short() {
		n = 6
	}
	for i := 0; i < n; i++ {
		c := newRandom(t, rng, rng.IntN(80))
		s, err := synth.Compile(t.Context(), c)
		require.NoError(t, err)
		a := gadgettest.Assign(t, s, c)
		d, err := synth.DirectSynthesize(t.Context(), c, s, synth.DirectConfig{InlineTerms: 4})
		require.NoError(t, err)
		gadgettest.CheckDirect(t, s, a, d)
		require.NoError(t, d.Close())
	}
}

// TestRandomState is TestRandom for one compression of a block and a state of all kinds of bits, which reaches every rule
// of choice and majority.
func TestRandomState(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := 0; i < 12; i++ {
		bits, kind := make([]bool, 768), make([]synth.WireKind, 768)
		kinds := 1 + rng.IntN(4)
		run, k := 0, synth.Plain
		for j := range bits {
			bits[j] = rng.IntN(2) == 1
			if run--; run < 0 {
				run, k = rng.IntN(1+i*i/4), synth.WireKind(rng.IntN(kinds))
			}
			kind[j] = k
		}
		var digests []string
		c := gadgettest.Func(func(b *synth.Builder) error {
			v := boolean.Of(b, allocKinds(b, bits, kind))
			d, err := gadget.Compress(b, v.Slice(0, 512), v.Slice(512, 768))
			if b.HasValues() {
				digests = append(digests, show(d))
			}
			return err
		})
		s, err := synth.Compile(t.Context(), c)
		require.NoError(t, err)
		a := gadgettest.Assign(t, s, c)
		d, err := synth.DirectSynthesize(t.Context(), c, s, synth.DirectConfig{})
		require.NoError(t, err)
		gadgettest.CheckDirect(t, s, a, d)
		require.NoError(t, d.Close())
		require.Equal(t, digests[1], digests[0])
	}
}

// TestTemplates: blocks with the same kinds of bits are stored once.
func TestTemplates(t *testing.T) {
	s, err := synth.Compile(t.Context(), blocks(5, func() {}))
	require.NoError(t, err)
	require.Len(t, s.Templates(), 2, "the allocation of the inputs and one compression")
	require.Len(t, s.Instances(), 6)
}

func TestLengths(t *testing.T) {
	c := gadgettest.Func(func(b *synth.Builder) error {
		_, err := gadget.Hash(b, boolean.AllocBytes(b, counting(8)).Slice(0, 63))
		require.ErrorIs(t, err, gadget.ErrLength)
		_, err = gadget.BlockNoPadding(b, boolean.AllocBytes(b, counting(8)))
		require.ErrorIs(t, err, gadget.ErrLength)
		return nil
	})
	s, err := synth.Compile(t.Context(), c)
	require.NoError(t, err)
	gadgettest.Assign(t, s, c)
}
