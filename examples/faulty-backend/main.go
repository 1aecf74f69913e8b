// Command faulty-backend shows how code that calls a prover behaves when the backend fails, and how to test it: a backend that
// fails, computes wrongly, hangs and panics at calls of our choice, and a loop that retries, gives up on a deadline, and falls
// back to another backend.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/filgroth/filgroth/examples/internal/cli"
	"github.com/filgroth/filgroth/examples/internal/membership"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/faulty"
	"github.com/filgroth/filgroth/synth"
)

type options struct {
	cli.Prover
	patience time.Duration
}

func main() {
	var o options
	o.Register(flag.CommandLine)
	flag.DurationVar(&o.patience, "patience", 5*time.Second, "how long one attempt may take")
	cli.Parse("retries, deadlines and fallback against a backend that fails on cue; the failed attempts are the point")
	cli.Main(o.run)
}

// errLost stands for what a driver says.
var errLost = errors.New("the device has fallen off the bus")

func (o *options) run(ctx context.Context) (err error) {
	const depth = 4
	tree, err := membership.NewTree(depth)
	if err != nil {
		return err
	}
	sys, err := synth.Compile(ctx, &membership.Circuit{Depth: depth})
	if err != nil {
		return err
	}
	key, err := groth16.Setup(ctx, sys, groth16.SetupOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, key.Close()) }()
	a, err := synth.AssignWitness(ctx, tree.Prove(3), sys, synth.AssignConfig{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()

	inner, err := o.Open()
	if err != nil {
		return err
	}
	bad, err := faulty.NewBackend(inner,
		faulty.Fault{Op: faulty.Bind, Kind: faulty.Fail, Call: 1, Err: errLost},
		faulty.Fault{Op: faulty.Sums, Kind: faulty.Fail, Call: 1, Err: errLost},
		faulty.Fault{Op: faulty.Sums, Kind: faulty.Wrong, Call: 2},
		faulty.Fault{Op: faulty.Sums, Kind: faulty.Slow, Call: 3, Delay: time.Hour},
		faulty.Fault{Op: faulty.Sums, Kind: faulty.Panic, Call: 4})
	if err != nil {
		return err
	}
	if _, err := o.retry(ctx, bad, 6, sys, key, a); err != nil {
		return err
	}
	fmt.Printf("calls: %d of bind, %d of sums; faults: %d\n", bad.Calls(faulty.Bind), bad.Calls(faulty.Sums), bad.Injected())

	// A device that is gone for good: fall back.
	if err := bad.SetFaults(faulty.Fault{Op: faulty.Bind, Kind: faulty.Fail, Err: errLost}); err != nil {
		return err
	}
	if _, err := o.retry(ctx, bad, 2, sys, key, a); !errors.Is(err, errLost) {
		return fmt.Errorf("expected the lost device, got %w", err)
	}
	cpu, err := cli.CPU()
	if err != nil {
		return err
	}
	fmt.Println("falling back")
	proof, err := o.retry(ctx, cpu, 1, sys, key, a)
	if err != nil {
		return err
	}
	return cli.Verified(groth16.Verify(key.VerifyingKey(), a.Public(), proof))
}

// retry makes up to so many attempts, each with a deadline of its own and a session of its own. It does not try again what
// cannot get better: an ended context and a witness that does not satisfy the system.
func (o *options) retry(ctx context.Context, b groth16.Backend, attempts int, sys *synth.System, key *groth16.ProvingKey, a *synth.Assignment) (*groth16.Proof, error) {
	var last error
	for i := 1; i <= attempts; i++ {
		proof, err := o.attempt(ctx, b, sys, key, a)
		if err == nil {
			fmt.Printf("attempt %d: proof\n", i)
			return proof, nil
		}
		fmt.Printf("attempt %d: %v\n", i, err)
		var u *synth.UnsatisfiedError
		if ctx.Err() != nil || errors.As(err, &u) {
			return nil, err
		}
		last = err
	}
	return nil, last
}

func (o *options) attempt(ctx context.Context, b groth16.Backend, sys *synth.System, key *groth16.ProvingKey, a *synth.Assignment) (_ *groth16.Proof, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.patience)
	defer cancel()
	p, err := groth16.NewProver(ctx, b, sys, key, o.Config())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	proof, _, err := p.Prove(ctx, a)
	return proof, err
}
