package aggregate

import (
	"context"
	"slices"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/span"
)

// Prove merges exactly srs.Count() proofs (PadProofs makes them so many) and returns the encoded aggregate. transcript
// is the caller's data, bound into the challenges: for Filecoin a SHA-256 digest. The aggregate of false proofs is
// made without an error and is false.
//
// A proof with an element at infinity or outside its group is refused by its index. When ctx ends, Prove returns its
// error within some tens of milliseconds.
func Prove(ctx context.Context, srs *ProverSRS, proofs []*groth16.Proof, transcript []byte, version Version) ([]byte, error) {
	if err := version.Validate(); err != nil {
		return nil, err
	}
	if srs == nil {
		return nil, refused("srs", -1, "none given")
	}
	if len(proofs) != srs.n {
		return nil, refused("proofs", -1, "%d of them, the SRS is cut to %d", len(proofs), srs.n)
	}
	if err := checkProofs(ctx, proofs); err != nil {
		return nil, err
	}
	ctx, s := span.Start(ctx, "aggregate.prove", span.Int("proofs", srs.n), span.Stringer("version", version))
	defer s.End()
	p := &AggregateProof{n: srs.n}
	st, hcom, err := commit(ctx, srs, proofs, p)
	if err != nil {
		return nil, err
	}
	r := combiner(hcom, transcript)
	if err := st.combine(ctx, r, p); err != nil {
		return nil, err
	}
	f, err := st.fold(ctx, p.seed(hcom, r), version, p)
	if err != nil {
		return nil, err
	}
	if err := open(ctx, srs, f, r, p.openingPoint(f.c[len(f.c)-1], version), p); err != nil {
		return nil, err
	}
	return p.Bytes()
}

