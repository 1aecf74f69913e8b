package keys

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/bits"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	gnark "github.com/consensys/gnark/backend/groth16/bls12-381"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gnarkcs"
)

// PlainConfig are the options of a PlainProver; the zero value is the recommendation.
type PlainConfig struct {
	// Windows are the windows of the sums in bits; 0 = choose.
	Windows groth16.Windows
	// Threads bounds the host threads; 0 = GOMAXPROCS.
	Threads int
	// SkipSelfCheck returns proofs that were not verified.
	SkipSelfCheck bool
}

// PlainProver proves under a gnark proving key as it is, of a system with or without input rows: what serves a key that
// exists already, from a ceremony say, and cannot become one of ours. The five sums and the quotient are computed by the
// engines that it is given; all points stay on the Go heap where gnark has them. For a key that is still to be made,
// gnarkcs.AppendInputRows and groth16.NewProver do more (streamed keys, batches, whole backends). It is safe for concurrent
// use.
type PlainProver struct {
	c      *gnarkcs.Circuit
	vk     *groth16.VerifyingKey
	pk     *gnark.ProvingKey
	m      msm.Engine
	n      ntt.Engine
	cfg    PlainConfig
	domain ntt.Domain
	h, l   []bls12381.G1Affine
	sl     []synth.Var // the variable of each point
	sa, sb []synth.Var
}

// NewPlainProver checks that the keys belong together and fit the circuit (*KeyError). The keys must not change while the
// prover is in use.
func NewPlainProver(c *gnarkcs.Circuit, pk *gnark.ProvingKey, vk *gnark.VerifyingKey, m msm.Engine, n ntt.Engine, cfg PlainConfig) (*PlainProver, error) {
	if err := (groth16.Config{Windows: cfg.Windows, Threads: cfg.Threads}).Validate(); err != nil {
		return nil, err
	}
	p := &PlainProver{c: c, pk: pk, m: m, n: n, cfg: cfg}
	var err error
	if p.vk, err = checkPair(c, pk, vk); err != nil {
		return nil, err
	}
	at, err := privates(c, pk)
	if err != nil {
		return nil, err
	}
	if err := sameDensity(c, "InfinityA", pk.InfinityA, len(pk.G1.A), nil, c.System().ADensity()); err != nil {
		return nil, err
	}
	if err := checkB(c, pk); err != nil {
		return nil, err
	}
	if p.domain, err = ntt.NewDomain(pk.Domain.Cardinality); err != nil {
		return nil, err
	}
	z := pk.G1.Z
	p.h = make([]bls12381.G1Affine, len(z))
	for i := range z {
		p.h[i] = z[bits.Reverse64(uint64(i))>>(64-bits.Len(uint(len(z))))]
	}
	p.l = pk.G1.K
	if len(at) != len(p.l) {
		p.l = make([]bls12381.G1Affine, len(at))
		for i, k := range at {
			p.l[i] = pk.G1.K[k]
		}
	}
	p.sl = make([]synth.Var, len(at))
	for i := range p.sl {
		p.sl[i] = synth.AuxVar(i)
	}
	p.sa, p.sb = variables(c, pk.InfinityA), variables(c, pk.InfinityB)
	return p, nil
}

// variables are those of the points of a compressed query, in order.
func variables(c *gnarkcs.Circuit, infinity []bool) (v []synth.Var) {
	in, n := c.System().Inputs(), c.System().Aux()
	for w := range in {
		if !infinity[w] {
			v = append(v, synth.InputVar(w))
		}
	}
	for i := range n {
		if !infinity[c.Wire(synth.AuxVar(i))] {
			v = append(v, synth.AuxVar(i))
		}
	}
	return v
}

// VerifyingKey is that of the proofs. Read only.
func (p *PlainProver) VerifyingKey() *groth16.VerifyingKey { return p.vk }

// Prove makes a proof and verifies it. An assignment that does not satisfy the system is a *groth16.SelfCheckError whose
// cause is the *synth.UnsatisfiedError.
func (p *PlainProver) Prove(ctx context.Context, a *synth.Assignment) (*groth16.Proof, error) {
	if a == nil || a.System() != p.c.System() {
		return nil, fmt.Errorf("%w: of another system", synth.ErrShape)
	}
	var blind [2]fr.Element
	for i := range blind {
		if _, err := blind[i].SetRandom(); err != nil {
			return nil, fmt.Errorf("keys: drawing blinding: %w", err)
		}
	}
	sums, err := p.sums(ctx, a)
	if err != nil {
		return nil, err
	}
	proof := p.assemble(sums, &blind[0], &blind[1])
	if p.cfg.SkipSelfCheck {
		return proof, nil
	}
	_, sp := span.Start(ctx, "verify")
	defer sp.End()
	ok, err := groth16.Verify(p.vk, a.Public(), proof)
	if err != nil || ok {
		return proof, err
	}
	cause := p.c.System().Satisfied(ctx, a, p.cfg.Threads)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, &groth16.SelfCheckError{Backend: fmt.Sprintf("plain(%T, %T)", p.m, p.n), Cause: cause}
}

