package hosttest

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// driver is the compiled program with the operations to send and the results to expect.
type driver struct {
	t        *testing.T
	in, want bytes.Buffer
	labels   []label
}

type label struct {
	end  int
	name string
}

// send queues one operation; values are written as they lie in memory.
func (d *driver) send(op byte, vs ...any) {
	d.in.WriteByte(op)
	for _, v := range vs {
		require.NoError(d.t, binary.Write(&d.in, binary.LittleEndian, v))
	}
}

func (d *driver) expect(name string, v any) {
	require.NoError(d.t, binary.Write(&d.want, binary.LittleEndian, v))
	d.labels = append(d.labels, label{d.want.Len(), name})
}

// compile builds the program into dir. With ptx, the device's code path is compiled, its carry-chain instructions
// replaced by the C++ ones of the emulation.
func compile(t *testing.T, dir string, ptx bool) string {
	cxx, err := exec.LookPath("g++")
	if err != nil {
		if os.Getenv("GPU") == "require" || os.Getenv("CI") != "" {
			t.Fatal("g++ is needed to check the CUDA headers")
		}
		t.Skip("no g++")
	}
	headers, err := filepath.Glob(filepath.Join("..", "*.cuh"))
	require.NoError(t, err)
	args := []string{"-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-x", "c++", "-I", dir}
	if ptx {
		headers = append(headers, filepath.Join("..", "emu", "ptx.cuh"))
		args = append(args, "-D__CUDA_ARCH__=900", "-w", "-include", filepath.Join("..", "emu", "cuda_runtime.h"))
	}
	for _, h := range headers { // a later file of the same name wins
		text, err := os.ReadFile(h)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(h)), text, 0o600))
	}
	bin := filepath.Join(dir, "driver")
	out, err := exec.Command(cxx, append(args, filepath.Join("testdata", "driver.cpp"), "-o", bin)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return bin
}

// flavours runs a test on both code paths.
func flavours(t *testing.T, test func(t *testing.T, bin string)) {
	for _, ptx := range []bool{false, true} {
		name := map[bool]string{false: "host", true: "device"}[ptx]
		t.Run(name, func(t *testing.T) { test(t, compile(t, t.TempDir(), ptx)) })
	}
}

// output runs the program on the queued operations.
func (d *driver) output(bin string) []byte {
	d.t.Helper()
	cmd := exec.Command(bin)
	cmd.Stdin = bytes.NewReader(d.in.Bytes())
	got, err := cmd.Output()
	require.NoError(d.t, err)
	return got
}

// run compares the whole output, naming the first difference.
func (d *driver) run(bin string) {
	d.t.Helper()
	got, want, begin := d.output(bin), d.want.Bytes(), 0
	for _, l := range d.labels {
		require.GreaterOrEqual(d.t, len(got), l.end, l.name)
		if !bytes.Equal(want[begin:l.end], got[begin:l.end]) {
			d.t.Fatalf("%s: got %x, want %x", l.name, got[begin:l.end], want[begin:l.end])
		}
		begin = l.end
	}
	require.Len(d.t, got, len(want))
}

func fpValue(x *big.Int) (z fp.Element) {
	z.SetBigInt(x)
	return z
}

func edgeInts(mod *big.Int) []*big.Int {
	var out []*big.Int
	for _, k := range []int64{0, 1, 2, 3} {
		out = append(out, big.NewInt(k), new(big.Int).Sub(mod, big.NewInt(k+1)))
	}
	half := new(big.Int).Rsh(mod, 1)
	out = append(out, half, new(big.Int).Add(half, big.NewInt(1)))
	for s := uint(31); s < uint(mod.BitLen()); s += 32 {
		p := new(big.Int).Lsh(big.NewInt(1), s)
		out = append(out, p, new(big.Int).Sub(p, big.NewInt(1)))
		// The same patterns as Montgomery words: divide by R.
		r := new(big.Int).Lsh(big.NewInt(1), uint((mod.BitLen()+63)/64*64))
		r.ModInverse(r, mod)
		out = append(out, r.Mul(r, p).Mod(r, mod))
	}
	return out
}

func fpValues(rng *rand.Rand) []fp.Element {
	var vs []fp.Element
	for _, x := range edgeInts(fp.Modulus()) {
		vs = append(vs, fpValue(x))
	}
	for range 20 {
		vs = append(vs, fpValue(new(big.Int).Rand(rng, fp.Modulus())))
	}
	return vs
}

func testFp(t *testing.T, bin string) {
	d := &driver{t: t}
	vs := fpValues(rand.New(rand.NewSource(1)))
	for i := range vs {
		a := vs[i]
		d.send('P', a)
		d.expect("from_mont", a.Bits())
		d.expect("to_mont", a)
		var dbl fp.Element
		d.expect("dbl", *dbl.Double(&a))
		for _, b := range vs {
			var r fp.Element
			d.send('p', a, b)
			d.expect("add", *r.Add(&a, &b))
			d.expect("sub", *r.Sub(&a, &b))
			d.expect("mul", *r.Mul(&a, &b))
			d.expect("sqr", *r.Square(&a))
			d.expect("neg", *r.Neg(&a))
			d.expect("inv", *r.Inverse(&a))
		}
	}
	d.run(bin)
}