// checkProofs wants finite points of the prime-order groups: what a pairing is defined for.
func checkProofs(ctx context.Context, proofs []*groth16.Proof) error {
	bad := make([]string, len(proofs))
	err := par.Range(ctx, 0, len(proofs), foldChunk, func(_, from, to int) error {
		for i := from; i < to; i++ {
			p := proofs[i]
			switch {
			case i > 0 && p == proofs[i-1]: // padding; p itself was looked at
			case p == nil:
				bad[i] = "none given"
			case p.A.IsInfinity() || p.B.IsInfinity() || p.C.IsInfinity():
				bad[i] = "an element is at infinity"
			case !p.A.IsInSubGroup():
				bad[i] = "A is not in the subgroup"
			case !p.B.IsInSubGroup():
				bad[i] = "B is not in the subgroup"
			case !p.C.IsInSubGroup():
				bad[i] = "C is not in the subgroup"
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(bad, func(s string) bool { return s != "" }); i >= 0 {
		return refused("proofs", i, "%s", bad[i])
	}
	return nil
}

// state is what the rounds fold: the proofs' elements, the powers of r, and the commitment keys v (in G2) and w (in
// G1), each for both secrets. Its slices are replaced, never written.
type state struct {
	a, c   []bls12381.G1Affine
	b      []bls12381.G2Affine
	rv     []fr.Element
	v1, v2 []bls12381.G2Affine
	w1, w2 []bls12381.G1Affine
}

// commit fills the commitments and gives their challenge.
func commit(ctx context.Context, srs *ProverSRS, proofs []*groth16.Proof, p *AggregateProof) (*state, fr.Element, error) {
	ctx, s := span.Start(ctx, "aggregate.commit")
	defer s.End()
	n := len(proofs)
	st := &state{
		a: make([]bls12381.G1Affine, n), b: make([]bls12381.G2Affine, n), c: make([]bls12381.G1Affine, n),
		v1: srs.hA, v2: srs.hB, w1: srs.wAlpha, w2: srs.wBeta,
	}
	for i, q := range proofs {
		st.a[i], st.b[i], st.c[i] = q.A, q.B, q.C
	}
	com, err := products(ctx,
		[]pairs{{st.a, st.v1}, {st.w1, st.b}}, []pairs{{st.a, st.v2}, {st.w2, st.b}},
		[]pairs{{st.c, st.v1}}, []pairs{{st.c, st.v2}})
	if err != nil {
		return nil, fr.Element{}, err
	}
	p.comAB, p.comC = [2]bls12381.GT{com[0], com[1]}, [2]bls12381.GT{com[2], com[3]}
	return st, p.commitmentChallenge(), nil
}

// combine weighs proof i by r^i: in B, and inversely in w, which leaves the commitments as they are.
func (st *state) combine(ctx context.Context, r fr.Element, p *AggregateProof) (err error) {
	n := len(st.a)
	st.rv = powers(r, n)
	var inverse fr.Element
	inverse.Inverse(&r)
	down := powers(inverse, n)
	if st.b, err = scaleG2(ctx, st.b, st.rv); err != nil {
		return err
	}
	if st.w1, err = scaleG1(ctx, st.w1, down); err != nil {
		return err
	}
	if st.w2, err = scaleG1(ctx, st.w2, down); err != nil {
		return err
	}
	ip, err := products(ctx, []pairs{{st.a, st.b}})
	if err != nil {
		return err
	}
	p.ipAB = ip[0]
	p.aggC, err = sumG1(ctx, st.c, st.rv)
	return err
}

// fold halves the vectors until one element is left, and records the messages.
func (st *state) fold(ctx context.Context, seed fr.Element, version Version, p *AggregateProof) (*folding, error) {
	ctx, s := span.Start(ctx, "aggregate.fold")
	defer s.End()
	var f folding
	ci := seed
	for i := 0; len(st.a) > 1; i++ {
		m, err := st.messages(ctx)
		if err != nil {
			return nil, err
		}
		p.rounds = append(p.rounds, m)
		ci = m.next(i, ci, version)
		if err := st.halve(ctx, f.push(ci), ci); err != nil {
			return nil, err
		}
	}
	p.finalA, p.finalB, p.finalC = st.a[0], st.b[0], st.c[0]
	p.finalV = [2]bls12381.G2Affine{st.v1[0], st.v2[0]}
	p.finalW = [2]bls12381.G1Affine{st.w1[0], st.w2[0]}
	return &f, nil
}

// messages computes the cross products of the halves.
func (st *state) messages(ctx context.Context) (m round, err error) {
	h := len(st.a) / 2
	aL, aR, bL, bR, cL, cR := st.a[:h], st.a[h:], st.b[:h], st.b[h:], st.c[:h], st.c[h:]
	v1L, v1R, v2L, v2R := st.v1[:h], st.v1[h:], st.v2[:h], st.v2[h:]
	w1L, w1R, w2L, w2R := st.w1[:h], st.w1[h:], st.w2[:h], st.w2[h:]
	t, err := products(ctx,
		[]pairs{{aR, v1L}, {w1R, bL}}, []pairs{{aR, v2L}, {w2R, bL}},
		[]pairs{{aL, v1R}, {w1L, bR}}, []pairs{{aL, v2R}, {w2L, bR}},
		[]pairs{{cR, v1L}}, []pairs{{cR, v2L}},
		[]pairs{{cL, v1R}}, []pairs{{cL, v2R}},
		[]pairs{{aR, bL}}, []pairs{{aL, bR}})
	if err != nil {
		return m, err
	}
	m.tabL, m.tabR = [2]bls12381.GT{t[0], t[1]}, [2]bls12381.GT{t[2], t[3]}
	m.tcL, m.tcR = [2]bls12381.GT{t[4], t[5]}, [2]bls12381.GT{t[6], t[7]}
	m.zabL, m.zabR = t[8], t[9]
	if m.zcL, err = sumG1(ctx, cR, st.rv[:h]); err != nil {
		return m, err
	}
	m.zcR, err = sumG1(ctx, cL, st.rv[h:])
	return m, err
}

// halve adds the right halves to the left ones: a, c, w times c, and b, rv, v times ci = 1/c.
func (st *state) halve(ctx context.Context, c, ci fr.Element) (err error) {
	h := len(st.a) / 2
	for _, v := range []*[]bls12381.G1Affine{&st.a, &st.c, &st.w1, &st.w2} {
		if *v, err = foldG1(ctx, (*v)[:h], (*v)[h:], c); err != nil {
			return err
		}
	}
	for _, v := range []*[]bls12381.G2Affine{&st.b, &st.v1, &st.v2} {
		if *v, err = foldG2(ctx, (*v)[:h], (*v)[h:], ci); err != nil {
			return err
		}
	}
	rv := make([]fr.Element, h)
	for k := range rv {
		rv[k].Mul(&st.rv[h+k], &ci).Add(&rv[k], &st.rv[k])
	}
	st.rv = rv
	return nil
}

// open proves with a KZG opening at z that the folded keys are the ones that the challenges give.
func open(ctx context.Context, srs *ProverSRS, f *folding, r, z fr.Element, p *AggregateProof) (err error) {
	ctx, s := span.Start(ctx, "aggregate.open")
	defer s.End()
	var one, down fr.Element
	one.SetOne()
	down.Inverse(&r)
	qv := quotient(coefficients(f.ci, one), z)
	// f_w has the factor X^n: w starts at power n.
	qw := quotient(append(make([]fr.Element, srs.n, 2*srs.n), coefficients(f.c, down)...), z)
	for i, base := range [][]bls12381.G2Affine{srs.hA, srs.hB} {
		if p.piV[i], err = sumG2(ctx, base, qv); err != nil {
			return err
		}
	}
	for i, base := range [][]bls12381.G1Affine{srs.gA, srs.gB} {
		if p.piW[i], err = sumG1(ctx, base, qw); err != nil {
			return err
		}
	}
	return nil
}
