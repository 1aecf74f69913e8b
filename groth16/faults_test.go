package groth16

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/filgroth/filgroth/internal/curveio"
	"github.com/stretchr/testify/require"
)

// Tests of faults that users of other provers have met; what each is about stands in its comment.

func patched(b []byte, at int, with ...byte) []byte {
	c := bytes.Clone(b)
	copy(c[at:], with)
	return c
}

func u32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

// Huge counts in a stream are an error before any memory is taken for them; so is every truncation.
func TestHugeCountsAndTruncation(t *testing.T) {
	noLeak(t)
	ctx := context.Background()
	params := goldenFile(t, "cubic.params")
	vk := goldenFile(t, "cubic.vk")
	offs := sectionOffsets(t, params)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, count := range []uint32{1 << 20, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		_, err := ParseVerifyingKey(patched(vk, 864, u32(count)...))
		requireKeyError(t, err, "ic")
		for s, off := range offs {
			bad := patched(params, int(off)-4, u32(count)...)
			_, err := ParseProvingKey(bad)
			requireKeyError(t, err, Section(s).String())
			_, err = ReadProvingKey(ctx, bytes.NewReader(bad))
			requireKeyError(t, err, Section(s).String())
		}
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
	for n := range params {
		_, err := ParseProvingKey(params[:n])
		require.ErrorIs(t, err, ErrKey, n)
		if n%7 == 0 {
			_, err = ReadProvingKey(ctx, bytes.NewReader(params[:n]))
			require.ErrorIs(t, err, ErrKey, n)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, n)
		}
	}
	for n := range vk {
		_, err := ParseVerifyingKey(vk[:n])
		require.ErrorIs(t, err, ErrKey, n)
	}
	_, err := ParseProvingKey(append(bytes.Clone(params), 0))
	requireKeyError(t, err, "file")
	_, err = ParseVerifyingKey(append(bytes.Clone(vk), 0))
	requireKeyError(t, err, "file")
}

func requireKeyError(t testing.TB, err error, section string) {
	t.Helper()
	var e *KeyError
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, ErrKey)
	require.Equal(t, section, e.Section)
}

func sectionOffsets(t testing.TB, params []byte) [NumSections]int64 {
	k, err := ParseProvingKey(params)
	require.NoError(t, err)
	defer k.Close()
	return k.offs
}