func testFr(t *testing.T, bin string) {
	d := &driver{t: t}
	rng := rand.New(rand.NewSource(2))
	var vs []fr.Element
	for _, x := range edgeInts(fr.Modulus()) {
		var z fr.Element
		vs = append(vs, *z.SetBigInt(x))
	}
	for range 20 {
		var z fr.Element
		vs = append(vs, *z.SetBigInt(new(big.Int).Rand(rng, fr.Modulus())))
	}
	for _, a := range vs {
		d.send('R', a)
		d.expect("from_mont", a.Bits())
		d.expect("to_mont", a)
		var dbl fr.Element
		d.expect("dbl", *dbl.Double(&a))
		for _, b := range vs {
			var r fr.Element
			d.send('r', a, b)
			d.expect("add", *r.Add(&a, &b))
			d.expect("sub", *r.Sub(&a, &b))
			d.expect("mul", *r.Mul(&a, &b))
			d.expect("sqr", *r.Square(&a))
			d.expect("neg", *r.Neg(&a))
			d.expect("inv", *r.Inverse(&a))
		}
	}
	d.run(bin)
}

func testFp2(t *testing.T, bin string) {
	d := &driver{t: t}
	rng := rand.New(rand.NewSource(3))
	base := fpValues(rng)
	for range 2000 {
		pick := func() (z bls12381.E2) {
			z.A0, z.A1 = base[rng.Intn(len(base))], base[rng.Intn(len(base))]
			return z
		}
		a, b := pick(), pick()
		var r bls12381.E2
		d.send('2', a, b)
		d.expect("add", *r.Add(&a, &b))
		d.expect("sub", *r.Sub(&a, &b))
		d.expect("mul", *r.Mul(&a, &b))
		d.expect("sqr", *r.Square(&a))
		d.expect("neg", *r.Neg(&a))
		d.expect("inv", *r.Inverse(&a))
	}
	d.run(bin)
}

// affine is what the two groups' point types have in common here.
type affine[P, J any] interface {
	*P
	Add(a, b *P) *P
	Double(a *P) *P
	Neg(a *P) *P
	FromJacobian(*J) *P
	ScalarMultiplication(*P, *big.Int) *P
}

// points holds infinity and small and random multiples of g with their negatives.
func points[P, J any, A affine[P, J]](rng *rand.Rand, g P) []P {
	ks := []*big.Int{big.NewInt(0), big.NewInt(1), big.NewInt(2), big.NewInt(3), big.NewInt(4)}
	for range 4 {
		ks = append(ks, new(big.Int).Rand(rng, fr.Modulus()))
	}
	var ps []P
	for _, k := range ks {
		var p, n P
		A(&p).ScalarMultiplication(&g, k)
		A(&n).Neg(&p)
		ps = append(ps, p, n)
	}
	return ps
}

func testAddition[P, J any, A affine[P, J]](t *testing.T, bin string, op byte, g P) {
	ps := points[P, J, A](rand.New(rand.NewSource(4)), g)
	d := &driver{t: t}
	for _, p := range ps {
		for _, q := range ps {
			var sum, p2, q2, r P
			A(&sum).Add(&p, &q)
			A(&p2).Double(&p)
			A(&q2).Double(&q)
			d.send(op, p, q)
			d.expect("mixed addition", sum)
			d.expect("full addition", sum)
			d.expect("doubling", p2)
			d.expect("2P+Q", *A(&r).Add(&p2, &q))
			d.expect("2P+2Q", *A(&r).Add(&p2, &q2))
		}
	}
	d.run(bin)
}

func testJacobian[P, J any, A affine[P, J]](t *testing.T, bin string, op byte, g P) {
	ps := points[P, J, A](rand.New(rand.NewSource(5)), g)
	d := &driver{t: t}
	for _, p := range ps {
		d.send(op, p)
	}
	out := bytes.NewReader(d.output(bin))
	for _, p := range ps {
		var j J
		require.NoError(t, binary.Read(out, binary.LittleEndian, &j))
		var got, want P
		require.Equal(t, *A(&want).Double(&p), *A(&got).FromJacobian(&j))
	}
	require.Zero(t, out.Len())
}

// Batches of pairs that share one inversion, with every kind of pair in them: what an inverse of zero would spoil.
func testBatch[P, J any, A affine[P, J]](t *testing.T, bin string, op byte, g P) {
	rng := rand.New(rand.NewSource(6))
	ps := points[P, J, A](rng, g)
	d := &driver{t: t}
	for _, n := range []int{0, 1, 2, 3, 31, 128, 400} {
		v := make([]P, 2*n)
		for i := range v {
			v[i] = ps[rng.Intn(len(ps))]
		}
		d.send(op, uint32(n), v)
		for i := range n {
			var r P
			d.expect("pair", *A(&r).Add(&v[2*i], &v[2*i+1]))
		}
	}
	d.run(bin)
}

func testG1(t *testing.T, bin string) {
	_, _, g, _ := bls12381.Generators()
	testAddition[bls12381.G1Affine, bls12381.G1Jac](t, bin, 'c', g)
	testJacobian[bls12381.G1Affine, bls12381.G1Jac](t, bin, 'j', g)
	testBatch[bls12381.G1Affine, bls12381.G1Jac](t, bin, 'b', g)
}

func testG2(t *testing.T, bin string) {
	_, _, _, g := bls12381.Generators()
	testAddition[bls12381.G2Affine, bls12381.G2Jac](t, bin, 'C', g)
	testJacobian[bls12381.G2Affine, bls12381.G2Jac](t, bin, 'J', g)
	testBatch[bls12381.G2Affine, bls12381.G2Jac](t, bin, 'B', g)
}

func TestHeaders(t *testing.T) {
	flavours(t, func(t *testing.T, bin string) {
		t.Run("Fp", func(t *testing.T) { testFp(t, bin) })
		t.Run("Fr", func(t *testing.T) { testFr(t, bin) })
		t.Run("Fp2", func(t *testing.T) { testFp2(t, bin) })
		t.Run("G1", func(t *testing.T) { testG1(t, bin) })
		t.Run("G2", func(t *testing.T) { testG2(t, bin) })
	})
}
