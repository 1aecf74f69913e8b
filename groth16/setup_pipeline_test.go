package groth16

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
)

// The scalars of a section are those of the inputs and aux variables that are in it, wherever a chunk begins.
func TestSectionScalars(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(7, 1))
	for _, aux := range []int{0, 1, 63, 64, 65, 4095, 4096, 4097, 20000} {
		for _, share := range []float64{0, 0.01, 0.5, 1} {
			in, vars := randomScalars(5, 3), randomScalars(aux, uint64(aux))
			density, inDensity := make([]uint64, (aux+63)/64), []uint64{0b10110}
			want := []fr.Element{in[1], in[2], in[4]}
			for i := range vars {
				if r.Float64() < share {
					density[i>>6] |= 1 << (i & 63)
					want = append(want, vars[i])
				}
			}
			s := newSectionScalars(in, inDensity, vars, density)
			for range 50 {
				from := r.IntN(len(want) + 1)
				dst := make([]fr.Element, r.IntN(min(len(want)-from, 5000)+1))
				s.fill(dst, from)
				require.Equal(t, want[from:from+len(dst)], dst[:], "%d of %d", from, len(want))
			}
			at, err := s.zero(ctx, 3)
			require.NoError(t, err)
			require.Equal(t, -1, at)
			if len(want) == 3 {
				continue
			}
			last := 3
			for i := range vars {
				if density[i>>6]>>(i&63)&1 == 1 && r.IntN(2) == 0 {
					vars[i].SetZero()
					break
				} else if density[i>>6]>>(i&63)&1 == 1 {
					last++
				}
			}
			at, err = s.zero(ctx, 3)
			require.NoError(t, err)
			if last == len(want) {
				last = -1
			}
			require.Equal(t, last, at)
			in[2].SetZero()
			at, err = newSectionScalars(in, nil, vars, density).zero(ctx, 1)
			require.NoError(t, err)
			require.Equal(t, 2, at)
		}
	}
}

// lagrange agrees with the definition: the polynomials are one at their own point and zero at the others, so that their sum
// weighted by f(omega^j) is f(tau).
func TestLagrange(t *testing.T) {
	trap := DevTrapdoor("lagrange")
	for _, m := range []int{1, 2, 64, 1 << 13} {
		d, err := ntt.NewDomain(uint64(m))
		require.NoError(t, err)
		l := make([]fr.Element, m)
		require.NoError(t, lagrange(context.Background(), l, m, trap, 3))
		f := randomScalars(m, 9)
		eval := func(at fr.Element) (y fr.Element) {
			for i := m - 1; i >= 0; i-- {
				y.Mul(&y, &at)
				y.Add(&y, &f[i])
			}
			return y
		}
		step := max(1, m/64) // f has few coefficients, for the definition is quadratic
		for i := range f {
			if i%step != 0 {
				f[i].SetZero()
			}
		}
		values := append([]fr.Element(nil), f...)
		n, err := ntt.NewCPU(ntt.Config{})
		require.NoError(t, err)
		require.NoError(t, n.Transform(context.Background(), d, values, ntt.Forward, ntt.Plain))
		var sum, x fr.Element
		for j := range l {
			sum.Add(&sum, x.Mul(&l[j], &values[j]))
		}
		require.Equal(t, eval(trap.Tau), sum, "domain %d", m)
	}
}

// failingWriter fails after so many bytes.
type failingWriter struct{ left int }

var errDisk = errors.New("disk full")

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errDisk
	}
	return len(b), nil
}

// A key in memory, in a file and in a stream is the same; whatever fails on the way ends it with that error, with nothing left.
func TestSetupSinks(t *testing.T) {
	noLeak(t)
	ctx := context.Background()
	sys, err := synth.Compile(ctx, squares{500})
	require.NoError(t, err)
	o := SetupOptions{Trapdoor: DevTrapdoor("sinks")}
	var stream bytes.Buffer
	vk, err := SetupTo(ctx, sys, &stream, o)
	require.NoError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "x.params")
	file, err := SetupFile(ctx, sys, path, o)
	require.NoError(t, err)
	mem, err := Setup(ctx, sys, o)
	require.NoError(t, err)
	for _, k := range []*ProvingKey{file, mem} {
		var b bytes.Buffer
		_, err := k.WriteTo(&b)
		require.NoError(t, err)
		require.True(t, bytes.Equal(stream.Bytes(), b.Bytes()))
		require.True(t, k.VerifyingKey().Equal(vk))
		require.NoError(t, k.CheckSystem(ctx, sys))
		require.NoError(t, k.Close())
	}
	require.NoError(t, os.Remove(path))
	size := stream.Len()
	for _, left := range []int{0, 100, size / 3, size - 1} {
		_, err := SetupTo(ctx, sys, &failingWriter{left}, o)
		require.ErrorIs(t, err, errDisk)
	}
	for fail := 1; fail <= 8; fail += 7 { // in ic, and later
		with := o
		with.FixedBase = &plainFixedBase{chunk: 300, fail: fail}
		_, err = SetupFile(ctx, sys, path, with)
		require.ErrorContains(t, err, "device lost")
		with.FixedBase = &plainFixedBase{chunk: 300, fail: fail}
		_, err = Setup(ctx, sys, with)
		require.ErrorContains(t, err, "device lost")
	}
	_, err = Setup(ctx, sys, SetupOptions{Trapdoor: o.Trapdoor, FixedBase: short{}})
	require.ErrorIs(t, err, ErrTrapdoor)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// short makes no points at all.
type short struct{}

func (short) Chunk() int                                     { return 100 }
func (short) G1(context.Context, []fr.Element, []byte) error { return nil }
func (short) G2(context.Context, []fr.Element, []byte) error { return nil }

// waiting makes points of no meaning, and stops at a call until its context ends.
type waiting struct {
	at      int
	reached chan struct{}
	n       int
}

func (*waiting) Chunk() int { return 1 << 16 }

func (w *waiting) G1(ctx context.Context, k []fr.Element, b []byte) error {
	_, _, g, _ := bls12381.Generators()
	raw := g.RawBytes()
	for i := range k {
		copy(b[96*i:], raw[:])
	}
	if w.n++; w.n == w.at {
		close(w.reached)
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (w *waiting) G2(context.Context, []fr.Element, []byte) error { return nil }

// Setup ends with its context wherever it is.
func TestSetupCancel(t *testing.T) {
	noLeak(t)
	sys, err := synth.Compile(context.Background(), squares{1 << 17})
	require.NoError(t, err)
	for _, at := range []int{1, 2, 4} {
		ctx, cancel := context.WithCancel(context.Background())
		w := &waiting{at: at, reached: make(chan struct{})}
		go func() { <-w.reached; cancel() }()
		_, err := Setup(ctx, sys, SetupOptions{FixedBase: w})
		require.ErrorIs(t, err, context.Canceled)
		cancel()
	}
	for _, after := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 80 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(context.Background(), after)
		_, err := SetupFile(ctx, sys, filepath.Join(t.TempDir(), "x"), SetupOptions{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
	}
}

// BenchmarkSetupHost is what Setup does on the host where a device makes the points.
func BenchmarkSetupHost(b *testing.B) {
	ctx := context.Background()
	sys, err := synth.Compile(ctx, squares{1 << 20})
	require.NoError(b, err)
	for b.Loop() {
		k, err := Setup(ctx, sys, SetupOptions{Trapdoor: DevTrapdoor("x"), FixedBase: &waiting{}})
		require.NoError(b, err)
		require.NoError(b, k.Close())
	}
}
