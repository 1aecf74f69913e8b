// Command gnark-circuit proves a circuit written in gnark's frontend with our prover, under a key of ours and under one of
// gnark's, lets gnark prove under both too, and has every proof verified by both verifiers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark/backend"
	gnark "github.com/consensys/gnark/backend/groth16/bls12-381"
	"github.com/consensys/gnark/backend/witness"
	cs "github.com/consensys/gnark/constraint/bls12-381"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/logger"

	"github.com/filgroth/filgroth/examples/internal/cli"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gnarkcs"
	"github.com/filgroth/filgroth/synth/gnarkcs/keys"
)

type options struct {
	cli.Prover
	steps int
}

func main() {
	var o options
	o.Register(flag.CommandLine)
	flag.IntVar(&o.steps, "steps", 1000, "steps of the hash chain, three rows each")
	cli.Parse("a gnark circuit under our key and gnark's, proved by both provers, each proof checked by both verifiers")
	cli.Main(o.run)
}

// state is the circuit in both forms.
type state struct {
	ccs     *cs.R1CS
	full    witness.Witness
	public  fr.Vector
	circuit *gnarkcs.Circuit
	a       *synth.Assignment
	backend groth16.Backend
	cfg     groth16.Config
}

func (o *options) run(ctx context.Context) (err error) {
	logger.Disable()
	s, err := o.compile(ctx, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.a.Close()) }()
	if s.backend, err = o.Open(); err != nil {
		return err
	}

	// A key of ours, and the same key for gnark.
	key, err := groth16.Setup(ctx, s.circuit.System(), groth16.SetupOptions{Threads: o.Threads})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, key.Close()) }()
	pk, err := keys.ExportProvingKey(ctx, s.circuit, key)
	if err != nil {
		return err
	}
	vk, err := keys.ExportVerifyingKey(key.VerifyingKey())
	if err != nil {
		return err
	}
	if err := s.both(ctx, "our key", key, pk, vk); err != nil {
		return err
	}

	// A key of gnark's, and the same key for us.
	pk, vk = new(gnark.ProvingKey), new(gnark.VerifyingKey)
	if err := gnark.Setup(s.ccs, pk, vk); err != nil {
		return err
	}
	imported, err := keys.ImportProvingKey(ctx, s.circuit, pk, vk)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, imported.Close()) }()
	if err := s.both(ctx, "gnark's key", imported, pk, vk); err != nil {
		return err
	}
	if err := o.plain(ctx); err != nil {
		return err
	}
	return cli.Verified(true, nil)
}

// plain proves under a key that gnark has made for the circuit as it is, without input rows, and that no conversion can make
// one of ours: the case of a key that exists already.
func (o *options) plain(ctx context.Context) (err error) {
	s, err := o.compile(ctx, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.a.Close()) }()
	pk, vk := new(gnark.ProvingKey), new(gnark.VerifyingKey)
	if err := gnark.Setup(s.ccs, pk, vk); err != nil {
		return err
	}
	if _, err := keys.ImportProvingKey(ctx, s.circuit, pk, vk); !errors.Is(err, keys.ErrInputRows) {
		return fmt.Errorf("expected %w, got %w", keys.ErrInputRows, err)
	}
	m, err := msm.NewCPU(msm.Config{Threads: o.Threads})
	if err != nil {
		return err
	}
	n, err := ntt.NewCPU(ntt.Config{Threads: o.Threads})
	if err != nil {
		return err
	}
	prover, err := keys.NewPlainProver(s.circuit, pk, vk, m, n, keys.PlainConfig{Threads: o.Threads})
	if err != nil {
		return err
	}
	start := time.Now()
	proof, err := prover.Prove(ctx, s.a)
	if err != nil {
		return err
	}
	return s.check("gnark's key as it is, plain prover", time.Since(start), prover.VerifyingKey(), vk, proof)
}

// compile compiles with gnark, adds (if asked to) the rows that make keys the same on both sides, and takes the system over;
// then gnark solves for the witness.
func (o *options) compile(ctx context.Context, rows bool) (*state, error) {
	s := &state{cfg: o.Config()}
	ccs, err := frontend.Compile(ecc.BLS12_381.ScalarField(), r1cs.NewBuilder, &Chain{steps: o.steps, bits: 64})
	if err != nil {
		return nil, err
	}
	if rows {
		if err := gnarkcs.AppendInputRows(ccs); err != nil {
			return nil, err
		}
	}
	s.ccs = ccs.(*cs.R1CS)
	if s.circuit, err = gnarkcs.Compile(ctx, ccs, gnarkcs.Config{}); err != nil {
		return nil, err
	}
	fmt.Println("system:", s.circuit.System())
	if s.full, err = frontend.NewWitness(assign(0xfeedface, 7, o.steps), ecc.BLS12_381.ScalarField()); err != nil {
		return nil, err
	}
	if s.a, err = s.circuit.Solve(ctx, s.full, hints()); err != nil {
		return nil, err
	}
	public, err := s.full.Public()
	if err != nil {
		return nil, errors.Join(err, s.a.Close())
	}
	s.public = public.Vector().(fr.Vector)
	return s, nil
}

// both proves under one key with both provers.
func (s *state) both(ctx context.Context, name string, key *groth16.ProvingKey, pk *gnark.ProvingKey, vk *gnark.VerifyingKey) error {
	prover, err := groth16.NewProver(ctx, s.backend, s.circuit.System(), key, s.cfg)
	if err != nil {
		return err
	}
	start := time.Now()
	ours, _, err := prover.Prove(ctx, s.a)
	if err := errors.Join(err, prover.Close()); err != nil {
		return err
	}
	if err := s.check(name+", our prover", time.Since(start), key.VerifyingKey(), vk, ours); err != nil {
		return err
	}
	start = time.Now()
	theirs, err := gnark.Prove(s.ccs, pk, s.full, backend.WithSolverOptions(hints()))
	if err != nil {
		return err
	}
	took := time.Since(start)
	proof, err := keys.ImportProof(theirs)
	if err != nil {
		return err
	}
	return s.check(name+", gnark's (solves too)", took, key.VerifyingKey(), vk, proof)
}

// check verifies one proof with both verifiers.
func (s *state) check(name string, took time.Duration, vk *groth16.VerifyingKey, other *gnark.VerifyingKey, p *groth16.Proof) error {
	ok, err := groth16.Verify(vk, s.public, p)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s: our verifier refuses the proof", name)
	}
	if err := gnark.Verify(keys.ExportProof(p), other, s.public); err != nil {
		return fmt.Errorf("%s: gnark's verifier: %w", name, err)
	}
	fmt.Printf("%-36s %8s  accepted by both verifiers\n", name, took.Round(time.Millisecond))
	return nil
}
