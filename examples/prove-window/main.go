// Command prove-window makes a WindowPoSt of two real 2 KiB sectors and verifies it. A vanilla proof that is altered on
// purpose shows how faulty sectors are named.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/examples/internal/cli"
)

// The vanilla proofs of sectors 1 and 2 of miner 1000, made with the deployed Rust stack (rust-fil-proofs commit 87348a7).
//
//go:embed window.json window-s1.vanilla.bincode.gz window-s2.vanilla.bincode.gz
var files embed.FS

const miner = 1000

func main() {
	var f cli.Flags
	f.Register(flag.CommandLine)
	cli.Parse("a WindowPoSt of two embedded 2 KiB sectors, verified; an altered one is named as faulty first")
	cli.Main(func(ctx context.Context) error { return run(ctx, &f) })
}

func run(ctx context.Context, f *cli.Flags) error {
	meta, err := cli.Embedded(files, "window.json")
	if err != nil {
		return err
	}
	p, err := cli.ReadPoSt(meta)
	if err != nil {
		return err
	}
	var vanilla [][]byte
	for _, name := range []string{"window-s1.vanilla.bincode.gz", "window-s2.vanilla.bincode.gz"} {
		b, err := cli.Embedded(files, name)
		if err != nil {
			return err
		}
		vanilla = append(vanilla, b)
	}
	e, err := f.Engine()
	if err != nil {
		return err
	}
	defer e.Close()
	if err := showFault(ctx, e, p, vanilla); err != nil {
		return err
	}
	proof, rep, err := e.GenerateWindowPoStWithVanilla(ctx, p.Type, miner, p.Randomness, vanilla)
	if err != nil {
		return err
	}
	if err := f.Output(proof.Bytes, rep); err != nil {
		return err
	}
	return cli.Verified(e.VerifyWindowPoSt(ctx, p.Randomness, *proof, p.Sectors))
}

// showFault proves with a leaf of the second sector altered: no work is done, and the sector is named.
func showFault(ctx context.Context, e *filgroth.Engine, p *cli.PoSt, vanilla [][]byte) error {
	const leaf = 8 + 32 + 8 + 8 + 4 + 32 // of the first inclusion proof
	bad := append([]byte(nil), vanilla[1]...)
	bad[leaf] ^= 1
	_, _, err := e.GenerateWindowPoStWithVanilla(ctx, p.Type, miner, p.Randomness, [][]byte{vanilla[0], bad})
	faulty := filgroth.FaultySectors(err)
	if !errors.Is(err, filgroth.ErrVanilla) || len(faulty) != 1 {
		return fmt.Errorf("an altered sector was not found: %w", err)
	}
	fmt.Println("with an altered leaf, faulty sectors:", faulty)
	return nil
}
