package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/synth/porep"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/update"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/filgroth/filgroth/synth/vanillasim"
)

// proveJob is a whole request to an engine, as a node makes it: bytes in, proof out, verified.
type proveJob func(ctx context.Context, e *filgroth.Engine) (*filgroth.Report, error)

const benchMiner = 1000

var errNotVerified = errors.New("the proof does not verify")

func verified(ok bool, err error) error {
	if err == nil && !ok {
		err = errNotVerified
	}
	return err
}

// makeJob makes synthetic vanilla proofs for a kind and size from a seed; partitions is for a WindowPoSt (0: one), others
// have as many as they have.
func makeJob(ctx context.Context, kind filgroth.Kind, size vanilla.SectorSize, partitions int, seed uint64) (proveJob, error) {
	number := -1
	for i, s := range vanilla.RegisteredSizes {
		if s == size {
			number = i
		}
	}
	if number < 0 {
		return nil, fmt.Errorf("no registered proof for sectors of %v", size)
	}
	o := vanillasim.Options{Seed: seed, Miner: benchMiner, Sector: 1 + seed*10000}
	switch kind {
	case filgroth.PoRep:
		return porepJob(ctx, vanilla.SealProof(5+number), o)
	case filgroth.WinningPoSt:
		return postJob(ctx, vanilla.PoStProof(number), 1, o)
	case filgroth.WindowPoSt:
		return postJob(ctx, vanilla.PoStProof(10+number), max(1, partitions), o)
	case filgroth.SnapDeals:
		return updateJob(ctx, vanilla.UpdateProof(number), o)
	}
	return nil, fmt.Errorf("unknown kind %v", kind)
}

func porepJob(ctx context.Context, p vanilla.SealProof, o vanillasim.Options) (proveJob, error) {
	c, err := vanillasim.SealProof(ctx, p, o)
	if err != nil {
		return nil, err
	}
	c1, err := c.AppendJSON(nil)
	if err != nil {
		return nil, err
	}
	var pub *porep.Public = c.Public()
	return func(ctx context.Context, e *filgroth.Engine) (*filgroth.Report, error) {
		proof, rep, err := e.SealCommitPhase2(ctx, c1, o.Sector, o.Miner)
		if err != nil {
			return rep, err
		}
		return rep, verified(e.VerifyC1(ctx, pub, proof))
	}, nil
}

func postJob(ctx context.Context, t vanilla.PoStProof, partitions int, o vanillasim.Options) (proveJob, error) {
	cfg, err := post.ProofConfig(t)
	if err != nil {
		return nil, err
	}
	sectors := cfg.Shape.Sectors * partitions
	if cfg.Winning {
		sectors = 1
	}
	pub, proofs, err := vanillasim.PoSt(ctx, cfg, sectors, o)
	if err != nil {
		return nil, err
	}
	raw := make([][]byte, len(proofs))
	for i, p := range proofs {
		if raw[i], err = p.AppendBincode(&cfg, nil); err != nil {
			return nil, err
		}
	}
	var known []filgroth.PoStSector
	for _, s := range pub.Sectors {
		known = append(known, filgroth.PoStSector{Number: s.ID, CommR: s.CommR})
	}
	return func(ctx context.Context, e *filgroth.Engine) (*filgroth.Report, error) {
		if cfg.Winning {
			p, rep, err := e.GenerateWinningPoStWithVanilla(ctx, t, o.Miner, pub.Randomness, raw)
			if err != nil {
				return rep, err
			}
			return rep, verified(e.VerifyWinningPoSt(ctx, pub.Randomness, *p, known[0]))
		}
		p, rep, err := e.GenerateWindowPoStWithVanilla(ctx, t, o.Miner, pub.Randomness, raw)
		if err != nil {
			return rep, err
		}
		return rep, verified(e.VerifyWindowPoSt(ctx, pub.Randomness, *p, known))
	}, nil
}

func updateJob(ctx context.Context, t vanilla.UpdateProof, o vanillasim.Options) (proveJob, error) {
	shape, err := update.ProofShape(t)
	if err != nil {
		return nil, err
	}
	pub, proofs, err := vanillasim.Update(ctx, shape, o)
	if err != nil {
		return nil, err
	}
	raw := make([][]byte, len(proofs))
	for i, p := range proofs {
		if raw[i], err = p.AppendBincode(&shape, nil); err != nil {
			return nil, err
		}
	}
	info := filgroth.UpdateInfo{Proof: t, CommROld: pub.CommROld, CommRNew: pub.CommRNew, CommDNew: pub.CommDNew}
	return func(ctx context.Context, e *filgroth.Engine) (*filgroth.Report, error) {
		proof, rep, err := e.GenerateUpdateProofWithVanilla(ctx, info, raw)
		if err != nil {
			return rep, err
		}
		with := info
		with.Bytes = proof
		return rep, verified(e.VerifySectorUpdate(ctx, with))
	}, nil
}
