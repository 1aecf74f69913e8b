package groth16

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/bits"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/atomicfile"
	"github.com/filgroth/filgroth/internal/curveio"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
)

// SetupOptions are the options of Setup; the zero value is the recommendation.
type SetupOptions struct {
	// Trapdoor, if set, makes the key from known toxic waste: for tests and development keys. Nil draws a random one,
	// which is wiped when the key is made. It is not kept.
	Trapdoor *Trapdoor
	// Threads is the number of goroutines; 0 = GOMAXPROCS.
	Threads int
	// FixedBase, if set, makes the sections' points in place of the host processor.
	FixedBase FixedBase
	// Progress, if set, is told from one goroutine how many of all points are made, some times a second.
	Progress func(done, total int)
}

// FixedBase multiplies the standard generators by many scalars: what nearly all of Setup's time goes to.
type FixedBase interface {
	// G1 writes the points k_i*G in file encoding (uncompressed, 96 bytes each) to dst; G2 likewise with 192 bytes.
	// Scalars are in Montgomery form and not zero.
	G1(ctx context.Context, k []fr.Element, dst []byte) error
	G2(ctx context.Context, k []fr.Element, dst []byte) error
	// Chunk is how many scalars a call should have.
	Chunk() int
}

// Setup makes a key for sys in memory outside the Go heap. One party makes it, who could keep the trapdoor: a key for the
// public needs a ceremony. With the same trapdoor the key is byte-equal to bellperson's. The generators are the
// standard ones. A variable that occurs in no row is an *UnconstrainedError.
func Setup(ctx context.Context, sys *synth.System, o SetupOptions) (*ProvingKey, error) {
	buf, err := pinning.Alloc(int(KeySize(sys)), "proving key")
	if err != nil {
		return nil, err
	}
	w := &bufferWriter{b: buf.Bytes()}
	if _, err := SetupTo(ctx, sys, w, o); err != nil {
		return nil, errors.Join(err, buf.Close())
	}
	k, err := parseKey("", &memSource{buf.Bytes(), buf}, int64(w.n))
	if err != nil {
		return nil, errors.Join(err, buf.Close())
	}
	return recordR1CS(ctx, k, sys)
}

