package multieq_test

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/filgroth/filgroth/synth/gadget/multieq"
	"github.com/stretchr/testify/require"
)

// equalities are n equalities of the same size between a word and itself, given as combinations or term by term.
type equalities struct {
	n, size int
	terms   bool
	wrong   int // the equality that does not hold, or -1
}

func (e equalities) Synthesize(b *synth.Builder) error {
	x, y := boolean.Alloc(b, true), boolean.Alloc(b, false)
	m := multieq.New(b)
	for i := 0; i < e.n; i++ {
		if !b.WantRows() {
			break
		}
		// x + 2*(not y) + 4*true = 7x, unless wrong
		right := []boolean.Bool{x, x, x}
		if i == e.wrong {
			right[1] = y
		}
		left := []boolean.Bool{x, y.Not(), boolean.Const(true)}
		if e.terms {
			m.Begin(e.size)
			for k := range left {
				m.Left(left[k], k)
				m.Right(right[k], k)
			}
			continue
		}
		l, r := new(synth.LC), new(synth.LC)
		for k := range left {
			c := fr.NewElement(1 << k)
			left[k].AddTo(l, c)
			right[k].AddTo(r, c)
		}
		m.EnforceEqual(e.size, l, r)
	}
	m.Flush()
	m.Flush() // nothing left: no row
	return nil
}

func TestPacking(t *testing.T) {
	for _, c := range []struct{ size, n, rows int }{
		{3, 0, 0}, {3, 1, 1}, {33, 7, 1}, {33, 8, 2}, {126, 2, 1}, {127, 2, 2}, {253, 1, 1}, {253, 2, 2}, {35, 15, 3},
	} {
		var digests []synth.Digest
		for _, terms := range []bool{false, true} {
			e := equalities{n: c.n, size: c.size, terms: terms, wrong: -1}
			s, err := synth.Compile(t.Context(), e)
			require.NoError(t, err)
			require.Equal(t, 2+c.rows, s.Rows(), "%+v", c)
			gadgettest.Assign(t, s, e)
			d, err := s.Digest(t.Context())
			require.NoError(t, err)
			digests = append(digests, d)
		}
		require.Equal(t, digests[0], digests[1], "%+v", c)
	}
}

func TestWrong(t *testing.T) {
	for i := 0; i < 10; i++ {
		e := equalities{n: 10, size: 40, terms: i&1 == 0, wrong: i}
		s, err := synth.Compile(t.Context(), e)
		require.NoError(t, err)
		a, err := synth.AssignWitness(t.Context(), e, s, synth.AssignConfig{})
		require.NoError(t, err)
		var bad *synth.UnsatisfiedError
		require.ErrorAs(t, s.Satisfied(t.Context(), a, 1), &bad)
		require.Equal(t, 2+i/6, bad.Row)
		require.NoError(t, a.Close())
	}
}
