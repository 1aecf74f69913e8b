// Command bundle writes one proof's whole input to a file and proves from such a file alone: what a person who has met a
// fault sends, and what the one who looks for it runs. Without flags it does both with a small circuit. With -open it checks
// and proves the given bundle.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/filgroth/filgroth/examples/internal/cli"
	"github.com/filgroth/filgroth/examples/internal/membership"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/bundle"
	"github.com/filgroth/filgroth/synth"
)

type options struct {
	cli.Prover
	write, open, key string
}

func main() {
	var o options
	o.Register(flag.CommandLine)
	flag.StringVar(&o.write, "write", "", "only write a bundle to this `file`")
	flag.StringVar(&o.open, "open", "", "only check and prove the bundle in this `file`")
	flag.StringVar(&o.key, "key", "", "parameter `file` for a bundle that does not hold its key")
	cli.Parse("one proof's whole input written to a file, checked, and proved from that file alone")
	cli.Main(o.run)
}

func (o *options) run(ctx context.Context) error {
	if o.write != "" && o.open != "" {
		return errors.New("-write and -open exclude each other")
	}
	switch {
	case o.write != "":
		return write(ctx, o.write)
	case o.open != "":
		return o.prove(ctx, o.open)
	}
	dir, err := os.MkdirTemp("", "bundle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "proof.bundle")
	if err := write(ctx, path); err != nil {
		return err
	}
	return o.prove(ctx, path)
}

// write makes a bundle of a membership proof, its key included.
func write(ctx context.Context, path string) (err error) {
	const depth = 6
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
	a, err := synth.AssignWitness(ctx, tree.Prove(11), sys, synth.AssignConfig{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	err = bundle.Write(ctx, path, bundle.Contents{Assignment: a, Key: key, EmbedKey: true, Note: "examples/bundle: membership, depth 6, leaf 11"})
	if err == nil {
		fmt.Println("wrote", path)
		fmt.Fprintln(os.Stderr, "NOTE: a bundle holds the witness. Give it only to those who may know what the proof hides.")
	}
	return err
}

// prove opens, checks and proves a bundle.
func (o *options) prove(ctx context.Context, path string) (err error) {
	b, err := bundle.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	fmt.Printf("note: %s\nsystem: %v\nR1CS digest: %x\n", b.Note(), b.System(), b.R1CS())
	if d, ok := b.KeyDigest(); ok {
		fmt.Printf("key digest: %x\n", d)
	}
	if err := b.Check(ctx, o.Threads); err != nil {
		return err
	}
	fmt.Println("the digests are right and the witness satisfies the system")
	var key *groth16.ProvingKey
	if o.key != "" {
		if key, err = groth16.OpenProvingKey(o.key); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, key.Close()) }()
	}
	backend, err := o.Open()
	if err != nil {
		return err
	}
	proof, rep, err := b.Prove(ctx, backend, key, o.Config())
	if err != nil {
		return err
	}
	fmt.Printf("proof: %x\n", proof.Bytes())
	if err := cli.Phases(rep); err != nil {
		return err
	}
	return cli.Verified(b.Verify(proof))
}
