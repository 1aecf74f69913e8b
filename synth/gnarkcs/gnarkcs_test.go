package gnarkcs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark/constraint"
	cs "github.com/consensys/gnark/constraint/bls12-381"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/logger"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gnarkcs"
	"github.com/filgroth/filgroth/synth/gnarkcs/internal/randcircuit"
)

func TestMain(m *testing.M) {
	logger.Disable()
	os.Exit(m.Run())
}

// firstBad evaluates gnark's own rows with nothing of ours: the first that w does not satisfy, or -1.
func firstBad(r *cs.R1CS, w []fr.Element) int {
	sum := func(e constraint.LinearExpression) (v fr.Element) {
		for _, t := range e {
			x := r.Coefficients[t.CID]
			x.Mul(&x, &w[t.VID])
			v.Add(&v, &x)
		}
		return v
	}
	for i, row := range r.GetR1Cs() {
		a, b, c := sum(row.L), sum(row.R), sum(row.O)
		if !a.Mul(&a, &b).Equal(&c) {
			return i
		}
	}
	return -1
}

// ours gives the row that our side refuses a witness for, or -1.
func ours(t *testing.T, c *gnarkcs.Circuit, w []fr.Element) int {
	a, err := c.Assign(t.Context(), w)
	if err == nil {
		defer func() { require.NoError(t, a.Close()) }()
		err = c.System().Satisfied(t.Context(), a, 1)
	}
	var u *synth.UnsatisfiedError
	if err == nil {
		return -1
	}
	require.ErrorAs(t, err, &u)
	return u.Row
}

// TestRandomCircuits: the same witnesses satisfy both, and the same row is the first that fails.
func TestRandomCircuits(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 16))
	wrong, dropped := 0, 0
	for i := range 60 {
		r, full, err := randcircuit.New(rng, 1+rng.IntN(40))
		require.NoError(t, err)
		cfg := gnarkcs.Config{Packing: gnarkcs.Packing(i % 4), KeepEvaluations: i%2 == 0}
		c, err := gnarkcs.Compile(t.Context(), r, cfg)
		require.NoError(t, err)
		require.Equal(t, r.GetNbConstraints(), c.System().Rows())
		require.Equal(t, r.GetNbPublicVariables(), c.System().Inputs())
		dropped += c.Wires() - c.System().Inputs() - c.System().Aux()
		a, err := c.Solve(t.Context(), full, randcircuit.Options())
		require.NoError(t, err)
		require.NoError(t, c.System().Satisfied(t.Context(), a, 1))
		sol, err := r.Solve(full, randcircuit.Options())
		require.NoError(t, err)
		w := sol.(*cs.R1CSSolution).W
		for v := range c.System().Aux() {
			require.Equal(t, w[c.Wire(synth.AuxVar(v))], a.Aux(v))
		}
		checkEvaluations(t, c, a)
		require.NoError(t, a.Close())
		for range 12 {
			x := append([]fr.Element(nil), w...)
			for range 1 + rng.IntN(2) {
				perturb(rng, &x[1+rng.IntN(len(x)-1)])
			}
			bad := firstBad(r, x)
			if bad >= 0 {
				wrong++
			}
			require.Equal(t, bad, ours(t, c, x), "circuit %d", i)
		}
	}
	require.Positive(t, dropped, "wires that occur in no row")
	require.Greater(t, wrong, 400, "most changes must be faults, or the test shows nothing")
}

func perturb(rng *rand.Rand, v *fr.Element) {
	switch rng.IntN(4) {
	case 0:
		one := fr.One()
		v.Sub(&one, v)
	case 1:
		v.SetUint64(rng.Uint64N(3))
	case 2:
		v.SetUint64(rng.Uint64())
	case 3:
		v.Neg(v)
	}
}

// checkEvaluations: what the solver computed is what the system evaluates to.
func checkEvaluations(t *testing.T, c *gnarkcs.Circuit, a *synth.Assignment) {
	if a.Eval == nil {
		return
	}
	n := c.System().Constraints()
	x, y, z := make([]fr.Element, n), make([]fr.Element, n), make([]fr.Element, n)
	require.NoError(t, c.System().Evaluate(t.Context(), a, x, y, z, 1))
	require.Equal(t, x, []fr.Element(a.Eval.A))
	require.Equal(t, y, []fr.Element(a.Eval.B))
	require.Equal(t, z, []fr.Element(a.Eval.C))
}

