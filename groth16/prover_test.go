package groth16_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/groth16test"
	"github.com/filgroth/filgroth/groth16/internal/l1"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
)

func cpuBackend(t testing.TB) groth16.Backend {
	m, err := msm.NewCPU(msm.Config{})
	require.NoError(t, err)
	n, err := ntt.NewCPU(ntt.Config{})
	require.NoError(t, err)
	return groth16.Compose(m, n)
}

// settled checks that a test leaves neither goroutines nor buffers behind.
func settled(t testing.TB) {
	bytes, gs := pinning.LiveBytes(), runtime.NumGoroutine()
	t.Cleanup(func() {
		require.Equal(t, bytes, pinning.LiveBytes(), "%v", pinning.Live())
		for i := 0; i < 200 && runtime.NumGoroutine() > gs; i++ {
			time.Sleep(5 * time.Millisecond)
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), gs)
	})
}

type fixture struct {
	c   *l1.Case
	sys *synth.System
	asg *synth.Assignment
	key *groth16.ProvingKey
}

func load(t testing.TB, name string, bits bool) *fixture {
	ctx := context.Background()
	f := &fixture{}
	var err error
	f.c, err = l1.Load(name)
	require.NoError(t, err)
	circuit := l1.Replay{Dump: f.c.Dump, Bits: bits}
	f.sys, err = synth.Compile(ctx, circuit)
	require.NoError(t, err)
	f.asg, err = synth.AssignWitness(ctx, circuit, f.sys, synth.AssignConfig{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.asg.Close()) })
	if name == "sha256_64" { // its parameter file is not recorded
		tox := f.c.Toxic
		f.key, err = groth16.Setup(ctx, f.sys, groth16.SetupOptions{Trapdoor: &groth16.Trapdoor{Alpha: tox.Alpha.Element,
			Beta: tox.Beta.Element, Gamma: tox.Gamma.Element, Delta: tox.Delta.Element, Tau: tox.Tau.Element}})
	} else {
		var b []byte
		b, err = l1.File(name + ".params")
		require.NoError(t, err)
		f.key, err = groth16.ParseProvingKey(b)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.key.Close()) })
	return f
}