func (p *PlainProver) sums(ctx context.Context, a *synth.Assignment) (*groth16.Sums, error) {
	s := new(groth16.Sums)
	buf, h, err := p.quotient(ctx, a)
	if err != nil {
		return nil, err
	}
	cfg := func(window int) msm.Config { return msm.Config{WindowBits: window, Threads: p.cfg.Threads} }
	s.H, err = p.m.G1(ctx, p.h, msm.Scalars{Dense: h}, cfg(p.cfg.Windows.H))
	if err = errors.Join(err, buf.Close()); err != nil {
		return nil, err
	}
	w := &p.cfg.Windows
	for _, q := range []struct {
		name   string
		window int
		points []bls12381.G1Affine
		vars   []synth.Var
		to     *bls12381.G1Jac
	}{{"msm.l", w.L, p.l, p.sl, &s.L}, {"msm.a", w.A, p.pk.G1.A, p.sa, &s.A}, {"msm.b1", w.B1, p.pk.G1.B, p.sb, &s.B1}} {
		ctx, sp := span.Start(ctx, q.name)
		*q.to, err = p.m.G1(ctx, q.points, gather(a, q.vars), cfg(q.window))
		sp.End()
		if err != nil {
			return nil, err
		}
	}
	ctx, sp := span.Start(ctx, "msm.b2")
	defer sp.End()
	s.B2, err = p.m.G2(ctx, p.pk.G2.B, gather(a, p.sb), cfg(w.B2))
	return s, err
}

// quotient evaluates gnark's rows and divides. h lies in the buffer.
func (p *PlainProver) quotient(ctx context.Context, a *synth.Assignment) (_ *pinning.Buffer, h []fr.Element, err error) {
	n, m := p.c.Source().GetNbConstraints(), int(p.domain.Size())
	buf, err := pinning.Alloc(3*32*m, "gnark rows")
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, buf.Close())
		}
	}()
	all := pinning.Slice[fr.Element](buf, 3*m)
	x, y, z := all[:m], all[m:2*m], all[2*m:]
	if e := a.Eval; e != nil {
		if len(e.A) < n || len(e.B) < n || len(e.C) < n {
			return nil, nil, fmt.Errorf("%w: evaluations of %d rows, expected %d", synth.ErrLength, len(e.A), n)
		}
		copy(x, e.A[:n])
		copy(y, e.B[:n])
		copy(z, e.C[:n])
	} else if err := p.evaluate(ctx, a, n, x, y, z); err != nil {
		return nil, nil, err
	}
	ctx, sp := span.Start(ctx, "ntt.quotient")
	defer sp.End()
	return buf, x[:m-1], p.n.Quotient(ctx, p.domain, x, y, z)
}

func (p *PlainProver) evaluate(ctx context.Context, a *synth.Assignment, n int, x, y, z []fr.Element) error {
	ctx, sp := span.Start(ctx, "synth.eval")
	defer sp.End()
	return par.Range(ctx, p.cfg.Threads, n, 1<<15, func(_, lo, hi int) error {
		return p.c.System().EvaluateRows(ctx, a, lo, hi, x[lo:hi], y[lo:hi], z[lo:hi])
	})
}

// gather makes the scalars of the variables.
func gather(a *synth.Assignment, vars []synth.Var) msm.Scalars {
	k := msm.Scalars{Bits: make([]uint64, (len(vars)+63)/64)}
	bit, sys := a.System().Bits(), a.System()
	for i, v := range vars {
		if v.IsInput() {
			k.Tail, k.TailAt = append(k.Tail, a.Inputs[v.Index()]), append(k.TailAt, uint32(i))
			continue
		}
		j := v.Index()
		if bit[j/64]>>(j%64)&1 == 1 {
			k.Bits[i/64] |= a.Bits[j/64] >> (j % 64) & 1 << (i % 64)
			continue
		}
		k.Tail, k.TailAt = append(k.Tail, a.Fields[sys.FieldsBefore(j)]), append(k.TailAt, uint32(i))
	}
	return k
}

// assemble blinds the sums (see package groth16): C = s·A' + r·B1' - rs·delta + H + L with A' and B1' blinded already.
func (p *PlainProver) assemble(sums *groth16.Sums, r, s *fr.Element) *groth16.Proof {
	var rs fr.Element
	rs.Neg(rs.Mul(r, s))
	rb, sb := r.BigInt(new(big.Int)), s.BigInt(new(big.Int))
	var delta, d bls12381.G1Jac
	var delta2 bls12381.G2Jac
	delta.FromAffine(&p.vk.DeltaG1)
	delta2.FromAffine(&p.vk.DeltaG2)

	a, b1, b2 := sums.A, sums.B1, sums.B2
	a.AddMixed(&p.vk.AlphaG1)
	a.AddAssign(d.ScalarMultiplication(&delta, rb))
	b1.AddMixed(&p.vk.BetaG1)
	b1.AddAssign(d.ScalarMultiplication(&delta, sb))
	b2.AddMixed(&p.vk.BetaG2)
	b2.AddAssign(delta2.ScalarMultiplication(&delta2, sb))

	var c, t bls12381.G1Jac
	c.ScalarMultiplication(&a, sb)
	c.AddAssign(t.ScalarMultiplication(&b1, rb))
	c.AddAssign(t.ScalarMultiplication(&delta, rs.BigInt(new(big.Int))))
	c.AddAssign(&sums.H)
	c.AddAssign(&sums.L)
	proof := new(groth16.Proof)
	proof.A.FromJacobian(&a)
	proof.B.FromJacobian(&b2)
	proof.C.FromJacobian(&c)
	return proof
}
