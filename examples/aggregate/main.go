// Command aggregate merges the seal proofs of two sectors into one SnarkPack aggregate and verifies it. The proofs are the
// deployed Rust stack's own, so that nothing has to be proven first; the development key accepts them because it is the same.
package main

import (
	"context"
	"embed"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/examples/internal/cli"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Sectors 1 and 2 of miner 1000 (StackedDrg2KiBV1_1) with their proofs, made with rust-fil-proofs commit 87348a7.
//
//go:embed 2k-v1_1-s1.meta.json 2k-v1_1-s2.meta.json
var files embed.FS

func main() {
	var f cli.Flags
	f.Register(flag.CommandLine)
	version := flag.Int64("aggregation", 1, "registered aggregation: 0 is SnarkPackV1, 1 is SnarkPackV2")
	cli.Parse("two seal proofs merged into one SnarkPack aggregate, verified; nothing is proved first")
	cli.Main(func(ctx context.Context) error { return run(ctx, &f, *version) })
}

type sector struct {
	Proof  int    `json:"registered_proof_id"`
	Number uint64 `json:"sector_number"`
	Ticket string `json:"ticket"`
	Seed   string `json:"seed"`
	CommD  string `json:"comm_d"`
	CommR  string `json:"comm_r"`
	Bytes  string `json:"proof_hex"`
}

func run(ctx context.Context, f *cli.Flags, version int64) error {
	info := filgroth.AggregateInfo{Miner: 1000, Aggregation: version}
	var proofs [][]byte
	for _, name := range []string{"2k-v1_1-s1.meta.json", "2k-v1_1-s2.meta.json"} {
		s, proof, err := read(name, &info)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		info.Sectors = append(info.Sectors, s)
		proofs = append(proofs, proof)
	}
	e, err := f.Engine()
	if err != nil {
		return err
	}
	defer e.Close()
	agg, err := e.AggregateSealProofs(ctx, info, proofs)
	if err != nil {
		return err
	}
	fmt.Printf("%d proofs of %d bytes became one of %d bytes: %s...\n", len(proofs), len(proofs[0]), len(agg), hex.EncodeToString(agg[:32]))
	return cli.Verified(e.VerifyAggregateSeals(ctx, info, agg))
}

func read(name string, info *filgroth.AggregateInfo) (s filgroth.AggregateSector, proof []byte, err error) {
	b, err := cli.Embedded(files, name)
	if err != nil {
		return s, nil, err
	}
	var raw sector
	if err := json.Unmarshal(b, &raw); err != nil {
		return s, nil, err
	}
	info.Proof = vanilla.SealProof(raw.Proof)
	s.Number = raw.Number
	for _, c := range []struct {
		name string
		from string
		to   *[32]byte
	}{{"ticket", raw.Ticket, &s.Ticket}, {"seed", raw.Seed, &s.Seed}, {"comm_d", raw.CommD, &s.CommD}, {"comm_r", raw.CommR, &s.CommR}} {
		if *c.to, err = cli.Hex32(c.from); err != nil {
			return s, nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	proof, err = hex.DecodeString(raw.Bytes)
	return s, proof, err
}