func (f *fixture) prover(t testing.TB, cfg groth16.Config) groth16.Prover {
	p, err := groth16.NewProver(context.Background(), cpuBackend(t), f.sys, f.key, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// Proofs for the recorded r and s are the recorded bytes, whatever the options.
func TestProofBytesEqualReference(t *testing.T) {
	configs := map[string]groth16.Config{
		"default":  {},
		"streamed": {Key: groth16.KeyConfig{Residence: groth16.ResidenceStreamed, ChunkPoints: 64}},
		"parallel": {B2: groth16.B2Config{Place: groth16.PlaceParallel, Threads: 1}, Threads: 2, CheckSatisfied: true},
		"windows":  {Windows: groth16.Windows{H: 7, L: 3, A: 4, B1: 5, B2: 6}, Key: groth16.KeyConfig{CacheDir: t.TempDir()}},
	}
	for _, name := range l1.Names() {
		for _, bits := range []bool{false, true} {
			for label, cfg := range configs {
				if name == "sha256_64" && (!bits || label == "streamed") {
					continue // long
				}
				t.Run(name+"/"+label, func(t *testing.T) {
					settled(t)
					f := load(t, name, bits)
					p := f.prover(t, cfg)
					for _, want := range f.c.Proofs {
						ctx := groth16test.FixedRS(t, context.Background(), [2]fr.Element{want.R.Element, want.S.Element})
						proof, rep, err := p.Prove(ctx, f.asg)
						require.NoError(t, err)
						b := proof.Bytes()
						require.Equal(t, hex.EncodeToString(want.Bytes()), hex.EncodeToString(b[:]), want.Label)
						require.True(t, rep.Verified)
						require.NotZero(t, rep.Wall)
						require.NotEmpty(t, rep.String())
					}
				})
			}
		}
	}
}

func TestReportHasTheFixedPhases(t *testing.T) {
	f := load(t, "mimc", true)
	_, rep, err := f.prover(t, groth16.Config{}).Prove(context.Background(), f.asg)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, s := range rep.Spans {
		seen[s.Name] = true
		require.False(t, s.Open, s.Name)
	}
	for _, name := range []string{"synth.eval", "prep", "ntt.quotient", "msm.h", "msm.l", "msm.a", "msm.b1", "msm.b2", "assemble", "verify"} {
		require.True(t, seen[name], name)
	}
}

// The quotient's coefficients are the recorded ones, from evaluation of the rows on.
func TestQuotientEqualsReference(t *testing.T) {
	ctx := context.Background()
	eng, err := ntt.NewCPU(ntt.Config{})
	require.NoError(t, err)
	for _, name := range l1.Names() {
		f := load(t, name, true)
		m := f.sys.DomainSize()
		d, err := ntt.NewDomain(uint64(m))
		require.NoError(t, err)
		a, b, c := make([]fr.Element, m), make([]fr.Element, m), make([]fr.Element, m)
		require.NoError(t, f.sys.Evaluate(ctx, f.asg, a, b, c, 0))
		if f.c.EvalA != nil {
			n := f.sys.Constraints()
			require.Equal(t, l1.Elements(f.c.EvalA), a[:n])
			require.Equal(t, l1.Elements(f.c.EvalB), b[:n])
			require.Equal(t, l1.Elements(f.c.EvalC), c[:n])
		}
		require.NoError(t, eng.Quotient(ctx, d, a, b, c))
		if f.c.H != nil {
			require.Equal(t, l1.Elements(f.c.H), a[:m-1])
		}
		h := sha256.New()
		for i := range a[:m-1] {
			v := a[i].Bytes()
			slices.Reverse(v[:])
			h.Write(v[:])
		}
		require.Equal(t, f.c.HSHA, hex.EncodeToString(h.Sum(nil)), name)
	}
}

// Ten proofs in one batch, with the recorded blinding, in groups of any size.
func TestBatchEqualsReference(t *testing.T) {
	settled(t)
	ctx := context.Background()
	f := load(t, "mimc", false)
	batch, err := l1.LoadBatch()
	require.NoError(t, err)
	require.Len(t, batch.Proofs, 10)
	constants := l1.Elements(f.c.Extra.Constants)
	sys, err := synth.Compile(ctx, l1.MiMC{Constants: constants})
	require.NoError(t, err)
	want, err := f.sys.Digest(ctx)
	require.NoError(t, err)
	got, err := sys.Digest(ctx)
	require.NoError(t, err)
	require.Equal(t, want, got)
	var as []*synth.Assignment
	var rs [][2]fr.Element
	for _, p := range batch.Proofs {
		a, err := synth.AssignWitness(ctx, l1.MiMC{XL: p.XL.Element, XR: p.XR.Element, Constants: constants}, sys, synth.AssignConfig{})
		require.NoError(t, err)
		defer a.Close()
		as = append(as, a)
		rs = append(rs, [2]fr.Element{p.R.Element, p.S.Element})
	}
	for _, cfg := range []groth16.Config{{}, {CircuitsPerCall: 4}, {CircuitsPerCall: 10, Key: groth16.KeyConfig{Residence: groth16.ResidenceStreamed}}} {
		p, err := groth16.NewProver(ctx, cpuBackend(t), sys, f.key, cfg)
		require.NoError(t, err)
		out, err := p.ProveBatch(groth16test.FixedRS(t, ctx, rs...), as)
		require.NoError(t, err)
		var all []byte
		var public [][]fr.Element
		for i, r := range out {
			require.NoError(t, r.Err)
			b := r.Proof.Bytes()
			require.Equal(t, batch.Proofs[i].Bytes(), b[:])
			require.Equal(t, batch.Proofs[i].Image.Element, as[i].Public()[0])
			all = append(all, b[:]...)
			public = append(public, as[i].Public())
		}
		ok, err := groth16.VerifyMany(f.key.VerifyingKey(), public, all)
		require.NoError(t, err)
		require.True(t, ok)
		public[3], public[4] = public[4], public[3]
		ok, err = groth16.VerifyMany(f.key.VerifyingKey(), public, all)
		require.NoError(t, err)
		require.False(t, ok)
		require.NoError(t, p.Close())
	}
	// The other three of the file: same circuit and inputs, other blinding.
	p, err := groth16.NewProver(ctx, cpuBackend(t), sys, f.key, groth16.Config{})
	require.NoError(t, err)
	defer p.Close()
	for i, r := range batch.Random.Proofs {
		proof, _, err := p.Prove(groth16test.FixedRS(t, ctx, [2]fr.Element{r.R.Element, r.S.Element}), as[i])
		require.NoError(t, err)
		b := proof.Bytes()
		require.Equal(t, r.Bytes(), b[:])
	}
}

func TestProofsAreRandomised(t *testing.T) {
	f := load(t, "cubic", false)
	p := f.prover(t, groth16.Config{})
	a, _, err := p.Prove(context.Background(), f.asg)
	require.NoError(t, err)
	b, _, err := p.Prove(context.Background(), f.asg)
	require.NoError(t, err)
	x, y := a.Bytes(), b.Bytes()
	require.False(t, bytes.Equal(x[:], y[:]))
}

func TestConcurrentProofsAndClose(t *testing.T) {
	settled(t)
	f := load(t, "mimc", true)
	p, err := groth16.NewProver(context.Background(), cpuBackend(t), f.sys, f.key, groth16.Config{B2: groth16.B2Config{Place: groth16.PlaceParallel}})
	require.NoError(t, err)
	q, err := groth16.NewProver(context.Background(), cpuBackend(t), f.sys, f.key, groth16.Config{})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 4 {
				x := p
				if i%2 == 1 {
					x = q
				}
				proof, _, err := x.Prove(context.Background(), f.asg)
				if err != nil {
					require.ErrorIs(t, err, groth16.ErrClosed)
					return
				}
				ok, err := groth16.Verify(f.key.VerifyingKey(), f.asg.Public(), proof)
				require.NoError(t, err)
				require.True(t, ok)
			}
		}()
	}
	time.Sleep(30 * time.Millisecond)
	require.NoError(t, p.Close())
	wg.Wait()
	require.NoError(t, q.Close())
	for _, x := range []groth16.Prover{p, q} {
		_, _, err = x.Prove(context.Background(), f.asg)
		require.ErrorIs(t, err, groth16.ErrClosed)
		require.ErrorIs(t, x.Close(), groth16.ErrClosed)
	}
}

