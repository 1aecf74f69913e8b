package bundle_test

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/bundle"
	"github.com/filgroth/filgroth/groth16/groth16test"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

func cpu(t testing.TB) groth16.Backend {
	m, err := msm.NewCPU(msm.Config{})
	require.NoError(t, err)
	n, err := ntt.NewCPU(ntt.Config{})
	require.NoError(t, err)
	return groth16.Compose(m, n)
}

func circuit(seed uint64) groth16test.Circuit {
	return groth16test.Circuit{Seed: seed, Values: seed + 1, Inputs: 3, Bits: 50, Fields: 10, Products: 20, Blocks: 3, Rows: 90}
}

func assignment(t testing.TB, c groth16test.Circuit) *synth.Assignment {
	sys, err := synth.Compile(context.Background(), c)
	require.NoError(t, err)
	a, err := synth.AssignWitness(context.Background(), c, sys, synth.AssignConfig{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func key(t testing.TB, a *synth.Assignment, tag string) *groth16.ProvingKey {
	k, err := groth16.Setup(context.Background(), a.System(), groth16.SetupOptions{Trapdoor: groth16.DevTrapdoor(tag)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = k.Close() })
	return k
}

func write(t testing.TB, c bundle.Contents) string {
	path := filepath.Join(t.TempDir(), "x.bundle")
	require.NoError(t, bundle.Write(context.Background(), path, c))
	return path
}

// TestRoundTrip: what comes out is what went in, and proves.
func TestRoundTrip(t *testing.T) {
	a := assignment(t, circuit(1))
	k := key(t, a, "one")
	for _, embed := range []bool{true, false} {
		path := write(t, bundle.Contents{Assignment: a, Key: k, EmbedKey: embed, Note: "the note, käse"})
		st, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), st.Mode())
		b, err := bundle.Open(t.Context(), path)
		require.NoError(t, err)
		require.NoError(t, b.Check(t.Context(), 1))
		require.Equal(t, "the note, käse", b.Note())
		require.Equal(t, a.Inputs, b.Assignment().Inputs)
		require.Equal(t, a.Bits, b.Assignment().Bits)
		require.Equal(t, a.Fields, b.Assignment().Fields)
		want, err := a.System().Digest(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, b.R1CS())
		kd, err := k.Digest(t.Context())
		require.NoError(t, err)
		got, ok := b.KeyDigest()
		require.True(t, ok)
		require.Equal(t, kd, got)
		require.True(t, k.VerifyingKey().Equal(b.VerifyingKey()))
		require.Equal(t, embed, b.Key() != nil)

		given := k
		if embed {
			given = nil
		} else {
			_, _, err = b.Prove(t.Context(), cpu(t), nil, groth16.Config{})
			require.ErrorIs(t, err, bundle.ErrKey)
		}
		proof, rep, err := b.Prove(t.Context(), cpu(t), given, groth16.Config{})
		require.NoError(t, err)
		require.True(t, rep.Verified)
		good, err := b.Verify(proof)
		require.NoError(t, err)
		require.True(t, good)
		_, _, err = b.Prove(t.Context(), cpu(t), key(t, a, "two"), groth16.Config{})
		require.ErrorIs(t, err, bundle.ErrKey)
		require.NoError(t, b.Close())
		require.ErrorIs(t, b.Close(), bundle.ErrClosed)
		_, _, err = b.Prove(t.Context(), cpu(t), given, groth16.Config{})
		require.ErrorIs(t, err, bundle.ErrClosed)
		require.ErrorIs(t, b.Check(t.Context(), 1), bundle.ErrClosed)
	}
}

// TestUnsatisfied: a bad witness is kept and found with its row.
func TestUnsatisfied(t *testing.T) {
	a := assignment(t, circuit(2))
	i := 0
	for ; ; i++ {
		one := fr.One()
		a.Fields[i].Add(&a.Fields[i], &one)
		if a.System().Satisfied(t.Context(), a, 1) != nil {
			break
		}
	}
	var want, got *synth.UnsatisfiedError
	require.ErrorAs(t, a.System().Satisfied(t.Context(), a, 1), &want)
	b, err := bundle.Open(t.Context(), write(t, bundle.Contents{Assignment: a}))
	require.NoError(t, err)
	require.ErrorAs(t, b.Check(t.Context(), 1), &got)
	require.Equal(t, want, got)
	_, ok := b.KeyDigest()
	require.False(t, ok)
	_, err = b.Verify(&groth16.Proof{})
	require.ErrorIs(t, err, bundle.ErrKey)
	require.NoError(t, b.Close())
}

func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	a := assignment(t, circuit(3))
	k := key(t, assignment(t, circuit(4)), "other")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	closed := assignment(t, circuit(3))
	require.NoError(t, closed.Close())
	for _, x := range []struct {
		ctx  context.Context
		c    bundle.Contents
		want error
	}{
		{t.Context(), bundle.Contents{}, synth.ErrShape},
		{t.Context(), bundle.Contents{Assignment: closed}, synth.ErrShape},
		{t.Context(), bundle.Contents{Assignment: a, EmbedKey: true}, bundle.ErrKey},
		{t.Context(), bundle.Contents{Assignment: a, Key: k}, groth16.ErrDimension},
		{t.Context(), bundle.Contents{Assignment: a, Note: "\xff"}, bundle.ErrFormat},
		{t.Context(), bundle.Contents{Assignment: a, Note: strings.Repeat("x", bundle.MaxNote+1)}, bundle.ErrFormat},
		{ctx, bundle.Contents{Assignment: a}, context.Canceled},
	} {
		require.ErrorIs(t, bundle.Write(x.ctx, path, x.c), x.want)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func sealed(t testing.TB) []byte {
	a := assignment(t, circuit(5))
	raw, err := os.ReadFile(write(t, bundle.Contents{Assignment: a, Key: key(t, a, "sealed"), EmbedKey: true, Note: "n"}))
	require.NoError(t, err)
	return raw
}

// TestDamage: any changed byte and any length is found, with a *FormatError.
func TestDamage(t *testing.T) {
	raw := sealed(t)
	live := pinning.LiveBytes()
	refuse := func(b []byte) {
		t.Helper()
		_, err := bundle.Decode(t.Context(), aligned(b))
		var f *bundle.FormatError
		require.ErrorAs(t, err, &f)
		require.ErrorIs(t, err, bundle.ErrFormat)
	}
	for i := 0; i < len(raw); i += 1 + i/97 {
		b := append([]byte(nil), raw...)
		b[i] ^= 1 << (i % 8)
		refuse(b)
	}
	for _, n := range []int{0, 7, 8, 4095, 4096, 4097, len(raw) / 2, len(raw) - 1} {
		refuse(raw[:n])
	}
	refuse(append(append([]byte(nil), raw...), 0))
	_, err := bundle.Decode(t.Context(), aligned(append([]byte{0}, raw...))[1:])
	require.ErrorIs(t, err, bundle.ErrFormat)
	_, err = bundle.Open(t.Context(), filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Equal(t, live, pinning.LiveBytes())
}

// aligned copies b to an address that is a multiple of 8.
func aligned(b []byte) []byte {
	w := make([]uint64, len(b)/8+1)
	out := make([]byte, 0, len(w)*8)
	return append(out, b...)
}

// reseal makes all checksums right again, so that the checks behind them are reached.
func reseal(b []byte) {
	const header, table, sections = 4096, 144, 7
	if len(b) < header {
		return
	}
	le, crc := binary.LittleEndian, crc32.MakeTable(crc32.Castagnoli)
	for i := range sections {
		e := b[table+24*i:]
		off, n := le.Uint64(e), le.Uint64(e[8:])
		if off <= uint64(len(b)) && n <= uint64(len(b))-off {
			if i == 0 {
				resealSystem(b[off : off+n])
			}
			le.PutUint32(e[16:], crc32.Checksum(b[off:off+n], crc))
		}
	}
	le.PutUint32(b[header-4:], crc32.Checksum(b[:header-4], crc))
}

// resealSystem does so for the system file within.
func resealSystem(b []byte) {
	const header = 4096
	if len(b) < header {
		return
	}
	le, crc := binary.LittleEndian, crc32.MakeTable(crc32.Castagnoli)
	off := uint64(header)
	for i := range 14 {
		n := le.Uint64(b[128+16*i:])
		if off > uint64(len(b)) || n > uint64(len(b))-off {
			break
		}
		le.PutUint32(b[128+16*i+8:], crc32.Checksum(b[off:off+n], crc))
		off += (n + 63) / 64 * 64
	}
	le.PutUint32(b[header-4:], crc32.Checksum(b[:header-4], crc))
}

// TestValuesAreChecked: with right checksums, values are what is refused.
func TestValuesAreChecked(t *testing.T) {
	raw := sealed(t)
	le := binary.LittleEndian
	at := func(sec int) int { return int(le.Uint64(raw[144+24*sec:])) }
	for _, x := range []struct {
		section string
		index   int
		change  func(b []byte)
	}{
		{"inputs", 0, func(b []byte) { b[at(1)] = 2 }},
		{"inputs", 1, func(b []byte) { copy(b[at(1)+32:], strings.Repeat("\xff", 32)) }},
		{"fields", 0, func(b []byte) { copy(b[at(3):], strings.Repeat("\xff", 32)) }},
		{"bits", 0, func(b []byte) { le.PutUint64(b[at(2):], ^uint64(0)) }},
		{"note", -1, func(b []byte) { b[at(6)] = 0xff }},
		{"vk", -1, func(b []byte) { b[at(4)] ^= 1 }},
		{"key", -1, func(b []byte) { b[at(5)+3*96] ^= 1 }},
		{"system", -1, func(b []byte) { b[16] ^= 1 }},
		{"header", -1, func(b []byte) { clear(b[48:112]) }},
		{"header", -1, func(b []byte) { clear(b[112:144]) }},
		{"header", -1, func(b []byte) { b[4000] = 1 }},
	} {
		b := aligned(raw)
		x.change(b)
		reseal(b)
		_, err := bundle.Decode(t.Context(), b)
		var f *bundle.FormatError
		require.ErrorAs(t, err, &f, x.section)
		require.Equal(t, x.section, f.Section, err)
		require.Equal(t, x.index, f.Index, err)
	}
	b := aligned(raw) // a point of the embedded key: found by Check
	b[at(5)+868+96*4+4+20] ^= 1
	reseal(b)
	o, err := bundle.Decode(t.Context(), b)
	require.NoError(t, err)
	require.ErrorIs(t, o.Check(t.Context(), 1), bundle.ErrFormat)
	require.NoError(t, o.Close())
}

// FuzzDecode: whatever the bytes, decoding gives an error or a bundle on which nothing faults.
func FuzzDecode(f *testing.F) {
	raw := sealed(f)
	f.Add(uint32(0), uint64(0), uint32(len(raw)))
	for _, at := range []uint32{12, 16, 48, 144, 152, 168, 176, 200, 4096, 4112, 4120, 4128, 8192, 9000, 10000, 12000} {
		f.Add(at, uint64(1)<<33|7, uint32(len(raw)))
		f.Add(at, uint64(1), uint32(len(raw)))
	}
	f.Fuzz(func(t *testing.T, at uint32, x uint64, n uint32) {
		b := aligned(raw[:min(int(n), len(raw))])
		if int(at)+8 <= len(b) {
			binary.LittleEndian.PutUint64(b[at:], binary.LittleEndian.Uint64(b[at:])^x)
		}
		reseal(b)
		o, err := bundle.Decode(t.Context(), b)
		if err != nil {
			return
		}
		_ = o.Check(t.Context(), 1)
		if o.VerifyingKey() != nil {
			_, _ = o.Verify(&groth16.Proof{})
		}
		require.NoError(t, o.Close())
	})
}
