package groth16

import (
	"context"
	"math/big"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
)

// columns are the values at tau of the column polynomials u, v, w of A, B, C, for inputs and for aux.
type columns struct {
	in  [3][]fr.Element
	aux [3][]fr.Element
	buf *pinning.Buffer
}

func (c *columns) close() { _ = c.buf.Close() } // ours alone, closed once

// lagrangePiece is how many values share one inversion.
const lagrangePiece = 1 << 12

// lagrange fills dst with the first len(dst) Lagrange polynomials of the domain of m points at tau:
// (tau^m - 1)/m · omega^j / (tau - omega^j) = (tau^m - 1)/m / (tau·omega^-j - 1). The inversions of a piece are one: with
// the products p_j of its first denominators, 1/d_j = p_j/p_(j+1), from the last to the first.
func lagrange(ctx context.Context, dst []fr.Element, m int, t *Trapdoor, threads int) error {
	d, err := ntt.NewDomain(uint64(m))
	if err != nil {
		return err
	}
	root := d.Root()
	var back fr.Element
	back.Inverse(&root)
	factor := t.vanishing(m)
	var size fr.Element
	size.SetUint64(uint64(m))
	factor.Div(&factor, &size)
	one := fr.One()
	scratch := make([][]fr.Element, par.Workers(threads, (len(dst)+lagrangePiece-1)/lagrangePiece))
	return par.Range(ctx, threads, len(dst), lagrangePiece, func(worker, lo, hi int) error {
		if scratch[worker] == nil {
			scratch[worker] = make([]fr.Element, lagrangePiece)
		}
		dens := scratch[worker][:hi-lo]
		var x fr.Element
		x.Exp(back, big.NewInt(int64(lo)))
		x.Mul(&x, &t.Tau)
		product := one
		for i := range dens {
			dens[i].Sub(&x, &one)
			x.Mul(&x, &back)
			dst[lo+i] = product
			product.Mul(&product, &dens[i])
		}
		var inv fr.Element
		inv.Div(&factor, &product) // not zero: tau is outside the domain
		for i := len(dens) - 1; i >= 0; i-- {
			dst[lo+i].Mul(&dst[lo+i], &inv)
			inv.Mul(&inv, &dens[i])
		}
		return nil
	})
}

const columnStripes = 1 << 12

// columnWalk adds up the columns of a system; workers share aux under striped locks, inputs have a copy each.
type columnWalk struct {
	sys    *synth.System
	lag    []fr.Element
	cols   *columns
	locks  [columnStripes]sync.Mutex
	worker []columnScratch
}

type columnScratch struct {
	in  [3][]fr.Element
	acc []fr.Element // of one instance's columns
}

// computeColumns walks the templates of all instances once.
func computeColumns(ctx context.Context, sys *synth.System, t *Trapdoor, threads int) (_ *columns, err error) {
	ctx, sp := span.Start(ctx, "setup.columns")
	defer sp.End()
	cb, err := pinning.AllocWith(3*32*sys.Aux(), "setup columns", pinning.Options{HugePages: true})
	if err != nil {
		return nil, err
	}
	cols := &columns{buf: cb}
	defer func() {
		if err != nil {
			cols.close()
		}
	}()
	all := pinning.Slice[fr.Element](cb, 3*sys.Aux())
	for k := range cols.aux {
		cols.aux[k] = all[k*sys.Aux() : (k+1)*sys.Aux()]
		cols.in[k] = make([]fr.Element, sys.Inputs())
	}
	lb, err := pinning.AllocWith(32*sys.Constraints(), "setup domain", pinning.Options{HugePages: true})
	if err != nil {
		return nil, err
	}
	defer lb.Close()
	w := &columnWalk{sys: sys, cols: cols, lag: pinning.Slice[fr.Element](lb, sys.Constraints())}
	if err := lagrange(ctx, w.lag, sys.DomainSize(), t, threads); err != nil {
		return nil, err
	}
	n := len(sys.Instances())
	w.worker = make([]columnScratch, par.Workers(threads, n))
	for i := range w.worker {
		for k := range w.worker[i].in {
			w.worker[i].in[k] = make([]fr.Element, sys.Inputs())
		}
	}
	err = par.Range(ctx, threads, n, max(1, min(64, n/(8*len(w.worker)))), func(worker, lo, hi int) error {
		for i := lo; i < hi; i++ {
			if err := w.instance(ctx, &w.worker[worker], &sys.Instances()[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	w.inputs()
	return cols, nil
}

// columnRows is how many rows are added up before the context is looked at: some tens of milliseconds of work.
const columnRows = 1 << 15

// instance adds the columns of one instance: first all of them locally, then into the totals.
func (w *columnWalk) instance(ctx context.Context, s *columnScratch, in *synth.Instance) error {
	t := &w.sys.Templates()[in.Template]
	lag := w.lag[in.Row : int(in.Row)+t.Rows]
	if cap(s.acc) < t.Columns() {
		s.acc = make([]fr.Element, t.Columns())
	}
	acc := s.acc[:t.Columns()]
	for k := range t.M {
		clear(acc)
		for r := 0; r < t.Rows; r += columnRows {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.rows(acc, &t.M[k], lag, r, min(r+columnRows, t.Rows))
		}
		s.in[k][0].Add(&s.in[k][0], &acc[0])
		w.wires(s.in[k], w.cols.aux[k], w.sys.Wires()[in.Wire:int(in.Wire)+t.Wires], acc[1:1+t.Wires])
		w.locals(w.cols.aux[k], int(in.Aux), acc[1+t.Wires:])
	}
	return nil
}

// rows adds the terms of some rows of a template to its columns.
func (w *columnWalk) rows(acc []fr.Element, m *synth.Matrix, lag []fr.Element, from, to int) {
	coeffs := w.sys.Coeffs()
	for r := from; r < to; r++ {
		for j := m.Ptr[r]; j < m.Ptr[r+1]; j++ {
			a := &acc[m.Col[j]]
			switch c := m.Coef[j]; c {
			case 0:
				a.Add(a, &lag[r])
			case 1:
				a.Sub(a, &lag[r])
			default:
				var p fr.Element
				a.Add(a, p.Mul(&coeffs[c], &lag[r]))
			}
		}
	}
}

func (w *columnWalk) wires(in, aux []fr.Element, vars []synth.Var, acc []fr.Element) {
	for i := range vars {
		if acc[i].IsZero() {
			continue
		}
		if vars[i].IsInput() {
			p := &in[vars[i].Index()]
			p.Add(p, &acc[i])
			continue
		}
		j := vars[i].Index()
		l := &w.locks[j>>8%columnStripes]
		l.Lock()
		aux[j].Add(&aux[j], &acc[i])
		l.Unlock()
	}
}

func (w *columnWalk) locals(aux []fr.Element, at int, acc []fr.Element) {
	for len(acc) > 0 {
		n := min(len(acc), 256-at&255)
		l := &w.locks[at>>8%columnStripes]
		l.Lock()
		for i := 0; i < n; i++ {
			if !acc[i].IsZero() { // of B, three in four
				aux[at+i].Add(&aux[at+i], &acc[i])
			}
		}
		l.Unlock()
		at, acc = at+n, acc[n:]
	}
}

// inputs adds the workers' copies and the appended rows input · 0 = 0.
func (w *columnWalk) inputs() {
	for k := range w.cols.in {
		for i := range w.cols.in[k] {
			p := &w.cols.in[k][i]
			for j := range w.worker {
				p.Add(p, &w.worker[j].in[k][i])
			}
			if k == 0 {
				p.Add(p, &w.lag[w.sys.Rows()+i])
			}
		}
	}
}
