package main

import (
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
)

// Chain is a circuit in gnark's frontend: a hash chain x -> (x + key)^5 + i of public end, whose start is a number of so many
// bits with a given number of ones, and whose inverse comes from a hint.
type Chain struct {
	Start  frontend.Variable
	Key    frontend.Variable
	End    frontend.Variable `gnark:",public"`
	Weight frontend.Variable `gnark:",public"`

	steps, bits int
}

// inverse is a hint: gnark's solver computes it, the circuit checks it.
func inverse(q *big.Int, in, out []*big.Int) error {
	out[0].ModInverse(in[0], q)
	return nil
}

// Define implements frontend.Circuit.
func (c *Chain) Define(api frontend.API) error {
	var weight frontend.Variable = 0
	for _, b := range api.ToBinary(c.Start, c.bits) {
		weight = api.Add(weight, b)
	}
	api.AssertIsEqual(weight, c.Weight)
	inv, err := api.Compiler().NewHint(inverse, 1, c.Key)
	if err != nil {
		return err
	}
	api.AssertIsEqual(api.Mul(inv[0], c.Key), 1)
	x := c.Start
	for i := range c.steps {
		t := api.Add(x, c.Key)
		t2 := api.Mul(t, t)
		x = api.Add(api.Mul(t2, t2, t), i)
	}
	api.AssertIsEqual(x, c.End)
	return nil
}

// assign computes the public values of a start and a key outside of the circuit.
func assign(start uint64, key, steps int) *Chain {
	x, k := fr.NewElement(start), fr.NewElement(uint64(key))
	for i := range steps {
		var t, t2 fr.Element
		t.Add(&x, &k)
		t2.Square(&t)
		x.Square(&t2).Mul(&x, &t)
		n := fr.NewElement(uint64(i))
		x.Add(&x, &n)
	}
	weight := 0
	for v := start; v != 0; v &= v - 1 {
		weight++
	}
	return &Chain{Start: start, Key: key, End: x.BigInt(new(big.Int)), Weight: weight}
}

// hints is what the solver needs to know.
func hints() solver.Option { return solver.WithHints(inverse) }
