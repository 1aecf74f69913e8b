// Command custom-circuit takes a circuit of one's own (examples/internal/membership: a secret behind a leaf of a Merkle tree)
// through everything: compile, setup, prove, verify, save, reload, prove again, and verification by gnark.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	gnark "github.com/consensys/gnark/backend/groth16/bls12-381"
	"github.com/consensys/gnark/logger"

	"github.com/filgroth/filgroth/examples/internal/cli"
	"github.com/filgroth/filgroth/examples/internal/membership"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gnarkcs/keys"
)

type options struct {
	cli.Prover
	depth, leaf int
	dir         string
}

func main() {
	var o options
	o.Register(flag.CommandLine)
	flag.IntVar(&o.depth, "depth", 10, "levels of the tree")
	flag.IntVar(&o.leaf, "leaf", 5, "`number` of the leaf to prove")
	flag.StringVar(&o.dir, "dir", "", "keep system, keys, public inputs and proof in this `directory`, which is made if need be (default: a temporary one)")
	cli.Parse("a circuit of your own: compile, setup, save, reload, prove, verify, and verification by gnark")
	cli.Main(o.run)
}

func (o *options) run(ctx context.Context) (err error) {
	logger.Disable()
	tree, err := membership.NewTree(o.depth)
	if err != nil {
		return err
	}
	if o.leaf < 0 || o.leaf >= 1<<o.depth {
		return fmt.Errorf("-leaf %d: the tree has %d", o.leaf, 1<<o.depth)
	}
	keep := o.dir != ""
	if !keep {
		if o.dir, err = os.MkdirTemp("", "custom-circuit-"); err != nil {
			return err
		}
		defer os.RemoveAll(o.dir)
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	backend, err := o.Open()
	if err != nil {
		return err
	}
	if err := o.make(ctx); err != nil {
		return err
	}
	proof, public, err := o.prove(ctx, backend, tree.Prove(o.leaf))
	if err != nil {
		return err
	}
	if err := o.writeInputs(public); err != nil {
		return err
	}
	if keep {
		fmt.Printf("again, from the files alone: go run ./examples/verify -vk %s -inputs %s -proof %x\n", o.file("circuit.vk"), o.file("inputs.json"), proof)
	}
	return cli.Verified(o.verify(proof, public))
}

// writeInputs writes the public inputs as examples/verify reads them: hex, little endian, as bellperson's files have them.
func (o *options) writeInputs(c *membership.Circuit) error {
	var text []string
	for _, x := range c.Public() {
		b := x.Bytes()
		slices.Reverse(b[:])
		text = append(text, hex.EncodeToString(b[:]))
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return err
	}
	return os.WriteFile(o.file("inputs.json"), append(raw, '\n'), 0o644)
}

func (o *options) file(name string) string { return filepath.Join(o.dir, name) }

// make compiles the circuit, makes its keys, and saves all of it. In earnest the setup is a ceremony of several parties: whoever
// makes the key alone can forge proofs under it.
func (o *options) make(ctx context.Context) error {
	sys, err := synth.Compile(ctx, &membership.Circuit{Depth: o.depth})
	if err != nil {
		return err
	}
	digest, err := sys.Digest(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("system: %v\nR1CS digest: %x\n", sys, digest)
	if err := sys.WriteFile(ctx, o.file("circuit.sys")); err != nil {
		return err
	}
	key, err := groth16.SetupFile(ctx, sys, o.file("circuit.params"), groth16.SetupOptions{})
	if err != nil {
		return err
	}
	fmt.Printf("key: %d bytes\n", key.Size())
	return errors.Join(os.WriteFile(o.file("circuit.vk"), key.VerifyingKey().Bytes(), 0o644), key.Close())
}

// prove opens the files, as another process would, and makes a proof.
func (o *options) prove(ctx context.Context, backend groth16.Backend, c *membership.Circuit) (_ []byte, _ *membership.Circuit, err error) {
	sys, err := synth.OpenFile(o.file("circuit.sys"), nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, sys.Close()) }()
	key, err := groth16.OpenProvingKey(o.file("circuit.params"))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, key.Close()) }()
	a, err := synth.AssignWitness(ctx, c, sys, synth.AssignConfig{Threads: o.Threads})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := sys.Satisfied(ctx, a, o.Threads); err != nil {
		return nil, nil, err
	}
	prover, err := groth16.NewProver(ctx, backend, sys, key, o.Config())
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, prover.Close()) }()
	proof, rep, err := prover.Prove(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	b := proof.Bytes()
	fmt.Printf("proof: %x\n", b)
	// The verifier is given the root and the tag, nothing else of the circuit.
	return b[:], &membership.Circuit{Depth: o.depth, Root: c.Root, Tag: c.Tag}, errors.Join(
		os.WriteFile(o.file("proof.bin"), b[:], 0o644), cli.Phases(rep))
}

// verify reads the verifying key and the proof and asks both verifiers.
func (o *options) verify(proof []byte, c *membership.Circuit) (bool, error) {
	raw, err := os.ReadFile(o.file("circuit.vk"))
	if err != nil {
		return false, err
	}
	vk, err := groth16.ParseVerifyingKey(raw)
	if err != nil {
		return false, err
	}
	p, err := groth16.ParseProof(proof)
	if err != nil {
		return false, err
	}
	public := c.Public()
	ok, err := groth16.Verify(vk, public, p)
	if err != nil || !ok {
		return false, err
	}
	other, err := keys.ExportVerifyingKey(vk)
	if err != nil {
		return false, err
	}
	if err := gnark.Verify(keys.ExportProof(p), other, public); err != nil {
		return false, fmt.Errorf("gnark: %w", err)
	}
	fmt.Println("verified by gnark: true")
	return true, nil
}