// bitCircuit has bits of every origin.
type bitCircuit struct {
	X [3]frontend.Variable
	Y frontend.Variable `gnark:",public"`
}

func (c *bitCircuit) Define(api frontend.API) error {
	for _, x := range c.X {
		api.AssertIsBoolean(x)
	}
	and := api.And(c.X[0], c.X[1])
	or := api.Or(and, c.X[2])
	xor := api.Xor(or, c.X[0])
	sel := api.Select(xor, and, c.X[2])
	product := api.Mul(sel, c.Y) // not a bit: Y is any number
	api.AssertIsEqual(api.Add(product, 5), api.Add(c.Y, 5))
	return nil
}

func compile(t testing.TB, c frontend.Circuit) *cs.R1CS {
	ccs, err := frontend.Compile(ecc.BLS12_381.ScalarField(), r1cs.NewBuilder, c)
	require.NoError(t, err)
	return ccs.(*cs.R1CS)
}

func solve(t testing.TB, c *gnarkcs.Circuit, asg frontend.Circuit) (*synth.Assignment, error) {
	w, err := frontend.NewWitness(asg, ecc.BLS12_381.ScalarField())
	require.NoError(t, err)
	return c.Solve(t.Context(), w, randcircuit.Options())
}

func TestPacking(t *testing.T) {
	r := compile(t, &bitCircuit{})
	for p, bits := range map[gnarkcs.Packing]int{gnarkcs.PackNone: 0, gnarkcs.PackBooleanity: 3, gnarkcs.PackInferred: 5, gnarkcs.PackAuto: 5} {
		c, err := gnarkcs.Compile(t.Context(), r, gnarkcs.Config{Packing: p})
		require.NoError(t, err)
		require.Equal(t, bits, c.System().Aux()-c.System().Fields(), p.String())
		a, err := solve(t, c, &bitCircuit{X: [3]frontend.Variable{1, 0, 1}, Y: 1234})
		require.NoError(t, err)
		require.NoError(t, c.System().Satisfied(t.Context(), a, 1))
		require.NoError(t, a.Close())
	}
}

// TestPackingIsForced: a wire is packed only if the rows leave it no other value, whatever the row looks like.
func TestPackingIsForced(t *testing.T) {
	type lin [2]int64 // c0 + c1·v
	for _, x := range []struct {
		l, r, o lin
		bit     bool
	}{
		{lin{0, 1}, lin{1, -1}, lin{0, 0}, true},   // v(1-v) = 0
		{lin{0, 7}, lin{-3, 3}, lin{0, 0}, true},   // 7v(3v-3) = 0
		{lin{0, 1}, lin{0, 1}, lin{0, 1}, true},    // v² = v
		{lin{0, 1}, lin{0, 1}, lin{0, 0}, true},    // v² = 0
		{lin{-1, 1}, lin{-1, 1}, lin{0, 0}, true},  // (v-1)² = 0
		{lin{0, 1}, lin{1, 0}, lin{0, 0}, true},    // v = 0
		{lin{0, 1}, lin{1, 0}, lin{1, 0}, true},    // v = 1
		{lin{0, 1}, lin{0, 1}, lin{1, 0}, false},   // v² = 1
		{lin{0, 1}, lin{2, -1}, lin{0, 0}, false},  // v(2-v) = 0
		{lin{0, 1}, lin{1, 0}, lin{2, 0}, false},   // v = 2
		{lin{0, 1}, lin{1, -1}, lin{-2, 0}, false}, // v(1-v) = -2
		{lin{0, 1}, lin{1, 0}, lin{0, 1}, false},   // v = v
		{lin{1, 1}, lin{0, 1}, lin{0, 1}, true},    // (1+v)v = v, v² = 0
	} {
		r := cs.NewR1CS(4)
		r.AddPublicVariable("1")
		v := uint32(r.AddSecretVariable("v"))
		id := r.AddBlueprint(&constraint.BlueprintGenericR1C{})
		expr := func(l lin) (e constraint.LinearExpression) {
			for i, wire := range []uint32{0, v} {
				if l[i] != 0 {
					e = append(e, constraint.Term{CID: r.AddCoeff(r.FromInterface(big.NewInt(l[i]))), VID: wire})
				}
			}
			return e
		}
		r.AddR1C(constraint.R1C{L: expr(x.l), R: expr(x.r), O: expr(x.o)}, id)
		c, err := gnarkcs.Compile(t.Context(), r, gnarkcs.Config{})
		require.NoError(t, err)
		require.Equal(t, x.bit, c.System().Fields() == 0, "%v", x)
	}
}