// A key closed while a prover holds it stays until the prover is closed; a prover of a closed key is refused.
func TestKeyLifetime(t *testing.T) {
	settled(t)
	ctx := context.Background()
	f := load(t, "mimc", true)
	key, err := groth16.Setup(ctx, f.sys, groth16.SetupOptions{Trapdoor: groth16.DevTrapdoor("lifetime")})
	require.NoError(t, err)
	p, err := groth16.NewProver(ctx, cpuBackend(t), f.sys, key, groth16.Config{Key: groth16.KeyConfig{Residence: groth16.ResidenceStreamed}})
	require.NoError(t, err)
	require.NoError(t, key.Close())
	_, _, err = p.Prove(ctx, f.asg)
	require.NoError(t, err)
	require.NoError(t, p.Close())
	_, err = groth16.NewProver(ctx, cpuBackend(t), f.sys, key, groth16.Config{})
	require.ErrorIs(t, err, groth16.ErrClosed)
}

func TestUnsatisfied(t *testing.T) {
	settled(t)
	ctx := context.Background()
	f := load(t, "mimc", false)
	bad, err := synth.AssignWitness(ctx, l1.Replay{Dump: f.c.Dump}, f.sys, synth.AssignConfig{})
	require.NoError(t, err)
	defer bad.Close()
	one := fr.One()
	bad.Fields[7].Add(&bad.Fields[7], &one)
	for _, cfg := range []groth16.Config{{}, {CheckSatisfied: true}} {
		p := f.prover(t, cfg)
		proof, _, err := p.Prove(ctx, bad)
		require.Nil(t, proof)
		var u *synth.UnsatisfiedError
		require.ErrorAs(t, err, &u)
		require.Equal(t, !cfg.CheckSatisfied, isSelfCheck(err))
		// One bad circuit does not cost the others their proofs.
		out, err := p.ProveBatch(ctx, []*synth.Assignment{f.asg, bad, nil, f.asg})
		require.NoError(t, err)
		require.NoError(t, out[0].Err)
		require.ErrorAs(t, out[1].Err, &u)
		require.ErrorIs(t, out[2].Err, synth.ErrShape)
		require.NoError(t, out[3].Err)
		require.NotNil(t, out[3].Proof)
	}
}

func isSelfCheck(err error) bool {
	var e *groth16.SelfCheckError
	return errors.As(err, &e)
}

