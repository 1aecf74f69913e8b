// Command prove-porep turns the C1 output of a sealed sector into Groth16 proofs and verifies them. Without flags it proves the
// embedded output of a real 2 KiB sector under a development key that it makes at the first run.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/examples/internal/cli"
	"github.com/filgroth/filgroth/synth/porep"
)

// The C1 output of a 2 KiB sector (StackedDrg2KiBV1_1, sector 1 of miner 1000), made with the deployed Rust stack
// (rust-fil-proofs commit 87348a7).
//
//go:embed c1-2k.json.gz
var embedded []byte

type options struct {
	cli.Flags
	c1            string
	sector, miner int64
}

func main() {
	var o options
	o.Register(flag.CommandLine)
	flag.StringVar(&o.c1, "c1", "", "JSON `file` of SealCommitPhase1, bare or in the envelope {SectorNum, Phase1Out, SectorSize} (default: an embedded 2 KiB sector)")
	flag.Int64Var(&o.sector, "sector", -1, "sector `number` to verify for, with -miner; without both the C1's own replica id is taken at its word")
	flag.Int64Var(&o.miner, "miner", -1, "miner actor `id` to verify for, with -sector")
	cli.Parse("C1 output of a sealed sector to verified proofs; without flags an embedded 2 KiB sector under a development key")
	cli.Main(o.run)
}

func (o *options) input() ([]byte, error) {
	if o.c1 != "" {
		return os.ReadFile(o.c1)
	}
	if o.sector < 0 && o.miner < 0 {
		o.sector, o.miner = 1, 1000
	}
	z, err := gzip.NewReader(bytes.NewReader(embedded))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func (o *options) run(ctx context.Context) error {
	c1, err := o.input()
	if err != nil {
		return err
	}
	if (o.sector < 0) != (o.miner < 0) {
		return fmt.Errorf("-sector and -miner go together")
	}
	e, err := o.Engine()
	if err != nil {
		return err
	}
	defer e.Close()
	var proof []byte
	var rep *filgroth.Report
	if o.sector < 0 {
		fmt.Fprintln(os.Stderr, "NOTE: no -sector and -miner given: verifying against the replica id that stands in the C1 file itself.")
		proof, rep, err = e.ProveC1(ctx, c1)
	} else {
		proof, rep, err = e.SealCommitPhase2(ctx, c1, uint64(o.sector), uint64(o.miner))
	}
	if err != nil {
		return err
	}
	if err := o.Output(proof, rep); err != nil {
		return err
	}
	return cli.Verified(o.verify(ctx, e, c1, proof))
}

// verify checks the proof once more as another party would: from the sector's public data.
func (o *options) verify(ctx context.Context, e *filgroth.Engine, raw, proof []byte) (bool, error) {
	c, err := porep.DecodeC1(raw)
	if err != nil {
		return false, err
	}
	if o.sector < 0 {
		return e.VerifyC1(ctx, c.Public(), proof)
	}
	return e.VerifySeal(ctx, filgroth.SealVerifyInfo{Proof: c.Proof, Miner: uint64(o.miner), Sector: uint64(o.sector),
		Ticket: c.Ticket, Seed: c.Seed, CommR: c.CommR, CommD: c.CommD, Bytes: proof})
}
