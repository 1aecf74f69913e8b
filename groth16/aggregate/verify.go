package aggregate

import (
	"context"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/span"
)

// Verify says whether aggregate proves that proof j holds under vk for inputs[j], for every j. inputs are the vectors
// of public inputs without the constant one, as many as the aggregate says that it has proofs (PadInputs makes them so
// many); transcript and version are those of Prove.
//
// It returns (false, nil) for a well-formed aggregate that proves something else, and an *Error, which is ErrMalformed
// or ErrArgument, where bytes cannot be parsed or counts do not fit. Bytes after the aggregate are ErrMalformed, though
// the deployed verifier ignores them: see Decode.
func Verify(ctx context.Context, srs *VerifierSRS, vk *groth16.VerifyingKey, inputs [][]fr.Element, aggregate, transcript []byte, version Version) (bool, error) {
	if err := version.Validate(); err != nil {
		return false, err
	}
	p, err := decodeWhole(ctx, aggregate)
	if err != nil {
		return false, err
	}
	return p.Verify(ctx, srs, vk, inputs, transcript, version)
}

// Verify is the function Verify for an aggregate that was decoded before.
//
// All equations are merged into one product of pairings with random weights from the operating system: a false
// aggregate passes with probability at most 2^-250 or so.
func (p *AggregateProof) Verify(ctx context.Context, srs *VerifierSRS, vk *groth16.VerifyingKey, inputs [][]fr.Element, transcript []byte, version Version) (bool, error) {
	if err := version.Validate(); err != nil {
		return false, err
	}
	if err := p.checkArguments(srs, vk, inputs); err != nil {
		return false, err
	}
	ctx, s := span.Start(ctx, "aggregate.verify", span.Int("proofs", p.n), span.Stringer("version", version))
	defer s.End()
	hcom := p.commitmentChallenge()
	r := combiner(hcom, transcript)
	var f folding
	ci := p.seed(hcom, r)
	for i := range p.rounds {
		ci = p.rounds[i].next(i, ci, version)
		f.push(ci)
	}
	z := p.openingPoint(f.c[len(f.c)-1], version)

	ok, err := p.checkSum(&f, r)
	if !ok || err != nil {
		return false, err
	}
	var e equation
	w, err := newWeights()
	if err != nil {
		return false, err
	}
	p.addProducts(&e, &f, w)
	p.addOpenings(&e, srs, &f, r, z, w)
	if err := p.addGroth16(ctx, &e, vk, inputs, r); err != nil {
		return false, err
	}
	return e.holds(ctx)
}

func (p *AggregateProof) checkArguments(srs *VerifierSRS, vk *groth16.VerifyingKey, inputs [][]fr.Element) error {
	if srs == nil {
		return refused("srs", -1, "none given")
	}
	if vk == nil || len(vk.IC) == 0 {
		return refused("vk", -1, "none given")
	}
	if len(inputs) != p.n {
		return refused("inputs", -1, "%d vectors, the aggregate has %d proofs", len(inputs), p.n)
	}
	for j := range inputs {
		if len(inputs[j]) != len(vk.IC)-1 {
			return refused("inputs", j, "%d values, the key wants %d", len(inputs[j]), len(vk.IC)-1)
		}
	}
	return nil
}

// checkSum is the one equation without pairings: the folded C under the folded powers of r is the folded sum.
func (p *AggregateProof) checkSum(f *folding, r fr.Element) (bool, error) {
	points := []bls12381.G1Affine{p.aggC, p.finalC}
	rho := evalChain(f.ci, r)
	rho.Neg(&rho)
	scalars := []fr.Element{fr.One(), rho}
	for i := range p.rounds {
		points = append(points, p.rounds[i].zcL, p.rounds[i].zcR)
		scalars = append(scalars, f.c[i], f.ci[i])
	}
	var sum bls12381.G1Jac
	if _, err := sum.MultiExp(points, scalars, ecc.MultiExpConfig{}); err != nil {
		return false, err
	}
	return sum.Z.IsZero(), nil
}

// weights are the random factors of the equations; that of the Groth16 equation is 1.
type weights struct {
	ip     fr.Element    // inner product A·B
	ab, c  [2]fr.Element // commitments, for both secrets
	kv, kw [2]fr.Element // openings
}

func newWeights() (*weights, error) {
	var w weights
	for _, x := range []*fr.Element{&w.ip, &w.ab[0], &w.ab[1], &w.c[0], &w.c[1], &w.kv[0], &w.kv[1], &w.kw[0], &w.kw[1]} {
		for x.IsZero() {
			if _, err := x.SetRandom(); err != nil {
				return nil, err
			}
		}
	}
	return &w, nil
}

