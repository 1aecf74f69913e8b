// Command prove-winning makes a WinningPoSt from the vanilla proof of a real 2 KiB sector and verifies it.
package main

import (
	"context"
	"embed"
	"flag"

	"github.com/filgroth/filgroth/examples/internal/cli"
)

// The vanilla proof of sector 1 of miner 1000, made with the deployed Rust stack (rust-fil-proofs commit 87348a7).
//
//go:embed winning.json winning-s1.vanilla.bincode.gz
var files embed.FS

const miner = 1000

func main() {
	var f cli.Flags
	f.Register(flag.CommandLine)
	cli.Parse("a WinningPoSt from the vanilla proof of an embedded 2 KiB sector, verified")
	cli.Main(func(ctx context.Context) error { return run(ctx, &f) })
}

func run(ctx context.Context, f *cli.Flags) error {
	meta, err := cli.Embedded(files, "winning.json")
	if err != nil {
		return err
	}
	p, err := cli.ReadPoSt(meta)
	if err != nil {
		return err
	}
	vanilla, err := cli.Embedded(files, "winning-s1.vanilla.bincode.gz")
	if err != nil {
		return err
	}
	e, err := f.Engine()
	if err != nil {
		return err
	}
	defer e.Close()
	proof, rep, err := e.GenerateWinningPoStWithVanilla(ctx, p.Type, miner, p.Randomness, [][]byte{vanilla})
	if err != nil {
		return err
	}
	if err := f.Output(proof.Bytes, rep); err != nil {
		return err
	}
	return cli.Verified(e.VerifyWinningPoSt(ctx, p.Randomness, *proof, p.Sectors[0]))
}
