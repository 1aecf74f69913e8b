package keys_test

import (
	"bytes"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	gnark "github.com/consensys/gnark/backend/groth16/bls12-381"
	"github.com/consensys/gnark/backend/witness"
	cs "github.com/consensys/gnark/constraint/bls12-381"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/logger"
	"github.com/stretchr/testify/require"

	"github.com/consensys/gnark/backend"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gnarkcs"
	"github.com/filgroth/filgroth/synth/gnarkcs/internal/randcircuit"
	"github.com/filgroth/filgroth/synth/gnarkcs/keys"
)

func TestMain(m *testing.M) {
	logger.Disable()
	os.Exit(m.Run())
}

func engines(t testing.TB) (msm.Engine, ntt.Engine) {
	m, err := msm.NewCPU(msm.Config{})
	require.NoError(t, err)
	n, err := ntt.NewCPU(ntt.Config{})
	require.NoError(t, err)
	return m, n
}

// fixture is one random circuit in both worlds.
type fixture struct {
	r    *cs.R1CS
	full witness.Witness
	pub  fr.Vector
	c    *gnarkcs.Circuit
	a    *synth.Assignment
}

func newFixture(t *testing.T, seed uint64, ops int, rows bool) *fixture {
	rng := rand.New(rand.NewPCG(seed, 3))
	f := new(fixture)
	var err error
	f.r, f.full, err = randcircuit.New(rng, ops)
	require.NoError(t, err)
	if rows {
		require.NoError(t, gnarkcs.AppendInputRows(f.r))
	}
	f.c, err = gnarkcs.Compile(t.Context(), f.r, gnarkcs.Config{KeepEvaluations: seed%2 == 0})
	require.NoError(t, err)
	f.a, err = f.c.Solve(t.Context(), f.full, randcircuit.Options())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.a.Close()) })
	p, err := f.full.Public()
	require.NoError(t, err)
	f.pub = p.Vector().(fr.Vector)
	require.Equal(t, f.a.Public(), []fr.Element(f.pub))
	return f
}

func (f *fixture) gnarkSetup(t *testing.T) (*gnark.ProvingKey, *gnark.VerifyingKey) {
	pk, vk := new(gnark.ProvingKey), new(gnark.VerifyingKey)
	require.NoError(t, gnark.Setup(f.r, pk, vk))
	return pk, vk
}

func (f *fixture) gnarkProve(t *testing.T, pk *gnark.ProvingKey) *gnark.Proof {
	p, err := gnark.Prove(f.r, pk, f.full, backend.WithSolverOptions(randcircuit.Options()))
	require.NoError(t, err)
	return p
}

