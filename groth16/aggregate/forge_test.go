package aggregate

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/big"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/groth16"
)

// forger makes valid proofs of arbitrary statements from the trapdoor of a key that has no circuit.
type forger struct {
	vk                        *groth16.VerifyingKey
	alpha, beta, gamma, delta fr.Element
	ic                        []fr.Element
	counter                   uint64
}

// next is a reproducible scalar.
func (f *forger) next() fr.Element {
	f.counter++
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], f.counter)
	return newTranscript("forger").bytes(b[:]).challenge()
}

func g1(k fr.Element) (p bls12381.G1Affine) {
	p.ScalarMultiplicationBase(k.BigInt(new(big.Int)))
	return p
}

func g2(k fr.Element) (p bls12381.G2Affine) {
	p.ScalarMultiplicationBase(k.BigInt(new(big.Int)))
	return p
}

func newForger(inputs int) *forger { return newForgerFrom(0, inputs) }

func newForgerFrom(counter uint64, inputs int) *forger {
	f := &forger{counter: counter}
	f.alpha, f.beta, f.gamma, f.delta = f.next(), f.next(), f.next(), f.next()
	f.vk = &groth16.VerifyingKey{
		AlphaG1: g1(f.alpha), BetaG1: g1(f.beta), BetaG2: g2(f.beta),
		GammaG2: g2(f.gamma), DeltaG1: g1(f.delta), DeltaG2: g2(f.delta),
	}
	for range inputs + 1 {
		f.ic = append(f.ic, f.next())
		f.vk.IC = append(f.vk.IC, g1(f.ic[len(f.ic)-1]))
	}
	return f
}

// statement makes public inputs and a proof: A = a·G, B = b·H, C = (ab - αβ - γ·Σ x_i ic_i)/δ · G.
func (f *forger) statement() (*groth16.Proof, []fr.Element) {
	a, b := f.next(), f.next()
	sum := f.ic[0]
	var t fr.Element
	var public []fr.Element
	for i := range f.ic[1:] {
		public = append(public, f.next())
		sum.Add(&sum, t.Mul(&public[i], &f.ic[i+1]))
	}
	var c fr.Element
	c.Mul(&a, &b)
	c.Sub(&c, t.Mul(&f.alpha, &f.beta))
	c.Sub(&c, t.Mul(&f.gamma, &sum))
	c.Div(&c, &f.delta)
	return &groth16.Proof{A: g1(a), B: g2(b), C: g1(c)}, public
}

func (f *forger) statements(n int) (proofs []*groth16.Proof, inputs [][]fr.Element) {
	for range n {
		p, x := f.statement()
		proofs, inputs = append(proofs, p), append(inputs, x)
	}
	return proofs, inputs
}

func testSRS(t testing.TB, n int) (*ProverSRS, *VerifierSRS) {
	t.Helper()
	f := forger{counter: 1 << 40}
	s, err := SetupInsecure(2*n, f.next(), f.next())
	require.NoError(t, err)
	p, v, err := s.Specialize(n)
	require.NoError(t, err)
	return p, v
}

// TestForger holds the forger to the ordinary verifier.
func TestForger(t *testing.T) {
	f := newForger(3)
	p, x := f.statement()
	ok, err := groth16.Verify(f.vk, x, p)
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = groth16.Verify(f.vk, []fr.Element{x[1], x[0], x[2]}, p)
	require.NoError(t, err)
	require.False(t, ok)
}

