package groth16_test

import (
	"context"
	"fmt"
	"log"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/synth"
)

// cubic says: I know x with x^3 + x + 5 = out.
type cubic struct{ x uint64 }

func (c cubic) Synthesize(b *synth.Builder) error {
	val := func(v uint64) fr.Element { return fr.NewElement(v) }
	x, x2 := b.Alloc(val(c.x)), b.Alloc(val(c.x*c.x))
	x3 := b.Alloc(val(c.x * c.x * c.x))
	out := b.AllocInput(val(c.x*c.x*c.x + c.x + 5))
	b.Enforce(b.LC().AddVar(x), b.LC().AddVar(x), b.LC().AddVar(x2))
	b.Enforce(b.LC().AddVar(x2), b.LC().AddVar(x), b.LC().AddVar(x3))
	b.Enforce(b.LC().AddVar(x3).AddVar(x).AddConst(val(5)), b.LC().AddVar(synth.One), b.LC().AddVar(out))
	return nil
}

func Example() {
	ctx := context.Background()
	sys, err := synth.Compile(ctx, cubic{})
	if err != nil {
		log.Fatal(err)
	}
	key, err := groth16.Setup(ctx, sys, groth16.SetupOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer key.Close()
	m, err := msm.NewCPU(msm.Config{})
	if err != nil {
		log.Fatal(err)
	}
	n, err := ntt.NewCPU(ntt.Config{})
	if err != nil {
		log.Fatal(err)
	}
	prover, err := groth16.NewProver(ctx, groth16.Compose(m, n), sys, key, groth16.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer prover.Close()
	witness, err := synth.AssignWitness(ctx, cubic{x: 3}, sys, synth.AssignConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer witness.Close()
	proof, _, err := prover.Prove(ctx, witness)
	if err != nil {
		log.Fatal(err)
	}
	b := proof.Bytes()
	ok, err := groth16.VerifyBytes(key.VerifyingKey(), []fr.Element{fr.NewElement(35)}, b[:])
	fmt.Println(len(b), ok, err)
	// Output: 192 true <nil>
}