// A key whose vk was exchanged, or of another system of the same dimensions, gives no proof.
func TestWrongKeyFailsTheSelfCheck(t *testing.T) {
	ctx := context.Background()
	f := load(t, "mimc", false)
	constants := l1.Elements(f.c.Extra.Constants)
	constants[5].Double(&constants[5])
	other, err := synth.Compile(ctx, l1.MiMC{Constants: constants})
	require.NoError(t, err)
	a, err := synth.AssignWitness(ctx, l1.MiMC{Constants: constants}, other, synth.AssignConfig{})
	require.NoError(t, err)
	defer a.Close()
	p, err := groth16.NewProver(ctx, cpuBackend(t), other, f.key, groth16.Config{})
	require.NoError(t, err) // the dimensions are equal
	defer p.Close()
	_, _, err = p.Prove(ctx, a)
	require.ErrorIs(t, err, groth16.ErrSelfCheck)
	var e *groth16.SelfCheckError
	require.ErrorAs(t, err, &e)
	require.NoError(t, e.Cause)
	// A key that knows its system's digest is refused at once.
	key, err := groth16.Setup(ctx, f.sys, groth16.SetupOptions{Trapdoor: groth16.DevTrapdoor("x")})
	require.NoError(t, err)
	defer key.Close()
	_, err = groth16.NewProver(ctx, cpuBackend(t), other, key, groth16.Config{})
	require.ErrorIs(t, err, groth16.ErrDimension)
}

func TestAssignmentOfAnotherSystem(t *testing.T) {
	f, g := load(t, "mimc", false), load(t, "mimc", false)
	p := f.prover(t, groth16.Config{})
	_, _, err := p.Prove(context.Background(), g.asg)
	require.ErrorIs(t, err, synth.ErrShape)
}

func TestConfigErrors(t *testing.T) {
	ctx := context.Background()
	f := load(t, "cubic", false)
	for _, c := range []struct {
		cfg groth16.Config
		err error
	}{
		{groth16.Config{Windows: groth16.Windows{A: 1}}, groth16.ErrConfig},
		{groth16.Config{Windows: groth16.Windows{B2: 99}}, groth16.ErrConfig},
		{groth16.Config{Threads: -1}, groth16.ErrConfig},
		{groth16.Config{CircuitsPerCall: -1}, groth16.ErrConfig},
		{groth16.Config{Evaluate: groth16.PlaceParallel}, groth16.ErrConfig},
		{groth16.Config{B2: groth16.B2Config{Place: groth16.PlaceHost}}, groth16.ErrConfig},
		{groth16.Config{Pinning: pinning.Config{Policy: 77}}, groth16.ErrConfig},
		{groth16.Config{Evaluate: groth16.PlaceDevice}, groth16.ErrUnavailable},
		{groth16.Config{B2: groth16.B2Config{Place: groth16.PlaceDevice}}, groth16.ErrUnavailable},
	} {
		_, err := groth16.NewProver(ctx, cpuBackend(t), f.sys, f.key, c.cfg)
		require.ErrorIs(t, err, c.err, "%v", c.cfg)
	}
	_, err := groth16.NewProver(ctx, nil, f.sys, f.key, groth16.Config{})
	require.ErrorIs(t, err, groth16.ErrConfig)
}

// Evaluations that an assignment brings are used.
func TestReadyEvaluations(t *testing.T) {
	ctx := context.Background()
	f := load(t, "mimc", false)
	n := f.sys.Constraints()
	e := &synth.Evaluations{A: make([]fr.Element, n), B: make([]fr.Element, n), C: make([]fr.Element, n)}
	require.NoError(t, f.sys.Evaluate(ctx, f.asg, e.A, e.B, e.C, 0))
	f.asg.Eval = e
	p := f.prover(t, groth16.Config{})
	_, rep, err := p.Prove(ctx, f.asg)
	require.NoError(t, err)
	for _, s := range rep.Spans {
		require.NotEqual(t, "synth.eval", s.Name)
	}
	e.A[3].Double(&e.A[3])
	_, _, err = p.Prove(ctx, f.asg)
	require.ErrorIs(t, err, groth16.ErrSelfCheck)
	e.A = e.A[1:]
	_, _, err = p.Prove(ctx, f.asg)
	require.ErrorIs(t, err, synth.ErrShape)
}
