package gnarkcs

import (
	"context"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark/backend/witness"
	cs "github.com/consensys/gnark/constraint/bls12-381"
	"github.com/consensys/gnark/constraint/solver"

	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
)

// Solve runs gnark's solver on a full witness and takes over its values. A witness that does not satisfy the circuit is a
// *SolveError with the row. gnark's solver does not listen to ctx, which is asked before and after it.
func (c *Circuit) Solve(ctx context.Context, w witness.Witness, opts ...solver.Option) (*synth.Assignment, error) {
	ctx, sp := span.Start(ctx, "synth.witness")
	defer sp.End()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, ok := w.Vector().(fr.Vector); !ok {
		return nil, fmt.Errorf("%w: values of %T, not of the BLS12-381 scalar field", ErrWitness, w.Vector())
	}
	sol, err := c.r1cs.Solve(w, opts...)
	if err != nil {
		e := &SolveError{Row: -1, Err: err}
		var u *cs.UnsatisfiedConstraintError
		if errors.As(err, &u) {
			e.Row = u.CID
		}
		return nil, e
	}
	s, ok := sol.(*cs.R1CSSolution)
	if !ok {
		return nil, fmt.Errorf("%w: solution %T", ErrUnsupported, sol)
	}
	a, err := c.Assign(ctx, s.W)
	if err != nil || !c.cfg.KeepEvaluations {
		return a, err
	}
	a.Eval = c.evaluations(s, a.Inputs)
	return a, nil
}

// evaluations are the solver's row values with those of the input rows behind them.
func (c *Circuit) evaluations(s *cs.R1CSSolution, inputs []fr.Element) *synth.Evaluations {
	e := &synth.Evaluations{A: s.A, B: s.B, C: s.C}
	if !c.padded {
		zero := make([]fr.Element, len(inputs))
		e.A, e.B, e.C = append(e.A, inputs...), append(e.B, zero...), append(e.C, zero...)
	}
	return e
}

// Assign makes an assignment of gnark's wire values (Montgomery; public with the constant one first, secret, internal: the W
// of gnark's solution), which are copied. It does not check all rows (System.Satisfied does), but a wire that must be a bit
// and has another value is refused with the first row that the values do not satisfy, a *synth.UnsatisfiedError.
func (c *Circuit) Assign(ctx context.Context, wires []fr.Element) (*synth.Assignment, error) {
	if len(wires) != c.Wires() {
		return nil, fmt.Errorf("%w: %d wires, the circuit has %d", ErrWitness, len(wires), c.Wires())
	}
	if !wires[0].IsOne() {
		return nil, fmt.Errorf("%w: wire 0 is %s, not one", ErrWitness, wires[0].String())
	}
	a, err := synth.NewAssignment(c.sys)
	if err != nil {
		return nil, err
	}
	copy(a.Inputs, wires[:c.public])
	if err := c.fill(ctx, a, wires); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// fill writes the aux variables.
func (c *Circuit) fill(ctx context.Context, a *synth.Assignment, wires []fr.Element) error {
	bits, nf := c.sys.Bits(), 0
	for lo := 0; lo < len(c.wires); lo += 64 {
		if lo%(1<<20) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		mask, word := bits[lo/64], uint64(0)
		for i, w := range c.wires[lo:min(lo+64, len(c.wires))] {
			v := &wires[w]
			switch {
			case mask>>i&1 == 0:
				a.Fields[nf] = *v
				nf++
			case v.IsOne():
				word |= 1 << i
			case !v.IsZero():
				return c.unsatisfied(ctx, wires, int(w))
			}
		}
		a.Bits[lo/64] = word
	}
	return nil
}

// unsatisfied finds the first row that the values do not satisfy, knowing that there is one.
func (c *Circuit) unsatisfied(ctx context.Context, wires []fr.Element, wire int) error {
	coeffs := c.sys.Coeffs()
	value := func(terms []synth.RowTerm) (v fr.Element) {
		var x fr.Element
		for _, t := range terms {
			v.Add(&v, x.Mul(&coeffs[t.Coef], &wires[c.Wire(t.Var)]))
		}
		return v
	}
	err := c.sys.EachRow(ctx, 0, c.sys.Rows(), func(row int, abc [3][]synth.RowTerm) error {
		x, y, z := value(abc[0]), value(abc[1]), value(abc[2])
		var p fr.Element
		if !p.Mul(&x, &y).Equal(&z) {
			return &synth.UnsatisfiedError{Row: row, A: x.String(), B: y.String(), C: z.String()}
		}
		return nil
	})
	if err == nil {
		err = fmt.Errorf("%w: wire %d is neither 0 nor 1", ErrWitness, wire)
	}
	return err
}
