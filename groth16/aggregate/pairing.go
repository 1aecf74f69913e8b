package aggregate

import (
	"context"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/internal/par"
)

const (
	pairsPerLoop = 32   // pairs that share the squarings of one Miller loop: some 5 ms of work
	foldChunk    = 64   // points folded between two looks at the context
	msmChunk     = 8192 // points of one multiplication, which does not look at the context
)

// pairs are the factors Π e(p[k], q[k]) of a product.
type pairs struct {
	p []bls12381.G1Affine
	q []bls12381.G2Affine
}

// millerTask is a piece of one product: pairs [from, to) of its concatenated factors.
type millerTask struct{ product, from, to int }

// products evaluates several products of pairings at once.
func products(ctx context.Context, factors ...[]pairs) ([]bls12381.GT, error) {
	var tasks []millerTask
	for i, f := range factors {
		total := 0
		for _, part := range f {
			total += len(part.p)
		}
		for from := 0; from < total; from += pairsPerLoop {
			tasks = append(tasks, millerTask{i, from, min(from+pairsPerLoop, total)})
		}
	}
	loops := make([]bls12381.GT, len(tasks))
	err := par.Do(ctx, 0, len(tasks), func(_, i int) (err error) {
		loops[i], err = tasks[i].run(factors[tasks[i].product])
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]bls12381.GT, len(factors))
	for i := range out {
		out[i].SetOne()
	}
	for i, t := range tasks {
		out[t.product].Mul(&out[t.product], &loops[i])
	}
	err = par.Do(ctx, 0, len(out), func(_, i int) error {
		out[i] = bls12381.FinalExponentiation(&out[i])
		return nil
	})
	return out, err
}

func (t millerTask) run(factors []pairs) (bls12381.GT, error) {
	p := make([]bls12381.G1Affine, 0, pairsPerLoop)
	q := make([]bls12381.G2Affine, 0, pairsPerLoop)
	at := 0
	for _, f := range factors {
		lo, hi := max(t.from-at, 0), min(t.to-at, len(f.p))
		if lo < hi {
			p = append(p, f.p[lo:hi]...)
			q = append(q, f.q[lo:hi]...)
		}
		at += len(f.p)
	}
	return bls12381.MillerLoop(p, q)
}

// foldG1 is lo[k] + c·hi[k].
func foldG1(ctx context.Context, lo, hi []bls12381.G1Affine, c fr.Element) ([]bls12381.G1Affine, error) {
	var s big.Int
	c.BigInt(&s)
	out := make([]bls12381.G1Affine, len(lo))
	err := par.Range(ctx, 0, len(lo), foldChunk, func(_, from, to int) error {
		var j bls12381.G1Jac
		for k := from; k < to; k++ {
			j.FromAffine(&hi[k])
			j.ScalarMultiplication(&j, &s).AddMixed(&lo[k])
			out[k].FromJacobian(&j)
		}
		return nil
	})
	return out, err
}

// foldG2 is lo[k] + c·hi[k].
func foldG2(ctx context.Context, lo, hi []bls12381.G2Affine, c fr.Element) ([]bls12381.G2Affine, error) {
	var s big.Int
	c.BigInt(&s)
	out := make([]bls12381.G2Affine, len(lo))
	err := par.Range(ctx, 0, len(lo), foldChunk, func(_, from, to int) error {
		var j bls12381.G2Jac
		for k := from; k < to; k++ {
			j.FromAffine(&hi[k])
			j.ScalarMultiplication(&j, &s).AddMixed(&lo[k])
			out[k].FromJacobian(&j)
		}
		return nil
	})
	return out, err
}

// scaleG1 is s[k]·p[k].
func scaleG1(ctx context.Context, p []bls12381.G1Affine, s []fr.Element) ([]bls12381.G1Affine, error) {
	out := make([]bls12381.G1Affine, len(p))
	err := par.Range(ctx, 0, len(p), foldChunk, func(_, from, to int) error {
		var e big.Int
		for k := from; k < to; k++ {
			out[k].ScalarMultiplication(&p[k], s[k].BigInt(&e))
		}
		return nil
	})
	return out, err
}

// scaleG2 is s[k]·p[k].
func scaleG2(ctx context.Context, p []bls12381.G2Affine, s []fr.Element) ([]bls12381.G2Affine, error) {
	out := make([]bls12381.G2Affine, len(p))
	err := par.Range(ctx, 0, len(p), foldChunk, func(_, from, to int) error {
		var e big.Int
		for k := from; k < to; k++ {
			out[k].ScalarMultiplication(&p[k], s[k].BigInt(&e))
		}
		return nil
	})
	return out, err
}

// sumG1 is Σ s[k]·p[k] over the scalars, which may be fewer than the points.
func sumG1(ctx context.Context, p []bls12381.G1Affine, s []fr.Element) (bls12381.G1Affine, error) {
	var total, part bls12381.G1Jac
	for from := 0; from < len(s); from += msmChunk {
		if err := ctx.Err(); err != nil {
			return bls12381.G1Affine{}, err
		}
		to := min(from+msmChunk, len(s))
		if _, err := part.MultiExp(p[from:to], s[from:to], ecc.MultiExpConfig{}); err != nil {
			return bls12381.G1Affine{}, err
		}
		total.AddAssign(&part)
	}
	var out bls12381.G1Affine
	out.FromJacobian(&total)
	return out, nil
}

// sumG2 is Σ s[k]·p[k] over the scalars, which may be fewer than the points.
func sumG2(ctx context.Context, p []bls12381.G2Affine, s []fr.Element) (bls12381.G2Affine, error) {
	var total, part bls12381.G2Jac
	for from := 0; from < len(s); from += msmChunk {
		if err := ctx.Err(); err != nil {
			return bls12381.G2Affine{}, err
		}
		to := min(from+msmChunk, len(s))
		if _, err := part.MultiExp(p[from:to], s[from:to], ecc.MultiExpConfig{}); err != nil {
			return bls12381.G2Affine{}, err
		}
		total.AddAssign(&part)
	}
	var out bls12381.G2Affine
	out.FromJacobian(&total)
	return out, nil
}