// SetupFile is Setup into a parameter file, whole or not at all, which it then opens.
func SetupFile(ctx context.Context, sys *synth.System, path string, o SetupOptions) (*ProvingKey, error) {
	err := atomicfile.Write(path, 0o644, func(w io.Writer) error {
		_, err := SetupTo(ctx, sys, w, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	k, err := OpenProvingKey(path)
	if err != nil {
		return nil, err
	}
	return recordR1CS(ctx, k, sys)
}

func recordR1CS(ctx context.Context, k *ProvingKey, sys *synth.System) (*ProvingKey, error) {
	d, err := sys.Digest(ctx)
	if err != nil {
		return nil, errors.Join(err, k.Close())
	}
	k.SetR1CS(d)
	return k, nil
}

type bufferWriter struct {
	b []byte
	n int
}

func (w *bufferWriter) Write(p []byte) (int, error) {
	if len(p) > len(w.b)-w.n {
		return 0, io.ErrShortBuffer
	}
	w.n += copy(w.b[w.n:], p)
	return len(p), nil
}

// SetupTo is Setup that writes the .params encoding to w and returns the verifying key.
func SetupTo(ctx context.Context, sys *synth.System, w io.Writer, o SetupOptions) (_ *VerifyingKey, err error) {
	ctx, sp := span.Start(ctx, "setup")
	defer sp.End()
	t := new(Trapdoor)
	defer t.Wipe()
	if o.Trapdoor != nil {
		*t = *o.Trapdoor
	} else if err := drawInto(t); err != nil {
		return nil, err
	}
	m := sys.DomainSize()
	if err := t.check(m); err != nil {
		return nil, err
	}
	s := &setup{sys: sys, t: t, w: w, o: o, len: SectionLengths(sys)}
	if s.cols, err = computeColumns(ctx, sys, t, o.Threads); err != nil {
		return nil, err
	}
	defer s.cols.close()
	ic, err := s.combine(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range s.len {
		s.total += l
	}
	if s.o.FixedBase == nil {
		h, err := newHostFixedBase(ctx, s.total-s.len[SectionB2], s.len[SectionB2], o.Threads)
		if err != nil {
			return nil, err
		}
		defer h.close()
		s.o.FixedBase = h
	}
	vk, err := s.verifyingKey(ctx, ic)
	if err != nil {
		return nil, err
	}
	return vk, s.sections(ctx)
}

func drawInto(t *Trapdoor) error {
	r, err := RandomTrapdoor()
	if err != nil {
		return err
	}
	*t = *r
	r.Wipe()
	return nil
}

// setup is one key being made.
type setup struct {
	sys         *synth.System
	t           *Trapdoor
	w           io.Writer
	o           SetupOptions
	cols        *columns
	len         [NumSections]int
	a, b        []fr.Element // scalars of the a and b sections: inputs, then aux, by density
	done, total int
}

// combine turns the columns into the scalars of the sections: l in place of the column of C, a and b compacted in place
// of those of A and B; and those of ic.
func (s *setup) combine(ctx context.Context) (ic []fr.Element, err error) {
	var invGamma, invDelta fr.Element
	invGamma.Inverse(&s.t.Gamma)
	invDelta.Inverse(&s.t.Delta)
	mix := func(w, u, v, inv *fr.Element) {
		var x fr.Element
		w.Add(w, x.Mul(&s.t.Beta, u))
		w.Add(w, x.Mul(&s.t.Alpha, v))
		w.Mul(w, inv)
	}
	u, v, w := s.cols.aux[0], s.cols.aux[1], s.cols.aux[2]
	err = par.Range(ctx, s.o.Threads, len(w), 1<<14, func(_, lo, hi int) error {
		for i := lo; i < hi; i++ {
			mix(&w[i], &u[i], &v[i], &invDelta)
			if w[i].IsZero() {
				return &UnconstrainedError{i}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	in := &s.cols.in
	for i := range in[2] {
		mix(&in[2][i], &in[0][i], &in[1][i], &invGamma)
	}
	all := make([]uint64, len(s.sys.BInputDensity()))
	for i := range all {
		all[i] = ^uint64(0)
	}
	if s.a, err = compactScalars("a", in[0], all, u, s.sys.ADensity()); err != nil {
		return nil, err
	}
	s.b, err = compactScalars("b", in[1], s.sys.BInputDensity(), v, s.sys.BDensity())
	return in[2], err
}

// compactScalars keeps the members of in and aux that the densities name. The result may take aux's place.
func compactScalars(name string, in []fr.Element, inDensity []uint64, aux []fr.Element, density []uint64) ([]fr.Element, error) {
	var head []fr.Element
	for i := range in {
		if inDensity[i>>6]>>(i&63)&1 == 1 {
			head = append(head, in[i])
		}
	}
	n := 0
	for w, word := range density {
		for ; word != 0; word &= word - 1 {
			aux[n] = aux[w<<6+bits.TrailingZeros64(word)]
			n++
		}
	}
	out := append(head, aux[:n]...)
	for i := range out {
		if out[i].IsZero() {
			return nil, fmt.Errorf("%w: point %d of %s is at infinity", ErrTrapdoor, i, name)
		}
	}
	return out, nil
}

// verifyingKey makes and writes it.
func (s *setup) verifyingKey(ctx context.Context, ic []fr.Element) (*VerifyingKey, error) {
	_, _, g1, g2 := bls12381.Generators()
	mul1 := func(e *fr.Element) (p bls12381.G1Affine) {
		p.ScalarMultiplication(&g1, e.BigInt(new(big.Int)))
		return
	}
	mul2 := func(e *fr.Element) (p bls12381.G2Affine) {
		p.ScalarMultiplication(&g2, e.BigInt(new(big.Int)))
		return
	}
	t := s.t
	vk := &VerifyingKey{AlphaG1: mul1(&t.Alpha), BetaG1: mul1(&t.Beta), BetaG2: mul2(&t.Beta), GammaG2: mul2(&t.Gamma),
		DeltaG1: mul1(&t.Delta), DeltaG2: mul2(&t.Delta), IC: make([]bls12381.G1Affine, len(ic))}
	for at := 0; at < len(ic); at += s.o.FixedBase.Chunk() {
		k := ic[at:min(at+s.o.FixedBase.Chunk(), len(ic))]
		raw := make([]byte, 96*len(k))
		if err := s.o.FixedBase.G1(ctx, k, raw); err != nil {
			return nil, err
		}
		for i := range k {
			if err := curveio.G1(&vk.IC[at+i], raw[96*i:96*i+96]); err != nil {
				return nil, fmt.Errorf("%w: point %d of ic: %w", ErrTrapdoor, at+i, err)
			}
		}
	}
	_, err := vk.WriteTo(s.w)
	return vk, err
}

// sections writes the five sections.
func (s *setup) sections(ctx context.Context) error {
	ctx, sp := span.Start(ctx, "setup.points")
	defer sp.End()
	first := s.t.vanishing(s.sys.DomainSize())
	first.Div(&first, &s.t.Delta)
	powers := func(dst []fr.Element, from int) []fr.Element {
		var x fr.Element
		x.Exp(s.t.Tau, big.NewInt(int64(from)))
		x.Mul(&x, &first)
		for i := range dst {
			dst[i] = x
			x.Mul(&x, &s.t.Tau)
		}
		return dst
	}
	slice := func(v []fr.Element) func([]fr.Element, int) []fr.Element {
		return func(dst []fr.Element, from int) []fr.Element { return v[from : from+len(dst)] }
	}
	for _, sec := range []struct {
		s       Section
		scalars func(dst []fr.Element, from int) []fr.Element
	}{{SectionH, powers}, {SectionL, slice(s.cols.aux[2])}, {SectionA, slice(s.a)}, {SectionB1, slice(s.b)}, {SectionB2, slice(s.b)}} {
		if err := s.section(ctx, sec.s, sec.scalars); err != nil {
			return err
		}
	}
	return nil
}

// setupPiece is how many scalars or points one worker takes at a time.
const setupPiece = 1024

// section makes and writes one section, chunk by chunk.
func (s *setup) section(ctx context.Context, sec Section, scalars func([]fr.Element, int) []fr.Element) error {
	n, size := s.len[sec], sec.PointSize()
	if _, err := s.w.Write(binary.BigEndian.AppendUint32(nil, uint32(n))); err != nil {
		return err
	}
	mul := s.o.FixedBase.G1
	if sec == SectionB2 {
		mul = s.o.FixedBase.G2
	}
	chunk := max(1, min(n, s.o.FixedBase.Chunk()))
	buf := make([]byte, chunk*size)
	k := make([]fr.Element, chunk)
	for at := 0; at < n; at += chunk {
		m := min(chunk, n-at)
		err := par.Range(ctx, s.o.Threads, m, setupPiece, func(_, lo, hi int) error {
			if v := scalars(k[lo:hi], at+lo); &v[0] != &k[lo] {
				copy(k[lo:hi], v)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := mul(ctx, k[:m], buf[:m*size]); err != nil {
			return err
		}
		if _, err := s.w.Write(buf[:m*size]); err != nil {
			return err
		}
		s.done += m
		if s.o.Progress != nil {
			s.o.Progress(s.done, s.total)
		}
	}
	return nil
}