// A reader that fails is reported as it is, with no memory left.
func TestReaderFailure(t *testing.T) {
	noLeak(t)
	params := goldenFile(t, "edge.params")
	boom := errors.New("boom")
	for _, n := range []int{0, 1, 863, 868, 1100, 2000, len(params) - 1} {
		_, err := ReadProvingKey(context.Background(), io.MultiReader(bytes.NewReader(params[:n]), failReader{boom}))
		require.ErrorIs(t, err, boom)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := ReadProvingKey(ctx, bytes.NewReader(params))
	require.ErrorIs(t, err, context.Canceled)
}

type failReader struct{ err error }

func (f failReader) Read([]byte) (int, error) { return 0, f.err }

// Bad points are found and named: fixed points when a key is opened, others when they are decoded or checked.
func TestBadPointsAreNamed(t *testing.T) {
	ctx := context.Background()
	params := goldenFile(t, "mimc.params")
	offs := sectionOffsets(t, params)
	vkFields := map[string]int{"alpha_g1": 0, "beta_g1": 96, "beta_g2": 192, "gamma_g2": 384, "delta_g1": 576, "delta_g2": 672, "ic": 868 + 96}
	infinity := append([]byte{0x40}, make([]byte, 191)...)
	for name, off := range vkFields {
		size := 96
		if name[len(name)-1] == '2' {
			size = 192
		}
		_, err := ParseVerifyingKey(patched(goldenFile(t, "mimc.vk"), off, infinity[:size]...))
		requireKeyError(t, err, name)
		require.ErrorIs(t, err, curveio.ErrInfinity)
		_, err = ParseVerifyingKey(patched(goldenFile(t, "mimc.vk"), off+size-1, params[off+size-1]^1))
		requireKeyError(t, err, name)
		require.ErrorIs(t, err, curveio.ErrCurve)
	}
	outside := make([]byte, 96) // (0, 2) has order 3
	outside[95] = 2
	for s := SectionH; s < NumSections; s++ {
		size := int64(s.PointSize())
		at := int(offs[s] + 3*size)
		for what, bad := range map[error][]byte{
			curveio.ErrInfinity: patched(params, at, infinity[:size]...),
			curveio.ErrCurve:    patched(params, at+int(size)-1, params[at+int(size)-1]^1),
			curveio.ErrFlags:    patched(params, at, params[at]|0x80),
			curveio.ErrRange:    patched(params, at, 0x1f),
		} {
			k, err := ParseProvingKey(bad)
			require.NoError(t, err) // points are not looked at yet
			for _, err := range []error{k.CheckPoints(ctx, false, 0), decodeAllErr(ctx, k)} {
				requireKeyError(t, err, s.String())
				require.ErrorIs(t, err, what)
				var e *KeyError
				require.ErrorAs(t, err, &e)
				require.Equal(t, 3, e.Index)
			}
			require.NoError(t, k.Close())
		}
		if s == SectionB2 {
			continue
		}
		k, err := ParseProvingKey(patched(params, at, outside...))
		require.NoError(t, err)
		require.NoError(t, k.CheckPoints(ctx, false, 0))
		err = k.CheckPoints(ctx, true, 0)
		requireKeyError(t, err, s.String())
		require.ErrorIs(t, err, curveio.ErrSubgroup)
		require.NoError(t, k.Close())
	}
}

// In sections large enough for the check over buckets, one bad point at any place is found and named, and so are two
// whose sum is good.
func TestSubgroupBuckets(t *testing.T) {
	ctx := context.Background()
	const n = 2*bucketMin + 100
	vk := goldenFile(t, "cubic.vk")
	good := make([]bls12381.G1Affine, 64)
	_, _, g, _ := bls12381.Generators()
	for i := range good {
		good[i].ScalarMultiplication(&g, bigInt(&randomScalars(1, uint64(i))[0]))
	}
	var outside, minus bls12381.G1Affine
	two := make([]byte, 96)
	two[95] = 2
	require.NoError(t, curveio.G1(&outside, two)) // order 3
	minus.Neg(&outside)
	for name, bad := range map[string]map[int]*bls12381.G1Affine{
		"good": {}, "first": {0: &outside}, "last": {n - 1: &outside}, "cancelling": {777: &outside, 3999: &minus}} {
		b := append(bytes.Clone(vk), u32(n)...)
		for i := range n {
			p := &good[i%64]
			if q := bad[i]; q != nil {
				p = q
			}
			var e [96]byte
			curveio.PutG1(e[:], p)
			b = append(b, e[:]...)
		}
		b = append(b, make([]byte, 16)...) // the other sections are empty
		k, err := ParseProvingKey(b)
		require.NoError(t, err)
		require.NoError(t, k.CheckPoints(ctx, false, 0))
		err = k.CheckPoints(ctx, true, 2)
		if len(bad) == 0 {
			require.NoError(t, err)
		} else {
			requireKeyError(t, err, "h")
			require.ErrorIs(t, err, curveio.ErrSubgroup)
			var e *KeyError
			require.ErrorAs(t, err, &e)
			require.Contains(t, bad, e.Index, name)
		}
		cctx, cancel := context.WithCancel(ctx)
		cancel()
		require.ErrorIs(t, k.CheckPoints(cctx, true, 0), context.Canceled)
	}
}

func decodeAllErr(ctx context.Context, k *ProvingKey) error {
	n, err := k.decodeAll(ctx, 0)
	if err == nil {
		err = n.close()
	}
	return err
}

// Keys of other curves and tools are recognised.
func TestWrongCurve(t *testing.T) {
	// The generator of BN254 uncompressed is (1, 2); gnark-crypto's compressed form of it is 0x80 | 1 in 32 bytes.
	bn := make([]byte, 4096)
	bn[31], bn[63] = 1, 2
	gnark := make([]byte, 4096)
	gnark[0], gnark[31] = 0x80, 1
	zkey := append([]byte("zkey\x01\x00\x00\x00"), make([]byte, 4096)...)
	for _, b := range [][]byte{bn, gnark, zkey} {
		_, err := ParseProvingKey(b)
		require.ErrorIs(t, err, ErrWrongCurve)
		_, err = ParseVerifyingKey(b)
		require.ErrorIs(t, err, ErrWrongCurve)
		path := filepath.Join(t.TempDir(), "x.params")
		require.NoError(t, os.WriteFile(path, b, 0o600))
		_, err = OpenProvingKey(path)
		require.ErrorIs(t, err, ErrWrongCurve)
		require.ErrorContains(t, err, path)
	}
	_, err := ParseVerifyingKey(goldenFile(t, "cubic.vk"))
	require.NoError(t, err)
	_, err = OpenProvingKey(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// shapedKey is a key with the points of cubic but other section lengths.
func shapedKey(t *testing.T, lens [NumSections]int) *ProvingKey {
	src := goldenFile(t, "cubic.params")
	offs := sectionOffsets(t, src)
	vk, err := ParseVerifyingKey(goldenFile(t, "cubic.vk"))
	require.NoError(t, err)
	b := vk.Bytes()
	for s, n := range lens {
		size := int64(Section(s).PointSize())
		b = append(b, u32(uint32(n))...)
		for range n {
			b = append(b, src[offs[s]:offs[s]+size]...)
		}
	}
	k, err := ParseProvingKey(b)
	require.NoError(t, err)
	return k
}

// A key for half or twice the domain, or with as many h points as the domain has, is refused before proving.
func TestDimensionsAreChecked(t *testing.T) {
	_, sys := loadCase(t, "cubic")
	good := SectionLengths(sys)
	require.NoError(t, shapedKey(t, good).CheckSystem(context.Background(), sys))
	m := sys.DomainSize()
	for _, c := range []struct {
		sec  Section
		n    int
		note string
	}{{SectionH, m/2 - 1, "domain 4"}, {SectionH, 2*m - 1, "domain 16"}, {SectionH, m, "another convention"}, {SectionL, good[1] - 1, ""},
		{SectionA, good[2] + 1, ""}, {SectionB1, good[3] + 1, ""}, {SectionB2, good[4] + 1, ""}} {
		l := good
		l[c.sec] = c.n
		err := shapedKey(t, l).CheckSystem(context.Background(), sys)
		var e *DimensionError
		require.ErrorAs(t, err, &e)
		require.ErrorIs(t, err, ErrDimension)
		require.Equal(t, c.sec.String(), e.Section)
		require.Equal(t, c.n, e.Found)
		require.Equal(t, good[c.sec], e.Expected)
		require.Contains(t, e.Error(), c.note)
	}
}

// Trapdoors for which there is no key are refused.
func TestBadTrapdoors(t *testing.T) {
	noLeak(t)
	_, sys := loadCase(t, "cubic")
	ctx := context.Background()
	for i := range 5 {
		td := DevTrapdoor("x")
		td.elements()[i].SetZero()
		_, err := Setup(ctx, sys, SetupOptions{Trapdoor: td})
		require.ErrorIs(t, err, ErrTrapdoor)
	}
	td := DevTrapdoor("x")
	td.Tau.SetInt64(-1) // a point of every domain
	_, err := Setup(ctx, sys, SetupOptions{Trapdoor: td})
	require.ErrorIs(t, err, ErrTrapdoor)
	k, err := Setup(ctx, sys, SetupOptions{})
	require.NoError(t, err)
	k2, err := Setup(ctx, sys, SetupOptions{})
	require.NoError(t, err)
	require.False(t, k.VerifyingKey().Equal(k2.VerifyingKey()))
	require.NoError(t, k.Close())
	require.NoError(t, k2.Close())
	cctx, cancel := context.WithCancel(ctx)
	cancel()
	_, err = Setup(cctx, sys, SetupOptions{})
	require.ErrorIs(t, err, context.Canceled)
	path := filepath.Join(t.TempDir(), "x.params")
	_, err = SetupFile(cctx, sys, path, SetupOptions{})
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Empty(t, left) // nothing half-written
}

// The native cache: used when good, replaced when damaged or of another key, and never trusted.
func TestNativeCache(t *testing.T) {
	noLeak(t)
	ctx := context.Background()
	dir := t.TempDir()
	cfg := KeyConfig{CacheDir: dir}
	for _, name := range []string{"mimc", "edge", "cubic"} {
		k, err := ParseProvingKey(goldenFile(t, name+".params"))
		require.NoError(t, err)
		want, err := k.decodeAll(ctx, 0)
		require.NoError(t, err)
		id, err := k.Identity()
		require.NoError(t, err)
		path := k.cachePath(dir, id)
		_, err = k.openCache(ctx, dir)
		require.ErrorIs(t, err, os.ErrNotExist)
		same := func() {
			n, err := k.acquireNative(ctx, cfg, 0)
			require.NoError(t, err)
			require.Equal(t, want.g1, n.g1)
			require.Equal(t, want.b2, n.b2)
			require.NoError(t, k.releaseNative())
		}
		same()
		good, err := os.ReadFile(path)
		require.NoError(t, err)
		n, err := k.openCache(ctx, dir)
		require.NoError(t, err)
		require.NoError(t, n.close())
		for _, bad := range [][]byte{nil, good[:len(good)/2], patched(good, 0, 'X'), patched(good, 8, 9), patched(good, 24, good[24]^1),
			patched(good, cacheHeader+17, good[cacheHeader+17]^1), append(bytes.Clone(good), 0)} {
			require.NoError(t, os.WriteFile(path, bad, 0o600))
			_, err := k.openCache(ctx, dir)
			require.Error(t, err)
			same()
			again, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, bytes.Equal(good, again))
		}
		require.NoError(t, want.close())
		require.NoError(t, k.Close())
	}
}

func TestRawBounds(t *testing.T) {
	k, err := ParseProvingKey(goldenFile(t, "edge.params"))
	require.NoError(t, err)
	defer k.Close()
	for _, c := range [][2]int{{-1, 1}, {0, -1}, {0, 8}, {7, 1}, {1 << 62, 1 << 62}} {
		_, err := k.Raw(SectionH, c[0], c[1])
		require.ErrorIs(t, err, ErrKey)
	}
	_, err = k.Raw(9, 0, 1)
	require.ErrorIs(t, err, ErrKey)
	b, err := k.Raw(SectionB2, 1, 2)
	require.NoError(t, err)
	require.Len(t, b, 384)
	require.Error(t, k.DecodeG2(context.Background(), SectionH, 0, nil, 0))
	require.Error(t, k.DecodeG1(context.Background(), SectionB2, 0, nil, 0))
	require.ErrorIs(t, k.DecodeG1(context.Background(), SectionH, 5, make([]bls12381.G1Affine, 3), 0), ErrKey)
}