// TestWrongWitness: gnark's solver and ours name the row.
func TestWrongWitness(t *testing.T) {
	r := compile(t, &bitCircuit{})
	c, err := gnarkcs.Compile(t.Context(), r, gnarkcs.Config{})
	require.NoError(t, err)
	_, err = solve(t, c, &bitCircuit{X: [3]frontend.Variable{0, 2, 1}, Y: 1})
	var e *gnarkcs.SolveError
	require.ErrorAs(t, err, &e)
	require.Equal(t, 1, e.Row, err)
	_, err = solve(t, c, &bitCircuit{X: [3]frontend.Variable{0, 0, 0}, Y: 1})
	require.ErrorAs(t, err, &e)
	require.Equal(t, r.GetNbConstraints()-1, e.Row, err)

	w, err := frontend.NewWitness(&bitCircuit{X: [3]frontend.Variable{1, 0, 1}, Y: 1}, ecc.BLS12_381.ScalarField())
	require.NoError(t, err)
	sol, err := r.Solve(w)
	require.NoError(t, err)
	wires := sol.(*cs.R1CSSolution).W
	wires[3].SetUint64(9)
	_, err = c.Assign(t.Context(), wires)
	var u *synth.UnsatisfiedError
	require.ErrorAs(t, err, &u)
	require.Equal(t, firstBad(r, wires), u.Row)
	_, err = c.Assign(t.Context(), wires[1:])
	require.ErrorIs(t, err, gnarkcs.ErrWitness)
	wires[0].SetUint64(2)
	_, err = c.Assign(t.Context(), wires)
	require.ErrorIs(t, err, gnarkcs.ErrWitness)
	public, err := w.Public()
	require.NoError(t, err)
	_, err = c.Solve(t.Context(), public)
	require.ErrorAs(t, err, &e)
	require.Equal(t, -1, e.Row)
}

// TestInputRows: they are appended once, satisfied by the same witnesses, and not part of the System's own rows.
func TestInputRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	r, full, err := randcircuit.New(rng, 20)
	require.NoError(t, err)
	before, err := gnarkcs.Compile(t.Context(), r, gnarkcs.Config{})
	require.NoError(t, err)
	require.False(t, before.HasInputRows())
	rows, public := r.GetNbConstraints(), r.GetNbPublicVariables()
	for range 2 {
		require.NoError(t, gnarkcs.AppendInputRows(r))
		require.Equal(t, rows+public, r.GetNbConstraints())
	}
	c, err := gnarkcs.Compile(t.Context(), r, gnarkcs.Config{KeepEvaluations: true})
	require.NoError(t, err)
	require.True(t, c.HasInputRows())
	require.Equal(t, rows, c.System().Rows())
	x, err := before.System().Digest(t.Context())
	require.NoError(t, err)
	y, err := c.System().Digest(t.Context())
	require.NoError(t, err)
	require.Equal(t, x, y)
	a, err := c.Solve(t.Context(), full, randcircuit.Options())
	require.NoError(t, err)
	require.NoError(t, c.System().Satisfied(t.Context(), a, 1))
	checkEvaluations(t, c, a)
	require.NoError(t, a.Close())
}

