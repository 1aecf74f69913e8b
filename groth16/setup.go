package groth16

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/atomicfile"
	"github.com/filgroth/filgroth/internal/curveio"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
	"golang.org/x/sync/errgroup"
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
	return withR1CS(ctx, sys, func(ctx context.Context) (*ProvingKey, error) {
		buf, err := pinning.AllocWith(int(KeySize(sys)), "proving key", pinning.Options{HugePages: true})
		if err != nil {
			return nil, err
		}
		if _, err := setupInto(ctx, sys, memorySink(buf.Bytes()), o); err != nil {
			return nil, errors.Join(err, buf.Close())
		}
		k, err := parseKey("", &memSource{buf.Bytes(), buf}, int64(buf.Len()))
		if err != nil {
			return nil, errors.Join(err, buf.Close())
		}
		return k, nil
	})
}

// SetupFile is Setup into a parameter file, whole or not at all, which it then opens. Where there is no room for KeySize bytes it
// does not begin.
func SetupFile(ctx context.Context, sys *synth.System, path string, o SetupOptions) (*ProvingKey, error) {
	if err := atomicfile.CheckRoom(path, KeySize(sys)); err != nil {
		return nil, fmt.Errorf("groth16: setup: %w", err)
	}
	return withR1CS(ctx, sys, func(ctx context.Context) (*ProvingKey, error) {
		err := atomicfile.WriteAt(path, 0o644, func(w io.WriterAt) error {
			_, err := setupInto(ctx, sys, newWriterSink(ctx, writeAt(w, o.Threads)), o)
			return err
		})
		if err != nil {
			return nil, err
		}
		return OpenProvingKey(path)
	})
}

// SetupTo is Setup that writes the .params encoding to w and returns the verifying key.
func SetupTo(ctx context.Context, sys *synth.System, w io.Writer, o SetupOptions) (*VerifyingKey, error) {
	return setupInto(ctx, sys, newWriterSink(ctx, streamTo(w)), o)
}

// withR1CS records the digest of sys in the key that setup makes. It is worked out beside it, on a processor that is
// otherwise left to wait for a device.
func withR1CS(ctx context.Context, sys *synth.System, setup func(context.Context) (*ProvingKey, error)) (*ProvingKey, error) {
	g, gctx := errgroup.WithContext(ctx)
	var k *ProvingKey
	var d synth.Digest
	g.Go(func() (err error) {
		d, err = sys.Digest(gctx)
		return err
	})
	g.Go(func() (err error) {
		k, err = setup(gctx)
		return err
	})
	err := g.Wait()
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		if k != nil {
			err = errors.Join(err, k.Close())
		}
		return nil, err
	}
	k.SetR1CS(d)
	return k, nil
}

// setupInto makes a key and ends the sink.
func setupInto(ctx context.Context, sys *synth.System, sink keySink, o SetupOptions) (vk *VerifyingKey, err error) {
	ctx, sp := span.Start(ctx, "setup")
	defer sp.End()
	defer func() {
		if err = sink.flush(err); err != nil {
			vk = nil
		}
	}()
	t := new(Trapdoor)
	defer t.Wipe()
	if o.Trapdoor != nil {
		*t = *o.Trapdoor
	} else if err := drawInto(t); err != nil {
		return nil, err
	}
	if err := t.check(sys.DomainSize()); err != nil {
		return nil, err
	}
	s := &setup{sys: sys, t: t, sink: sink, o: o, len: SectionLengths(sys), section: NumSections}
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
	vk, off, err := s.verifyingKey(ctx, ic)
	if err != nil {
		return nil, err
	}
	return vk, s.sections(ctx, off)
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
	sink        keySink
	o           SetupOptions
	cols        *columns
	len         [NumSections]int
	a, b        *sectionScalars // inputs, then aux, by density
	section     Section         // whose length is written
	done, total int
}

// combine turns the columns into the scalars of the sections, l in place of the column of C; and those of ic.
func (s *setup) combine(ctx context.Context) (ic []fr.Element, err error) {
	ctx, sp := span.Start(ctx, "setup.combine")
	defer sp.End()
	var invGamma, invDelta fr.Element
	invGamma.Inverse(&s.t.Gamma)
	invDelta.Inverse(&s.t.Delta)
	mix := func(w, u, v, inv *fr.Element) {
		var x fr.Element
		if !u.IsZero() {
			w.Add(w, x.Mul(&s.t.Beta, u))
		}
		if !v.IsZero() { // of B, three in four
			w.Add(w, x.Mul(&s.t.Alpha, v))
		}
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
	s.a = newSectionScalars(in[0], nil, u, s.sys.ADensity())
	s.b = newSectionScalars(in[1], s.sys.BInputDensity(), v, s.sys.BDensity())
	for name, x := range map[string]*sectionScalars{"a": s.a, "b": s.b} {
		i, err := x.zero(ctx, s.o.Threads)
		if err != nil {
			return nil, err
		}
		if i >= 0 {
			return nil, fmt.Errorf("%w: point %d of %s is at infinity", ErrTrapdoor, i, name)
		}
	}
	return in[2], nil
}

// verifyingKey makes and writes it. next is where the sections begin.
func (s *setup) verifyingKey(ctx context.Context, ic []fr.Element) (_ *VerifyingKey, next int64, err error) {
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
	step := max(1, s.o.FixedBase.Chunk())
	for at := 0; at < len(ic); at += step {
		k := ic[at:min(at+step, len(ic))]
		raw := make([]byte, 96*len(k))
		if err := catch("FixedBase", "ic", func() error { return s.o.FixedBase.G1(ctx, k, raw) }); err != nil {
			return nil, 0, err
		}
		for i := range k {
			if err := curveio.G1(&vk.IC[at+i], raw[96*i:96*i+96]); err != nil {
				return nil, 0, fmt.Errorf("%w: point %d of ic: %w", ErrTrapdoor, at+i, err)
			}
		}
	}
	raw := vk.Bytes()
	b, err := s.sink.buffer(ctx, 0, len(raw))
	if err != nil {
		return nil, 0, err
	}
	copy(b, raw)
	return vk, int64(len(raw)), s.sink.put(ctx, 0, b)
}
