package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/bench/shapes"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/update"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/filgroth/filgroth/synth/vanillasim"
)

// stressWork is one simulated job, as node software would hand it to the engine.
type stressWork struct {
	name   string
	prove  func(ctx context.Context, e *filgroth.Engine) ([]byte, error)
	verify func(ctx context.Context, e *filgroth.Engine, proof []byte) (bool, error)
	last   atomic.Int64 // nanoseconds that the last proof took
}

// usual is a guess of a proof's time.
func (w *stressWork) usual() time.Duration { return time.Duration(w.last.Load()) }

func (w *stressWork) took(d time.Duration) { w.last.Store(int64(d)) }

// newStressWork simulates the vanilla proof of a shape.
func newStressWork(ctx context.Context, name string, seed uint64) (*stressWork, error) {
	sh, err := shapes.Parse(name)
	if err != nil {
		return nil, err
	}
	w := &stressWork{name: name}
	number := slices.Index(vanilla.RegisteredSizes[:], sh.Size)
	o := vanillasim.Options{Seed: seed, Miner: 1000, Sector: 7}
	switch sh.Kind {
	case shapes.PoRep:
		err = w.porep(ctx, vanilla.SealProof(5+number), o)
	case shapes.Winning:
		err = w.post(ctx, vanilla.PoStProof(number), o)
	case shapes.Window:
		err = w.post(ctx, vanilla.PoStProof(10+number), o)
	case shapes.Update:
		err = w.update(ctx, vanilla.UpdateProof(number), o)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return w, nil
}

func (w *stressWork) porep(ctx context.Context, p vanilla.SealProof, o vanillasim.Options) error {
	c1, err := vanillasim.SealProof(ctx, p, o)
	if err != nil {
		return err
	}
	doc, err := c1.AppendJSON(nil)
	if err != nil {
		return err
	}
	w.prove = func(ctx context.Context, e *filgroth.Engine) ([]byte, error) {
		proof, _, err := e.SealCommitPhase2(ctx, doc, o.Sector, o.Miner)
		return proof, err
	}
	w.verify = func(ctx context.Context, e *filgroth.Engine, proof []byte) (bool, error) {
		return e.VerifySeal(ctx, filgroth.SealVerifyInfo{Proof: p, Miner: o.Miner, Sector: o.Sector, Ticket: c1.Ticket, Seed: c1.Seed,
			CommR: c1.CommR, CommD: c1.CommD, Bytes: proof})
	}
	return nil
}

func (w *stressWork) post(ctx context.Context, p vanilla.PoStProof, o vanillasim.Options) error {
	cfg, err := post.ProofConfig(p)
	if err != nil {
		return err
	}
	n := cfg.Shape.Sectors
	if p.Winning() {
		n = 1
	}
	public, proofs, err := vanillasim.PoSt(ctx, cfg, n, o)
	if err != nil {
		return err
	}
	var docs [][]byte
	var sectors []filgroth.PoStSector
	for i, s := range proofs {
		doc, err := s.AppendBincode(&cfg, nil)
		if err != nil {
			return err
		}
		docs = append(docs, doc)
		sectors = append(sectors, filgroth.PoStSector{Number: public.Sectors[i].ID, CommR: public.Sectors[i].CommR})
	}
	w.prove = func(ctx context.Context, e *filgroth.Engine) ([]byte, error) {
		generate := e.GenerateWindowPoStWithVanilla
		if p.Winning() {
			generate = e.GenerateWinningPoStWithVanilla
		}
		proof, _, err := generate(ctx, p, o.Miner, public.Randomness, docs)
		if err != nil {
			return nil, err
		}
		return proof.Bytes, nil
	}
	w.verify = func(ctx context.Context, e *filgroth.Engine, proof []byte) (bool, error) {
		if p.Winning() {
			return e.VerifyWinningPoSt(ctx, public.Randomness, filgroth.PoStProof{Proof: p, Bytes: proof}, sectors[0])
		}
		return e.VerifyWindowPoSt(ctx, public.Randomness, filgroth.PoStProof{Proof: p, Bytes: proof}, sectors)
	}
	return nil
}

func (w *stressWork) update(ctx context.Context, p vanilla.UpdateProof, o vanillasim.Options) error {
	shape, err := update.ProofShape(p)
	if err != nil {
		return err
	}
	public, proofs, err := vanillasim.Update(ctx, shape, o)
	if err != nil {
		return err
	}
	var docs [][]byte
	for _, s := range proofs {
		doc, err := s.AppendBincode(&shape, nil)
		if err != nil {
			return err
		}
		docs = append(docs, doc)
	}
	info := filgroth.UpdateInfo{Proof: p, CommROld: public.CommROld, CommRNew: public.CommRNew, CommDNew: public.CommDNew}
	w.prove = func(ctx context.Context, e *filgroth.Engine) ([]byte, error) {
		proof, _, err := e.GenerateUpdateProofWithVanilla(ctx, info, docs)
		return proof, err
	}
	w.verify = func(ctx context.Context, e *filgroth.Engine, proof []byte) (bool, error) {
		i := info
		i.Bytes = proof
		return e.VerifySectorUpdate(ctx, i)
	}
	return nil
}