// TestSerialised: a system that gnark has written and read takes the input rows, is written and read again, and solves.
func TestSerialised(t *testing.T) {
	r, full, err := randcircuit.New(rand.New(rand.NewPCG(2, 2)), 20)
	require.NoError(t, err)
	reread := func(r *cs.R1CS) *cs.R1CS {
		var b bytes.Buffer
		_, err := r.WriteTo(&b)
		require.NoError(t, err)
		out := new(cs.R1CS)
		_, err = out.ReadFrom(&b)
		require.NoError(t, err)
		return out
	}
	s := reread(r)
	require.NoError(t, gnarkcs.AppendInputRows(s))
	s = reread(s)
	c, err := gnarkcs.Compile(t.Context(), s, gnarkcs.Config{KeepEvaluations: true})
	require.NoError(t, err)
	require.True(t, c.HasInputRows())
	want, err := gnarkcs.Compile(t.Context(), r, gnarkcs.Config{})
	require.NoError(t, err)
	x, err := want.System().Digest(t.Context())
	require.NoError(t, err)
	y, err := c.System().Digest(t.Context())
	require.NoError(t, err)
	require.Equal(t, x, y)
	a, err := c.Solve(t.Context(), full, randcircuit.Options())
	require.NoError(t, err)
	require.NoError(t, c.System().Satisfied(t.Context(), a, 1))
	checkEvaluations(t, c, a)
	require.NoError(t, a.Close())
}

type committing struct {
	X frontend.Variable
	Y frontend.Variable `gnark:",public"`
}

func (c *committing) Define(api frontend.API) error {
	k, err := api.(frontend.Committer).Commit(c.X, c.Y)
	if err != nil {
		return err
	}
	api.AssertIsDifferent(k, c.X)
	return nil
}

func TestRefused(t *testing.T) {
	_, err := gnarkcs.Compile(t.Context(), compile(t, &committing{}), gnarkcs.Config{})
	require.ErrorIs(t, err, gnarkcs.ErrCommitment)
	require.ErrorIs(t, gnarkcs.AppendInputRows(compile(t, &committing{})), gnarkcs.ErrCommitment)

	plonk, err := frontend.Compile(ecc.BLS12_381.ScalarField(), scs.NewBuilder, &bitCircuit{})
	require.NoError(t, err)
	_, err = gnarkcs.Compile(t.Context(), plonk, gnarkcs.Config{})
	require.ErrorIs(t, err, gnarkcs.ErrUnsupported)
	other, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, &bitCircuit{})
	require.NoError(t, err)
	_, err = gnarkcs.Compile(t.Context(), other, gnarkcs.Config{})
	require.ErrorIs(t, err, gnarkcs.ErrUnsupported)
	_, err = gnarkcs.Compile(t.Context(), nil, gnarkcs.Config{})
	require.ErrorIs(t, err, gnarkcs.ErrUnsupported)

	r := compile(t, &bitCircuit{})
	_, err = gnarkcs.Compile(t.Context(), r, gnarkcs.Config{Packing: 9})
	require.ErrorIs(t, err, gnarkcs.ErrConfig)
	id := r.AddBlueprint(&constraint.BlueprintGenericR1C{})
	r.AddR1C(constraint.R1C{L: constraint.LinearExpression{{CID: 1, VID: 1 << 20}}}, id)
	_, err = gnarkcs.Compile(t.Context(), r, gnarkcs.Config{})
	require.ErrorIs(t, err, gnarkcs.ErrMalformed)
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := compile(t, &bitCircuit{})
	_, err := gnarkcs.Compile(ctx, r, gnarkcs.Config{})
	require.ErrorIs(t, err, context.Canceled)
	c, err := gnarkcs.Compile(t.Context(), r, gnarkcs.Config{})
	require.NoError(t, err)
	w, err := frontend.NewWitness(&bitCircuit{X: [3]frontend.Variable{1, 0, 1}, Y: 1}, ecc.BLS12_381.ScalarField())
	require.NoError(t, err)
	_, err = c.Solve(ctx, w)
	require.True(t, errors.Is(err, context.Canceled))
}

func ExampleCompile() {
	ccs, err := frontend.Compile(ecc.BLS12_381.ScalarField(), r1cs.NewBuilder, &bitCircuit{})
	if err != nil {
		panic(err)
	}
	c, err := gnarkcs.Compile(context.Background(), ccs, gnarkcs.Config{})
	if err != nil {
		panic(err)
	}
	fmt.Println(c.System())
	// Output: 11 constraints, 2 inputs, 8 aux (5 bits), 1 templates, 1 instances
}
