package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	gnark "github.com/consensys/gnark/backend/groth16/bls12-381"
	"github.com/consensys/gnark/backend/witness"
	cs "github.com/consensys/gnark/constraint/bls12-381"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/logger"
	"github.com/filgroth/filgroth/bench/gnarksha"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth/gnarkcs"
	"github.com/filgroth/filgroth/synth/gnarkcs/keys"
)

// gnarkFlags are the flags of the mode gnark.
type gnarkFlags struct {
	log, n, warm int
	keep         bool
	out          string
}

func gnarkMode(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	f := new(gnarkFlags)
	fs.IntVar(&f.log, "log", 20, "binary `logarithm` of the number of rows (15 to 24)")
	fs.IntVar(&f.n, "n", 10, "measured `rounds`; each runs both provers once")
	fs.IntVar(&f.warm, "warm", 1, "rounds before, not counted")
	fs.BoolVar(&f.keep, "keep-evaluations", false, "take a, b, c from gnark's solver instead of evaluating the system")
	fs.StringVar(&f.out, "out", "", "write results in every form to this `directory`")
	return f.run
}

// both is one circuit, witness and key for two provers.
type both struct {
	r      *cs.R1CS
	c      *gnarkcs.Circuit
	full   witness.Witness
	public fr.Vector
	key    *groth16.ProvingKey
	gpk    *gnark.ProvingKey
	gvk    *gnark.VerifyingKey
	prover groth16.Prover
}

func (f *gnarkFlags) run(ctx context.Context, out io.Writer) error {
	const rowsPerBlock = 30901 // what gnarksha takes
	blocks := 1 << max(0, f.log) / rowsPerBlock
	if f.log > 24 || blocks < 1 || f.n < 1 || f.warm < 0 {
		return errors.New("-log from 15 to 24, -n at least 1")
	}
	logger.Disable()
	arms := []Arm{{Name: "prover=gnark", Settings: defaultSettings()}, {Name: "prover=filgroth", Settings: defaultSettings(), Changed: []string{"prove"}}}
	compared := &abFlags{shape: fmt.Sprintf("gnark-sha256-2^%d", f.log), work: workProve, n: f.n, warm: f.warm, out: f.out}
	r := newABResult(compared, arms)
	b, err := newBoth(ctx, blocks, f.keep)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "bench: %d rows of gnark, %v\n", b.r.GetNbConstraints(), b.c.System())
	m := startMonitor(100 * time.Millisecond)
	for round := -f.warm; round < f.n && err == nil; round++ {
		for k := range arms {
			i := (k + round&1) % 2 // the order alternates
			debug.FreeOSMemory()
			var o *Outcome
			if o, err = b.round(ctx, i == 0); err != nil {
				break
			}
			if err = r.note(i, round, o); err != nil {
				break
			}
		}
		fmt.Fprintf(os.Stderr, "\rbench: round %d of %d ", round+1, f.n)
	}
	fmt.Fprintln(os.Stderr)
	r.RSS = m.end()
	return compared.finish(r, errors.Join(err, b.close()), out)
}

// newBoth compiles the circuit once and makes one key, in our form and in gnark's: gnark's own setup takes minutes, and proofs of the
// two provers under one key verify alike.
func newBoth(ctx context.Context, blocks int, keep bool) (*both, error) {
	field := ecc.BLS12_381.ScalarField()
	ccs, err := frontend.Compile(field, r1cs.NewBuilder, gnarksha.New(blocks))
	if err != nil {
		return nil, err
	}
	if err := gnarkcs.AppendInputRows(ccs); err != nil {
		return nil, err
	}
	b := &both{r: ccs.(*cs.R1CS)}
	if b.c, err = gnarkcs.Compile(ctx, ccs, gnarkcs.Config{KeepEvaluations: keep}); err != nil {
		return nil, err
	}
	if b.full, err = frontend.NewWitness(gnarksha.Assign(blocks, 1), field); err != nil {
		return nil, err
	}
	public, err := b.full.Public()
	if err != nil {
		return nil, err
	}
	b.public = public.Vector().(fr.Vector)
	if b.key, err = groth16.Setup(ctx, b.c.System(), groth16.SetupOptions{Trapdoor: groth16.DevTrapdoor("filgroth-bench-gnark")}); err != nil {
		return nil, err
	}
	if b.gvk, err = keys.ExportVerifyingKey(b.key.VerifyingKey()); err != nil {
		return nil, err
	}
	if b.gpk, err = keys.ExportProvingKey(ctx, b.c, b.key); err != nil {
		return nil, err
	}
	backend, err := cpuBackend(defaultSettings())
	if err != nil {
		return nil, err
	}
	cfg := groth16.Config{SkipSelfCheck: true} // gnark's prover has none
	cfg.Key.Residence = groth16.ResidenceResident
	b.prover, err = groth16.NewProver(ctx, backend, b.c.System(), b.key, cfg)
	return b, err
}

func (b *both) close() error { return errors.Join(b.prover.Close(), b.key.Close()) }

// round makes a proof from the witness, gnark's solver included, with one of the provers; gnark's verifier checks it.
func (b *both) round(ctx context.Context, theirs bool) (*Outcome, error) {
	var proof *gnark.Proof
	rec := span.NewRecorder()
	o := new(Outcome)
	var err error
	o.Cost, err = measure(func() (err error) {
		if theirs {
			proof, err = gnark.Prove(b.r, b.gpk, b.full)
			return err
		}
		ctx := span.With(ctx, rec)
		a, err := b.c.Solve(ctx, b.full)
		if err != nil {
			return err
		}
		p, _, err := b.prover.Prove(ctx, a)
		if err != nil {
			return errors.Join(err, a.Close())
		}
		proof = keys.ExportProof(p)
		return a.Close()
	})
	if err != nil {
		return nil, err
	}
	o.Records = rec.Records()
	return o, gnark.Verify(proof, b.gvk, b.public)
}
