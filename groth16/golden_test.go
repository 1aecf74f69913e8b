package groth16

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16/internal/l1"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/blake2b"
)

func loadCase(t testing.TB, name string) (*l1.Case, *synth.System) {
	c, err := l1.Load(name)
	require.NoError(t, err)
	sys, err := synth.Compile(context.Background(), l1.Replay{Dump: c.Dump, Bits: true})
	require.NoError(t, err)
	return c, sys
}

func goldenFile(t testing.TB, name string) []byte {
	b, err := l1.File(name)
	require.NoError(t, err)
	return b
}

func toxic(c *l1.Case) *Trapdoor {
	return &Trapdoor{c.Toxic.Alpha.Element, c.Toxic.Beta.Element, c.Toxic.Gamma.Element, c.Toxic.Delta.Element, c.Toxic.Tau.Element}
}

// noLeak checks that a test leaves no buffer behind.
func noLeak(t testing.TB) {
	before := pinning.LiveBytes()
	t.Cleanup(func() { require.Equal(t, before, pinning.LiveBytes(), "%v", pinning.Live()) })
}

// The key from the recorded trapdoor is bellperson's, byte by byte.
func TestSetupEqualsReference(t *testing.T) {
	for _, name := range l1.Names() {
		t.Run(name, func(t *testing.T) {
			noLeak(t)
			c, sys := loadCase(t, name)
			td := toxic(c)
			require.Equal(t, DevTrapdoor("golden/"+name), td)
			k, err := Setup(context.Background(), sys, SetupOptions{Trapdoor: td})
			require.NoError(t, err)
			require.Equal(t, KeySize(sys), k.Size())
			d, err := k.Digest(context.Background())
			require.NoError(t, err)
			require.Equal(t, c.Blake, hex.EncodeToString(d[:]))
			vd := k.VerifyingKey().Digest()
			require.Equal(t, c.VKHash, hex.EncodeToString(vd[:]))
			require.Equal(t, goldenFile(t, name+".vk"), k.VerifyingKey().Bytes())
			if name != "sha256_64" {
				var b bytes.Buffer
				_, err = k.WriteTo(&b)
				require.NoError(t, err)
				require.True(t, bytes.Equal(goldenFile(t, name+".params"), b.Bytes()))
			}
			require.True(t, td.Matches(k.VerifyingKey()))
			require.False(t, DevTrapdoor("other").Matches(k.VerifyingKey()))
			require.NoError(t, k.CheckSystem(context.Background(), sys))
			require.NoError(t, k.CheckPoints(context.Background(), name != "sha256_64", 0))
			require.NoError(t, k.Close())
			require.ErrorIs(t, k.Close(), ErrClosed)
		})
	}
}

// Keys read from a file, from memory, from a reader and from a stream are the same and write the same bytes.
func TestKeyRoundTrip(t *testing.T) {
	noLeak(t)
	ctx := context.Background()
	for _, name := range []string{"cubic", "edge", "mimc"} {
		want := goldenFile(t, name+".params")
		path := filepath.Join(t.TempDir(), name+".params")
		require.NoError(t, os.WriteFile(path, want, 0o600))
		file, err := OpenProvingKey(path)
		require.NoError(t, err)
		mem, err := ParseProvingKey(want)
		require.NoError(t, err)
		at, err := NewProvingKey(bytes.NewReader(want), int64(len(want)))
		require.NoError(t, err)
		rest := bytes.NewReader(append(append([]byte(nil), want...), "tail"...))
		stream, err := ReadProvingKey(ctx, rest)
		require.NoError(t, err)
		require.Equal(t, 4, rest.Len())
		id, err := file.Identity()
		require.NoError(t, err)
		for _, k := range []*ProvingKey{file, mem, at, stream} {
			var b bytes.Buffer
			n, err := k.WriteTo(&b)
			require.NoError(t, err)
			require.EqualValues(t, len(want), n)
			require.True(t, bytes.Equal(want, b.Bytes()))
			got, err := k.Identity()
			require.NoError(t, err)
			require.Equal(t, id, got)
			out := filepath.Join(t.TempDir(), "out")
			require.NoError(t, k.WriteFile(ctx, out))
			again, err := os.ReadFile(out)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, again))
			sum := blake2b.Sum512(want)
			d, err := k.Digest(ctx)
			require.NoError(t, err)
			require.Equal(t, sum, d)
			require.NoError(t, k.Close())
			_, err = k.Raw(SectionH, 0, 1)
			require.ErrorIs(t, err, ErrClosed)
			_, err = k.WriteTo(&b)
			require.ErrorIs(t, err, ErrClosed)
		}
	}
}

// The proofs of the Rust stack verify under its keys, altered ones do not.
func TestReferenceProofsVerify(t *testing.T) {
	for _, name := range l1.Names() {
		t.Run(name, func(t *testing.T) {
			c, err := l1.Load(name)
			require.NoError(t, err)
			vk, err := ParseVerifyingKey(goldenFile(t, name+".vk"))
			require.NoError(t, err)
			public := l1.Elements(c.Public)
			require.NotEmpty(t, c.Proofs)
			for _, p := range c.Proofs {
				ok, err := VerifyBytes(vk, public, p.Bytes())
				require.NoError(t, err)
				require.True(t, ok, p.Label)
				proof, err := ParseProof(p.Bytes())
				require.NoError(t, err)
				b := proof.Bytes()
				require.Equal(t, p.Bytes(), b[:])
				checkAltered(t, vk, public, proof)
			}
		})
	}
}

func checkAltered(t *testing.T, vk *VerifyingKey, public []fr.Element, p *Proof) {
	reject := func(q Proof, public []fr.Element) {
		ok, err := Verify(vk, public, &q)
		require.NoError(t, err)
		require.False(t, ok)
	}
	q := *p
	q.A, q.C = p.C, p.A
	reject(q, public)
	q = *p
	q.A.Neg(&p.A)
	reject(q, public)
	q.B.Neg(&p.B) // both negated: Groth16 proofs are malleable
	ok, err := Verify(vk, public, &q)
	require.NoError(t, err)
	require.True(t, ok)
	q = *p
	q.C.Add(&p.C, &vk.DeltaG1)
	reject(q, public)
	reject(Proof{}, public) // all at infinity
	other := append([]fr.Element(nil), public...)
	one := fr.One()
	other[0].Add(&other[0], &one)
	reject(*p, other)
	var rev fr.Element // byte order confused
	b := public[0].Bytes()
	rev.SetBytes(reversed(b[:]))
	if !rev.Equal(&public[0]) {
		other[0] = rev
		reject(*p, other)
	}
}

func reversed(b []byte) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[len(b)-1-i] = b[i]
	}
	return out
}
