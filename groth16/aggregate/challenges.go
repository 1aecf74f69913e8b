package aggregate

import (
	"strconv"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// The prover and the verifier draw the same challenges from the same fields; both call these.

// commitmentChallenge binds the commitments to (A, B) and to C.
func (p *AggregateProof) commitmentChallenge() fr.Element {
	return newTranscript("hcom").gt(p.comAB[:]...).gt(p.comC[:]...).challenge()
}

// combiner is r, whose powers weigh the proofs.
func combiner(hcom fr.Element, data []byte) fr.Element {
	return newTranscript("random-r").fr(hcom).bytes(data).challenge()
}

// seed starts the chain of folding challenges.
func (p *AggregateProof) seed(hcom, r fr.Element) fr.Element {
	return newTranscript("gipa-0").fr(hcom).gt(p.ipAB).g1(p.aggC).fr(r).challenge()
}

// next is the challenge of round i, given that of the round before, or the seed.
func (m *round) next(i int, previous fr.Element, version Version) fr.Element {
	if version == V1 && i == 0 {
		return previous
	}
	return newTranscript("gipa-"+strconv.Itoa(i)).fr(previous).
		gt(m.zabL, m.zabR).g1(m.zcL, m.zcR).
		gt(m.tabL[:]...).gt(m.tabR[:]...).gt(m.tcL[:]...).gt(m.tcR[:]...).challenge()
}

// openingPoint is z, at which the folded commitment keys are opened. c is the inverse of the last round's challenge.
func (p *AggregateProof) openingPoint(c fr.Element, version Version) fr.Element {
	if version == V1 {
		return newTranscript("random-z").fr(c).g2(p.finalV[:]...).g1(p.finalW[:]...).challenge()
	}
	m := &p.rounds[len(p.rounds)-1]
	link := newTranscript("gipa-extra-link").fr(c).g1(p.finalA).g2(p.finalB).g1(p.finalC).
		gt(m.zabL, m.zabR).g1(m.zcL, m.zcR).
		gt(m.tabL[:]...).gt(m.tabR[:]...).gt(m.tcL[:]...).gt(m.tcR[:]...).challenge()
	return newTranscript("random-z").fr(link).g2(p.finalV[:]...).g1(p.finalW[:]...).
		g1(p.finalA).g2(p.finalB).g1(p.finalC).challenge()
}

// folding holds the challenges of the rounds, ci, and their inverses, c.
type folding struct{ ci, c []fr.Element }

func (f *folding) push(ci fr.Element) (c fr.Element) {
	c.Inverse(&ci)
	f.ci, f.c = append(f.ci, ci), append(f.c, c)
	return c
}

// evalChain is Π_j (1 + k[l-1-j]·x^(2^j)): the value at x of the polynomial of degree 2^l - 1 whose coefficients
// are the products over all choices of rounds.
func evalChain(k []fr.Element, x fr.Element) fr.Element {
	var out, t, one fr.Element
	one.SetOne()
	out.SetOne()
	for j := len(k) - 1; j >= 0; j-- {
		t.Mul(&k[j], &x).Add(&t, &one)
		out.Mul(&out, &t)
		x.Square(&x)
	}
	return out
}

// coefficients lists those of the polynomial that evalChain evaluates, with x replaced by x·scale.
func coefficients(k []fr.Element, scale fr.Element) []fr.Element {
	out := make([]fr.Element, 1, 1<<len(k))
	out[0].SetOne()
	for j := len(k) - 1; j >= 0; j-- {
		var t fr.Element
		t.Mul(&k[j], &scale)
		n := len(out)
		for i := 0; i < n; i++ {
			var v fr.Element
			v.Mul(&out[i], &t)
			out = append(out, v)
		}
		scale.Square(&scale)
	}
	return out
}

// quotient divides f by X - z and drops the remainder.
func quotient(f []fr.Element, z fr.Element) []fr.Element {
	out := make([]fr.Element, len(f)-1)
	var carry fr.Element
	for i := len(f) - 1; i > 0; i-- {
		carry.Mul(&carry, &z).Add(&carry, &f[i])
		out[i-1] = carry
	}
	return out
}

// powers lists 1, x, ..., x^(n-1).
func powers(x fr.Element, n int) []fr.Element {
	out := make([]fr.Element, n)
	out[0].SetOne()
	for i := 1; i < n; i++ {
		out[i].Mul(&out[i-1], &x)
	}
	return out
}