// addProducts adds, with their weights, that the folded elements multiply to the folded products:
//
//	e(A, B) = ip,  e(A, v)·e(w, B) = com_ab,  e(C, v) = com_c
//
// where the right sides are the commitments times the messages of the rounds, to the power of the challenges.
func (p *AggregateProof) addProducts(e *equation, f *folding, w *weights) {
	e.pair(g1Term{p.finalB, []g1Scaled{{p.finalA, w.ip}, {p.finalW[0], w.ab[0]}, {p.finalW[1], w.ab[1]}}})
	e.power(p.ipAB, w.ip)
	for s := range 2 {
		e.pair(g1Term{p.finalV[s], []g1Scaled{{p.finalA, w.ab[s]}, {p.finalC, w.c[s]}}})
		e.power(p.comAB[s], w.ab[s])
		e.power(p.comC[s], w.c[s])
	}
	for i := range p.rounds {
		m := &p.rounds[i]
		e.power(m.zabL, w.ip, f.c[i])
		e.power(m.zabR, w.ip, f.ci[i])
		for s := range 2 {
			e.power(m.tabL[s], w.ab[s], f.c[i])
			e.power(m.tabR[s], w.ab[s], f.ci[i])
			e.power(m.tcL[s], w.c[s], f.c[i])
			e.power(m.tcR[s], w.c[s], f.ci[i])
		}
	}
}

// addOpenings adds the KZG checks of both folded keys for both secrets x, whose powers in G1 and G2 are xG and xH:
//
//	e(G, v - f_v(z)H) = e(xG - zG, π_v),   e(w - f_w(z)G, H) = e(π_w, xH - zH)
func (p *AggregateProof) addOpenings(e *equation, srs *VerifierSRS, f *folding, r, z fr.Element, w *weights) {
	fv := evalChain(f.ci, z)
	var zr, fw, t fr.Element
	zr.Div(&z, &r)
	fw = evalChain(f.c, zr)
	fw.Mul(&fw, t.Exp(z, big.NewInt(int64(p.n))))
	mul := func(a, b fr.Element) (out fr.Element) { out.Mul(&a, &b); return out }
	neg := func(a fr.Element) (out fr.Element) { out.Neg(&a); return out }
	var onH []g1Scaled // all that is paired with H
	for s := range 2 {
		xG, xH := srs.gA, srs.hA
		if s == 1 {
			xG, xH = srs.gB, srs.hB
		}
		kv, kw := w.kv[s], w.kw[s]
		e.pair(g1Term{p.finalV[s], []g1Scaled{{srs.g, kv}}})
		e.pair(g1Term{p.piV[s], []g1Scaled{{xG, neg(kv)}, {srs.g, mul(kv, z)}}})
		onH = append(onH, g1Scaled{srs.g, neg(mul(kv, fv))})
		// e(π_w, xH - zH) = e(π_w, xH)·e(-zπ_w, H)
		onH = append(onH, g1Scaled{p.finalW[s], kw}, g1Scaled{srs.g, neg(mul(kw, fw))}, g1Scaled{p.piW[s], mul(kw, z)})
		e.pair(g1Term{xH, []g1Scaled{{p.piW[s], neg(kw)}}})
	}
	e.pair(g1Term{srs.h, onH})
}

// addGroth16 adds the verification equation of Groth16, proof j to the power r^j:
//
//	e(sα, β)·e(s·ic[0] + Σ_i (Σ_j r^j x[j][i])·ic[i+1], γ)·e(agg_c, δ) = ip_ab,   s = Σ_j r^j
func (p *AggregateProof) addGroth16(ctx context.Context, e *equation, vk *groth16.VerifyingKey, inputs [][]fr.Element, r fr.Element) error {
	rv := powers(r, p.n)
	scalars := make([]fr.Element, len(vk.IC))
	for j := range rv {
		scalars[0].Add(&scalars[0], &rv[j])
	}
	err := par.Range(ctx, 0, len(vk.IC)-1, 16, func(_, from, to int) error {
		for i := from; i < to; i++ {
			var t fr.Element
			for j := range inputs {
				scalars[i+1].Add(&scalars[i+1], t.Mul(&rv[j], &inputs[j][i]))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	public, err := sumG1(ctx, vk.IC, scalars)
	if err != nil {
		return err
	}
	one := fr.One()
	e.pair(g1Term{vk.BetaG2, []g1Scaled{{vk.AlphaG1, scalars[0]}}})
	e.pair(g1Term{vk.GammaG2, []g1Scaled{{public, one}}})
	e.pair(g1Term{vk.DeltaG2, []g1Scaled{{p.aggC, one}}})
	e.power(p.ipAB, one)
	return nil
}
