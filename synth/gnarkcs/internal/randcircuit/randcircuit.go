// Package randcircuit makes random gnark circuits with a witness that satisfies them, for the tests of gnarkcs.
package randcircuit

import (
	"math/big"
	"math/rand/v2"
	"sync"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/witness"
	cs "github.com/consensys/gnark/constraint/bls12-381"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
)

// Circuit interprets a program of random operations over its inputs; the last values are made equal to Out.
type Circuit struct {
	X   []frontend.Variable
	P   []frontend.Variable `gnark:",public"`
	Out []frontend.Variable `gnark:",public"`

	ops     []op
	capture solver.Hint // sees the outputs in place of their comparison with Out
}

type op struct{ kind, a, b, c, n int }

const kinds = 13

// Outputs is the number of public outputs.
const Outputs = 2

// Root is a hint: the quotient of its inputs or 0.
func Root(q *big.Int, in, out []*big.Int) error {
	out[0].SetInt64(0)
	if in[1].Sign() != 0 {
		out[0].ModInverse(in[1], q)
		out[0].Mul(out[0], in[0])
		out[0].Mod(out[0], q)
	}
	out[1].Set(in[0]) // used by no row
	return nil
}

// Define implements frontend.Circuit.
func (c *Circuit) Define(api frontend.API) error {
	vals := append(append([]frontend.Variable{}, c.X...), c.P...)
	bools := []frontend.Variable{api.IsZero(vals[0])}
	val := func(i int) frontend.Variable { return vals[i%len(vals)] }
	bit := func(i int) frontend.Variable { return bools[i%len(bools)] }
	for _, o := range c.ops {
		a, b := val(o.a), val(o.b)
		switch o.kind {
		case 0:
			vals = append(vals, api.Add(a, b, o.n))
		case 1:
			vals = append(vals, api.Sub(a, api.Mul(b, o.n)))
		case 2:
			vals = append(vals, api.Mul(a, b))
		case 3:
			vals = append(vals, api.Select(bit(o.c), a, b))
		case 4:
			bools = append(bools, api.Xor(bit(o.a), bit(o.b)))
		case 5:
			bools = append(bools, api.And(bit(o.a), bit(o.b)))
		case 6:
			bools = append(bools, api.Or(bit(o.a), bit(o.b)))
		case 7:
			bools = append(bools, api.IsZero(api.Sub(a, b)))
		case 8:
			bools = append(bools, api.Select(bit(o.a), bit(o.b), bit(o.c)))
		case 9:
			vals = append(vals, api.Add(a, bit(o.c)))
		case 10: // a small number that is known to be small
			s := api.Add(bit(o.a), api.Mul(2, bit(o.b)), api.Mul(4, bit(o.c)))
			bools = append(bools, api.ToBinary(s, 3+o.n%3)...)
		case 11: // the full width, rarely
			if o.n == 0 {
				bools = append(bools, api.ToBinary(a)[:8]...)
			}
		case 12:
			out, err := api.Compiler().NewHint(Root, 2, a, api.Add(api.Mul(b, b), 7))
			if err != nil {
				return err
			}
			api.AssertIsEqual(api.Mul(out[0], api.Add(api.Mul(b, b), 7)), a)
			vals = append(vals, out[0])
		}
	}
	for i := range c.Out {
		sum := api.Add(vals[len(vals)-1-i], bools[len(bools)-1-i%len(bools)])
		if c.capture == nil {
			api.AssertIsEqual(sum, c.Out[i])
		} else if _, err := api.Compiler().NewHint(c.capture, 1, i, sum); err != nil {
			return err
		}
	}
	return nil
}

// New makes a circuit of n operations, its compiled form and a full witness that satisfies it.
func New(rng *rand.Rand, n int) (*cs.R1CS, witness.Witness, error) {
	shape := &Circuit{X: make([]frontend.Variable, 1+rng.IntN(4)), P: make([]frontend.Variable, rng.IntN(3)), Out: make([]frontend.Variable, Outputs)}
	for range n {
		shape.ops = append(shape.ops, op{rng.IntN(kinds), rng.IntN(1 << 20), rng.IntN(1 << 20), rng.IntN(1 << 20), rng.IntN(6)})
	}
	asg := &Circuit{Out: []frontend.Variable{0, 0}}
	for _, x := range []struct {
		to *[]frontend.Variable
		n  int
	}{{&asg.X, len(shape.X)}, {&asg.P, len(shape.P)}} {
		for range x.n {
			v := new(big.Int).SetUint64(rng.Uint64())
			switch rng.IntN(4) {
			case 0:
				v.SetInt64(int64(rng.IntN(2)))
			case 1:
				v.Mod(v.Exp(v, big.NewInt(5), nil), field)
			}
			*x.to = append(*x.to, v)
		}
	}
	var mu sync.Mutex
	shape.capture = func(_ *big.Int, in, out []*big.Int) error {
		mu.Lock()
		defer mu.Unlock()
		asg.Out[in[0].Int64()] = new(big.Int).Set(in[1])
		return nil
	}
	free, err := compile(shape)
	if err != nil {
		return nil, nil, err
	}
	w, err := frontend.NewWitness(asg, field)
	if err != nil {
		return nil, nil, err
	}
	if _, err := free.Solve(w, Options(), solver.WithHints(shape.capture)); err != nil {
		return nil, nil, err
	}
	shape.capture = nil
	ccs, err := compile(shape)
	if err != nil {
		return nil, nil, err
	}
	w, err = frontend.NewWitness(asg, field)
	return ccs, w, err
}

var field = ecc.BLS12_381.ScalarField()

func compile(c *Circuit) (*cs.R1CS, error) {
	ccs, err := frontend.Compile(field, r1cs.NewBuilder, c, frontend.IgnoreUnconstrainedInputs())
	if err != nil {
		return nil, err
	}
	return ccs.(*cs.R1CS), nil
}

// Options are what gnark's solver needs.
func Options() solver.Option { return solver.WithHints(Root) }
