// Command prove-update makes the proof of a SnapDeals sector update (2 KiB) and verifies it.
package main

import (
	"context"
	"embed"
	"encoding/json"
	"flag"
	"fmt"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/examples/internal/cli"
)

// The vanilla proof of an update of sector 1 of miner 1000, made with the deployed Rust stack (rust-fil-proofs commit 87348a7).
//
//go:embed update.json update-p0.vanilla.bincode.gz
var files embed.FS

func main() {
	var f cli.Flags
	f.Register(flag.CommandLine)
	cli.Parse("the proof of a SnapDeals sector update (2 KiB, embedded), verified")
	cli.Main(func(ctx context.Context) error { return run(ctx, &f) })
}

func run(ctx context.Context, f *cli.Flags) error {
	info, err := public()
	if err != nil {
		return err
	}
	vanilla, err := cli.Embedded(files, "update-p0.vanilla.bincode.gz")
	if err != nil {
		return err
	}
	e, err := f.Engine()
	if err != nil {
		return err
	}
	defer e.Close()
	proof, rep, err := e.GenerateUpdateProofWithVanilla(ctx, *info, [][]byte{vanilla})
	if err != nil {
		return err
	}
	if err := f.Output(proof, rep); err != nil {
		return err
	}
	info.Bytes = proof
	return cli.Verified(e.VerifySectorUpdate(ctx, *info))
}

func public() (*filgroth.UpdateInfo, error) {
	b, err := cli.Embedded(files, "update.json")
	if err != nil {
		return nil, err
	}
	var raw struct {
		Old  string `json:"comm_r_old"`
		New  string `json:"comm_r_new"`
		Data string `json:"comm_d_new"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	info := &filgroth.UpdateInfo{Proof: 0} // StackedDrg2KiBV1
	for _, c := range []struct {
		name string
		from string
		to   *[32]byte
	}{{"comm_r_old", raw.Old, &info.CommROld}, {"comm_r_new", raw.New, &info.CommRNew}, {"comm_d_new", raw.Data, &info.CommDNew}} {
		if *c.to, err = cli.Hex32(c.from); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return info, nil
}