func TestRoundTrip(t *testing.T) {
	ctx := context.Background()
	f := newForger(3)
	for _, n := range []int{1, 2, 3, 5, 8, 64} {
		proofs, inputs := f.statements(n)
		padded, err := PadProofs(proofs)
		require.NoError(t, err)
		all, err := PadInputs(inputs)
		require.NoError(t, err)
		require.Len(t, padded, PaddedCount(n))
		prover, verifier := testSRS(t, len(padded))
		require.Equal(t, len(padded), prover.Count())
		for _, version := range []Version{V1, V2} {
			out, err := Prove(ctx, prover, padded, []byte("data"), version)
			require.NoError(t, err)
			again, err := Prove(ctx, prover, padded, []byte("data"), version)
			require.NoError(t, err)
			require.True(t, bytes.Equal(out, again), "it is a function of its arguments")
			ok, err := Verify(ctx, verifier, f.vk, all, out, []byte("data"), version)
			require.NoError(t, err)
			require.True(t, ok, "n = %d, %s", n, version)
		}
	}
}

// TestNoPublicInputs: a key with the constant input only.
func TestNoPublicInputs(t *testing.T) {
	f := newForger(0)
	proofs, inputs := f.statements(4)
	prover, verifier := testSRS(t, 4)
	out, err := Prove(context.Background(), prover, proofs, nil, V2)
	require.NoError(t, err)
	ok, err := Verify(context.Background(), verifier, f.vk, inputs, out, nil, V2)
	require.NoError(t, err)
	require.True(t, ok)
}

// TestFalseStatements: whatever is changed on one side only, the answer is false and no error.
func TestFalseStatements(t *testing.T) {
	ctx := context.Background()
	f := newForger(2)
	proofs, inputs := f.statements(8)
	prover, verifier := testSRS(t, 8)
	data := []byte("data")
	verify := func(proofs []*groth16.Proof, inputs [][]fr.Element, vk *groth16.VerifyingKey, v *VerifierSRS) bool {
		t.Helper()
		out, err := Prove(ctx, prover, proofs, data, V2)
		require.NoError(t, err)
		ok, err := Verify(ctx, v, vk, inputs, out, data, V2)
		require.NoError(t, err)
		return ok
	}
	require.True(t, verify(proofs, inputs, f.vk, verifier))

	swapped := append([]*groth16.Proof{}, proofs...)
	swapped[2], swapped[5] = swapped[5], swapped[2]
	require.False(t, verify(swapped, inputs, f.vk, verifier), "proofs swapped")

	for j := range inputs {
		for i := range inputs[j] {
			changed := append([][]fr.Element{}, inputs...)
			changed[j] = append([]fr.Element{}, inputs[j]...)
			changed[j][i].Double(&changed[j][i])
			require.False(t, verify(proofs, changed, f.vk, verifier), "input %d of %d", i, j)
		}
	}
	exchanged := append([][]fr.Element{}, inputs...)
	exchanged[0], exchanged[7] = exchanged[7], exchanged[0]
	require.False(t, verify(proofs, exchanged, f.vk, verifier), "inputs exchanged")

	for j := range proofs {
		for _, alter := range []func(p *groth16.Proof){
			func(p *groth16.Proof) { p.A.Double(&p.A) },
			func(p *groth16.Proof) { p.B.Double(&p.B) },
			func(p *groth16.Proof) { p.C.Double(&p.C) },
		} {
			bad := append([]*groth16.Proof{}, proofs...)
			q := *proofs[j]
			alter(&q)
			bad[j] = &q
			require.False(t, verify(bad, inputs, f.vk, verifier), "proof %d", j)
		}
	}
	require.False(t, verify(proofs, inputs, newForgerFrom(99, 2).vk, verifier), "another key")
	s, err := SetupInsecure(16, f.next(), f.next())
	require.NoError(t, err)
	require.False(t, verify(proofs, inputs, f.vk, s.Verifier()), "another SRS")

	// (A, B, C) and (-A, -B, C) are both proofs: Groth16 is malleable, so its aggregate is.
	neg := append([]*groth16.Proof{}, proofs...)
	q := *proofs[3]
	q.A.Neg(&q.A)
	q.B.Neg(&q.B)
	neg[3] = &q
	require.True(t, verify(neg, inputs, f.vk, verifier))
}
