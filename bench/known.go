package main

import (
	"context"
	"math/big"
	"sync"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/synth"
)

// knownSums are the five sums of a full-size assignment computed from the key's trapdoor: with it each sum is one scalar
// times a generator. A(tau) = sum of a_i L_i(tau) over the rows, likewise B and C; H = (A B - C)/delta; L is what the aux
// variables alone contribute, all but what is left with every aux set to zero: (beta A' + alpha B' + C')/delta.
func knownSums(ctx context.Context, sys *synth.System, a *synth.Assignment, t *groth16.Trapdoor) (s groth16.Sums, err error) {
	whole, err := weighted(ctx, sys, a, t)
	if err != nil {
		return s, err
	}
	noAux := *a
	noAux.Bits, noAux.Fields = make([]uint64, len(a.Bits)), make([]fr.Element, len(a.Fields))
	in, err := weighted(ctx, sys, &noAux, t)
	if err != nil {
		return s, err
	}
	var aux [3]fr.Element
	for k := range aux {
		aux[k].Sub(&whole[k], &in[k])
	}
	var h, l, x fr.Element
	h.Mul(&whole[0], &whole[1])
	h.Sub(&h, &whole[2])
	h.Div(&h, &t.Delta)
	l.Mul(&t.Beta, &aux[0])
	l.Add(&l, x.Mul(&t.Alpha, &aux[1]))
	l.Add(&l, &aux[2])
	l.Div(&l, &t.Delta)
	g1, g2, _, _ := bls12381.Generators()
	for _, y := range []struct {
		to *bls12381.G1Jac
		k  *fr.Element
	}{{&s.H, &h}, {&s.L, &l}, {&s.A, &whole[0]}, {&s.B1, &whole[1]}} {
		y.to.ScalarMultiplication(&g1, y.k.BigInt(new(big.Int)))
	}
	s.B2.ScalarMultiplication(&g2, whole[1].BigInt(new(big.Int)))
	return s, nil
}

const weightChunk = 1 << 14

// weighted is the sum of all rows' a, b, c with the Lagrange polynomials at tau as weights:
// L_i(tau) = (tau^m - 1)/m * omega^i / (tau - omega^i).
func weighted(ctx context.Context, sys *synth.System, a *synth.Assignment, t *groth16.Trapdoor) (sum [3]fr.Element, err error) {
	m := sys.DomainSize()
	e := new(big.Int).Sub(fr.Modulus(), big.NewInt(1))
	e.Div(e, big.NewInt(int64(m)))
	var omega, factor, size fr.Element
	omega.Exp(fr.NewElement(7), e)
	factor.Exp(t.Tau, big.NewInt(int64(m)))
	one := fr.One()
	factor.Sub(&factor, &one)
	size.SetUint64(uint64(m))
	factor.Div(&factor, &size)
	var mu sync.Mutex
	err = par.Range(ctx, 0, sys.Constraints(), weightChunk, func(_, lo, hi int) error {
		n := hi - lo
		buf := make([]fr.Element, 5*n)
		va, vb, vc, x, d := buf[:n], buf[n:2*n], buf[2*n:3*n], buf[3*n:4*n], buf[4*n:]
		if err := sys.EvaluateRows(ctx, a, lo, hi, va, vb, vc); err != nil {
			return err
		}
		x[0].Exp(omega, big.NewInt(int64(lo)))
		for i := range x {
			if i > 0 {
				x[i].Mul(&x[i-1], &omega)
			}
			d[i].Sub(&t.Tau, &x[i])
		}
		d = fr.BatchInvert(d)
		var part [3]fr.Element
		for i := range x {
			var w, y fr.Element
			w.Mul(&x[i], &d[i])
			for k, v := range [3]*fr.Element{&va[i], &vb[i], &vc[i]} {
				part[k].Add(&part[k], y.Mul(&w, v))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for k := range part {
			part[k].Mul(&part[k], &factor)
			sum[k].Add(&sum[k], &part[k])
		}
		return nil
	})
	return sum, err
}
