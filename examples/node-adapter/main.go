// Command node-adapter shows the interfaces that Go node software defines for its provers satisfied by an engine, and
// proves and verifies a WindowPoSt partition through them.
package main

import (
	"context"
	"embed"
	"flag"

	"github.com/filgroth/filgroth/examples/internal/cli"
)

// The vanilla proofs of sectors 1 and 2 of miner 1000, made with the deployed Rust stack (rust-fil-proofs commit 87348a7).
//
//go:embed window.json window-s1.vanilla.bincode.gz window-s2.vanilla.bincode.gz
var files embed.FS

func main() {
	var f cli.Flags
	f.Register(flag.CommandLine)
	cli.Parse("an engine behind the interfaces of Go node software, and a proof made through one of them")
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
	var proofs [][]byte
	for _, name := range []string{"window-s1.vanilla.bincode.gz", "window-s2.vanilla.bincode.gz"} {
		b, err := cli.Embedded(files, name)
		if err != nil {
			return err
		}
		proofs = append(proofs, b)
	}
	e, err := f.Engine()
	if err != nil {
		return err
	}
	defer e.Close()
	const miner = 1000
	var node snarks = adapter{e}
	part, err := node.GenerateSinglePartitionWindowPoStWithVanilla(ctx, registeredPoStProof(p.Type), miner, p.Randomness[:], proofs, 0)
	if err != nil {
		return err
	}
	info := postVerifyInfo{Randomness: p.Randomness[:], Proofs: []postProof{*part}, Prover: miner}
	for _, s := range p.Sectors {
		info.ChallengedSectors = append(info.ChallengedSectors, sectorInfo{SectorNumber: sectorNumber(s.Number), SealedCID: s.CommR})
	}
	var v verifier = adapter{e}
	return cli.Verified(v.VerifyWindowPoSt(ctx, info))
}