func (f *fixture) prove(t *testing.T, k *groth16.ProvingKey) *groth16.Proof {
	m, n := engines(t)
	p, err := groth16.NewProver(t.Context(), groth16.Compose(m, n), f.c.System(), k, groth16.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	proof, rep, err := p.Prove(t.Context(), f.a)
	require.NoError(t, err)
	require.True(t, rep.Verified)
	return proof
}

// both verifies a proof with both verifiers, and that both refuse other inputs.
func (f *fixture) both(t *testing.T, vk *groth16.VerifyingKey, gvk *gnark.VerifyingKey, p *groth16.Proof) {
	ok, err := groth16.Verify(vk, f.pub, p)
	require.NoError(t, err)
	require.True(t, ok)
	require.NoError(t, gnark.Verify(keys.ExportProof(p), gvk, f.pub))
	other := append(fr.Vector(nil), f.pub...)
	one := fr.One()
	other[len(other)-1].Add(&other[len(other)-1], &one)
	ok, err = groth16.Verify(vk, other, p)
	require.NoError(t, err)
	require.False(t, ok)
	require.Error(t, gnark.Verify(keys.ExportProof(p), gvk, other))
}

// TestOurKey: a key of ours serves gnark's prover, and the proofs of either verify with either.
func TestOurKey(t *testing.T) {
	for seed := range uint64(4) {
		f := newFixture(t, seed, 30, true)
		k, err := groth16.Setup(t.Context(), f.c.System(), groth16.SetupOptions{})
		require.NoError(t, err)
		gvk, err := keys.ExportVerifyingKey(k.VerifyingKey())
		require.NoError(t, err)
		gpk, err := keys.ExportProvingKey(t.Context(), f.c, k)
		require.NoError(t, err)
		f.both(t, k.VerifyingKey(), gvk, f.prove(t, k))
		p, err := keys.ImportProof(f.gnarkProve(t, gpk))
		require.NoError(t, err)
		f.both(t, k.VerifyingKey(), gvk, p)

		back, err := keys.ImportProvingKey(t.Context(), f.c, gpk, gvk)
		require.NoError(t, err)
		var x, y bytes.Buffer
		_, err = k.WriteTo(&x)
		require.NoError(t, err)
		_, err = back.WriteTo(&y)
		require.NoError(t, err)
		require.Equal(t, x.Bytes(), y.Bytes(), "there and back is the same file")
		require.NoError(t, k.Close())
		require.NoError(t, back.Close())
	}
}

// TestGnarkKey: a key of gnark's, written and read by gnark, serves our provers.
func TestGnarkKey(t *testing.T) {
	for seed := range uint64(4) {
		f := newFixture(t, 10+seed, 25, true)
		pk0, vk0 := f.gnarkSetup(t)
		pk, vk := new(gnark.ProvingKey), new(gnark.VerifyingKey)
		var b bytes.Buffer
		_, err := pk0.WriteTo(&b)
		require.NoError(t, err)
		_, err = pk.ReadFrom(&b)
		require.NoError(t, err)
		_, err = vk0.WriteTo(&b)
		require.NoError(t, err)
		_, err = vk.ReadFrom(&b)
		require.NoError(t, err)
		k, err := keys.ImportProvingKey(t.Context(), f.c, pk, vk)
		require.NoError(t, err)
		f.both(t, k.VerifyingKey(), vk, f.prove(t, k))
		p, err := keys.ImportProof(f.gnarkProve(t, pk))
		require.NoError(t, err)
		f.both(t, k.VerifyingKey(), vk, p)

		back, err := keys.ExportProvingKey(t.Context(), f.c, k)
		require.NoError(t, err)
		require.Equal(t, pk0.G1, back.G1)
		require.Equal(t, pk0.G2, back.G2)
		require.Equal(t, pk0.InfinityA, back.InfinityA)
		require.Equal(t, pk0.InfinityB, back.InfinityB)
		require.Equal(t, [2]uint64{pk0.NbInfinityA, pk0.NbInfinityB}, [2]uint64{back.NbInfinityA, back.NbInfinityB})
		require.NoError(t, k.Close())
	}
}

// used has every public input in some row, so that its verifying key has no point at infinity.
func usedInputs(vk *gnark.VerifyingKey) bool {
	for i := range vk.G1.K {
		if vk.G1.K[i].IsInfinity() {
			return false
		}
	}
	return true
}

// TestPlain: the key of a gnark system without input rows is refused by the conversion and served by the plain prover.
func TestPlain(t *testing.T) {
	m, n := engines(t)
	served := 0
	for seed := range uint64(8) {
		f := newFixture(t, 20+seed, 25, seed == 0)
		pk, vk := f.gnarkSetup(t)
		if !usedInputs(vk) {
			_, err := keys.ImportVerifyingKey(vk)
			var ke *keys.KeyError
			require.ErrorAs(t, err, &ke)
			require.Equal(t, "G1.K", ke.Field)
			require.True(t, vk.G1.K[ke.Index].IsInfinity())
			continue
		}
		served++
		if seed != 0 {
			_, err := keys.ImportProvingKey(t.Context(), f.c, pk, vk)
			require.ErrorIs(t, err, keys.ErrInputRows)
			k, err := groth16.Setup(t.Context(), f.c.System(), groth16.SetupOptions{})
			require.NoError(t, err)
			_, err = keys.ExportProvingKey(t.Context(), f.c, k)
			require.ErrorIs(t, err, keys.ErrInputRows)
			gvk, err := keys.ExportVerifyingKey(k.VerifyingKey()) // verifying keys go all the same
			require.NoError(t, err)
			f.both(t, k.VerifyingKey(), gvk, f.prove(t, k))
			require.NoError(t, k.Close())
		}
		p, err := keys.NewPlainProver(f.c, pk, vk, m, n, keys.PlainConfig{})
		require.NoError(t, err)
		proof, err := p.Prove(t.Context(), f.a)
		require.NoError(t, err)
		f.both(t, p.VerifyingKey(), vk, proof)

		f.a.Inputs[1].SetUint64(77)
		f.a.Eval = nil
		_, err = p.Prove(t.Context(), f.a)
		require.ErrorIs(t, err, groth16.ErrSelfCheck)
		var u *synth.UnsatisfiedError
		if e := f.c.System().Satisfied(t.Context(), f.a, 1); e != nil {
			require.ErrorAs(t, err, &u)
		}
	}
	require.Greater(t, served, 2)
}

// TestBadKeys: keys that do not fit say where.
func TestBadKeys(t *testing.T) {
	f := newFixture(t, 31, 25, true)
	other := newFixture(t, 32, 31, true)
	pk, vk := f.gnarkSetup(t)
	opk, ovk := other.gnarkSetup(t)
	_, _, g1, g2 := bls12381.Generators()
	m, n := engines(t)
	check := func(field string, change func(pk *gnark.ProvingKey, vk *gnark.VerifyingKey)) {
		t.Helper()
		p, v := *pk, *vk
		p.G1.A, p.G1.B, p.G1.K, p.G1.Z = append([]bls12381.G1Affine{}, pk.G1.A...), append([]bls12381.G1Affine{}, pk.G1.B...), append([]bls12381.G1Affine{}, pk.G1.K...), append([]bls12381.G1Affine{}, pk.G1.Z...)
		p.InfinityA, p.InfinityB = append([]bool{}, pk.InfinityA...), append([]bool{}, pk.InfinityB...)
		v.G1.K = append([]bls12381.G1Affine{}, vk.G1.K...)
		change(&p, &v)
		var ke *keys.KeyError
		_, err := keys.ImportProvingKey(t.Context(), f.c, &p, &v)
		require.ErrorAs(t, err, &ke)
		require.Equal(t, field, ke.Field, err)
		require.ErrorIs(t, err, keys.ErrKey)
		_, err = keys.NewPlainProver(f.c, &p, &v, m, n, keys.PlainConfig{})
		require.ErrorIs(t, err, keys.ErrKey)
	}
	outside := bls12381.G1Affine{}
	for x := uint64(1); ; x++ { // a point of the curve that is not in the subgroup
		b := outside.X.SetUint64(x)
		var rhs = *b
		rhs.Square(b).Mul(&rhs, b)
		four := rhs
		four.SetUint64(4)
		rhs.Add(&rhs, &four)
		if outside.Y.Sqrt(&rhs) != nil && outside.IsOnCurve() && !outside.IsInSubGroup() {
			break
		}
	}
	check("G1.K", func(_ *gnark.ProvingKey, v *gnark.VerifyingKey) { v.G1.K[1] = outside })
	check("G1.K", func(_ *gnark.ProvingKey, v *gnark.VerifyingKey) { v.G1.K[1] = bls12381.G1Affine{} })
	check("G1.K", func(_ *gnark.ProvingKey, v *gnark.VerifyingKey) { v.G1.K = v.G1.K[:1] })
	check("G1.K", func(p *gnark.ProvingKey, _ *gnark.VerifyingKey) { p.G1.K[0] = bls12381.G1Affine{} })
	check("G1.K", func(p *gnark.ProvingKey, _ *gnark.VerifyingKey) { p.G1.K = p.G1.K[1:] })
	check("G1.Beta", func(p *gnark.ProvingKey, v *gnark.VerifyingKey) { p.G1.Beta, v.G1.Beta = g1, g1 })
	check("G1.Delta", func(p *gnark.ProvingKey, v *gnark.VerifyingKey) { v.G1.Delta = bls12381.G1Affine{} })
	check("G2.Gamma", func(_ *gnark.ProvingKey, v *gnark.VerifyingKey) { v.G2.Gamma = bls12381.G2Affine{} })
	check("ProvingKey", func(p *gnark.ProvingKey, _ *gnark.VerifyingKey) { p.G2.Delta = g2 })
	check("G1.Z", func(p *gnark.ProvingKey, _ *gnark.VerifyingKey) { p.G1.Z = p.G1.Z[1:] })
	check("Domain", func(p *gnark.ProvingKey, _ *gnark.VerifyingKey) { p.Domain.Cardinality *= 2 })
	check("Domain", func(p *gnark.ProvingKey, _ *gnark.VerifyingKey) { p.Domain.Generator.SetUint64(5) })
	check("InfinityA", func(p *gnark.ProvingKey, _ *gnark.VerifyingKey) { p.InfinityA = p.InfinityA[1:] })
	check("InfinityA", func(p *gnark.ProvingKey, _ *gnark.VerifyingKey) { p.G1.A = p.G1.A[1:] })
	check("InfinityB", func(p *gnark.ProvingKey, _ *gnark.VerifyingKey) {
		i := len(p.InfinityB) - 1
		p.InfinityB[i] = !p.InfinityB[i]
	})
	check("G2.B", func(p *gnark.ProvingKey, _ *gnark.VerifyingKey) { p.G2.B = p.G2.B[1:] })

	_, err := keys.ImportProvingKey(t.Context(), f.c, opk, ovk)
	require.ErrorIs(t, err, keys.ErrKey)
	_, err = keys.ImportProvingKey(t.Context(), f.c, pk, ovk)
	require.ErrorIs(t, err, keys.ErrKey)
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

func TestCommitmentsRefused(t *testing.T) {
	ccs, err := frontend.Compile(ecc.BLS12_381.ScalarField(), r1cs.NewBuilder, &committing{})
	require.NoError(t, err)
	pk, vk := new(gnark.ProvingKey), new(gnark.VerifyingKey)
	require.NoError(t, gnark.Setup(ccs.(*cs.R1CS), pk, vk))
	_, err = keys.ImportVerifyingKey(vk)
	require.ErrorIs(t, err, gnarkcs.ErrCommitment)
	w, err := frontend.NewWitness(&committing{X: 1, Y: 2}, ecc.BLS12_381.ScalarField())
	require.NoError(t, err)
	p, err := gnark.Prove(ccs.(*cs.R1CS), pk, w)
	require.NoError(t, err)
	_, err = keys.ImportProof(p)
	require.ErrorIs(t, err, gnarkcs.ErrCommitment)
	f := newFixture(t, 33, 10, true)
	_, err = keys.ImportProvingKey(t.Context(), f.c, pk, vk)
	require.ErrorIs(t, err, gnarkcs.ErrCommitment)
	_, err = keys.ImportProof(new(gnark.Proof))
	require.ErrorIs(t, err, keys.ErrProof)
	_, err = keys.ExportVerifyingKey(new(groth16.VerifyingKey))
	require.ErrorIs(t, err, groth16.ErrKey)
}

// TestSameDomain: both sides number the rows by the same roots of unity, for every size.
func TestSameDomain(t *testing.T) {
	for log := range 20 {
		d, err := ntt.NewDomain(1 << log)
		require.NoError(t, err)
		root := d.Root()
		var x fr.Element
		x.Exp(root, big.NewInt(1<<log))
		require.True(t, x.IsOne())
		f := fft.NewDomain(1 << log).Generator
		require.True(t, f.Equal(&root))
	}
}
