package main

import (
	"context"
	"fmt"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// adapter is an engine behind a node's interfaces: each method is a few lines.
type adapter struct{ e *filgroth.Engine }

var (
	_ verifier = adapter{}
	_ prover   = adapter{}
	_ snarks   = adapter{}
)

func bytes32(name string, b []byte) (v [32]byte, err error) {
	if len(b) != len(v) {
		return v, fmt.Errorf("%s: %d bytes, want 32", name, len(b))
	}
	return [32]byte(b), nil
}

// masked clears the two top bits, as nodes do before every PoSt call.
func masked(r randomness) ([32]byte, error) {
	v, err := bytes32("randomness", r)
	v[31] &= 0x3f
	return v, err
}

func (a adapter) VerifySeal(i sealVerifyInfo) (bool, error) {
	ticket, err := bytes32("ticket", i.Randomness)
	if err != nil {
		return false, err
	}
	seed, err := bytes32("seed", i.InteractiveRandomness)
	if err != nil {
		return false, err
	}
	return a.e.VerifySeal(context.Background(), filgroth.SealVerifyInfo{Proof: vanilla.SealProof(i.SealProof), Miner: uint64(i.Miner),
		Sector: uint64(i.Number), Ticket: ticket, Seed: seed, CommR: i.SealedCID, CommD: i.UnsealedCID, Bytes: i.Proof})
}

func aggregateInfo(a *aggregateSealVerifyProofAndInfos) (filgroth.AggregateInfo, error) {
	out := filgroth.AggregateInfo{Miner: uint64(a.Miner), Proof: vanilla.SealProof(a.SealProof), Aggregation: int64(a.AggregateProof)}
	for _, i := range a.Infos {
		ticket, err := bytes32("ticket", i.Randomness)
		if err != nil {
			return out, err
		}
		seed, err := bytes32("seed", i.InteractiveRandomness)
		if err != nil {
			return out, err
		}
		out.Sectors = append(out.Sectors, filgroth.AggregateSector{Number: uint64(i.Number), Ticket: ticket, Seed: seed,
			CommR: i.SealedCID, CommD: i.UnsealedCID})
	}
	return out, nil
}

func (a adapter) VerifyAggregateSeals(i aggregateSealVerifyProofAndInfos) (bool, error) {
	info, err := aggregateInfo(&i)
	if err != nil {
		return false, err
	}
	return a.e.VerifyAggregateSeals(context.Background(), info, i.Proof)
}

func (a adapter) AggregateSealProofs(i aggregateSealVerifyProofAndInfos, proofs [][]byte) ([]byte, error) {
	info, err := aggregateInfo(&i)
	if err != nil {
		return nil, err
	}
	return a.e.AggregateSealProofs(context.Background(), info, proofs)
}

func (a adapter) VerifyReplicaUpdate(i replicaUpdateInfo) (bool, error) {
	return a.e.VerifySectorUpdate(context.Background(), filgroth.UpdateInfo{Proof: vanilla.UpdateProof(i.UpdateProofType),
		CommROld: i.OldSealedSectorCID, CommRNew: i.NewSealedSectorCID, CommDNew: i.NewUnsealedSectorCID, Bytes: i.Proof})
}

func (a adapter) VerifyWinningPoSt(ctx context.Context, i postVerifyInfo) (bool, error) {
	r, err := masked(i.Randomness)
	if err != nil {
		return false, err
	}
	if len(i.Proofs) != 1 || len(i.ChallengedSectors) != 1 {
		return false, fmt.Errorf("%d proofs of %d sectors, want one of one", len(i.Proofs), len(i.ChallengedSectors))
	}
	s := i.ChallengedSectors[0]
	return a.e.VerifyWinningPoSt(ctx, r, filgroth.PoStProof{Proof: vanilla.PoStProof(i.Proofs[0].PoStProof), Bytes: i.Proofs[0].ProofBytes},
		filgroth.PoStSector{Number: uint64(s.SectorNumber), CommR: s.SealedCID})
}

func (a adapter) VerifyWindowPoSt(ctx context.Context, i postVerifyInfo) (bool, error) {
	r, err := masked(i.Randomness)
	if err != nil {
		return false, err
	}
	if len(i.Proofs) != 1 {
		return false, fmt.Errorf("%d proofs, want one", len(i.Proofs))
	}
	var sectors []filgroth.PoStSector
	for _, s := range i.ChallengedSectors {
		sectors = append(sectors, filgroth.PoStSector{Number: uint64(s.SectorNumber), CommR: s.SealedCID})
	}
	return a.e.VerifyWindowPoSt(ctx, r, filgroth.PoStProof{Proof: vanilla.PoStProof(i.Proofs[0].PoStProof), Bytes: i.Proofs[0].ProofBytes}, sectors)
}

func (a adapter) GenerateWinningPoStSectorChallenge(_ context.Context, _ registeredPoStProof, miner actorID, r randomness, eligible uint64) ([]uint64, error) {
	v, err := masked(r)
	if err != nil {
		return nil, err
	}
	i, err := filgroth.GenerateWinningPoStSectorChallenge(uint64(miner), v, eligible)
	if err != nil {
		return nil, err
	}
	return []uint64{i}, nil
}

func (a adapter) SealCommitPhase2(ctx context.Context, c1 []byte, number sectorNumber, miner actorID) ([]byte, error) {
	proof, _, err := a.e.SealCommitPhase2(ctx, c1, uint64(number), uint64(miner))
	return proof, err
}

func (a adapter) GenerateWinningPoStWithVanilla(ctx context.Context, t registeredPoStProof, miner actorID, r randomness, proofs [][]byte) ([]postProof, error) {
	v, err := masked(r)
	if err != nil {
		return nil, err
	}
	p, _, err := a.e.GenerateWinningPoStWithVanilla(ctx, vanilla.PoStProof(t), uint64(miner), v, proofs)
	if err != nil {
		return nil, err
	}
	return []postProof{{t, p.Bytes}}, nil
}

func (a adapter) GenerateSinglePartitionWindowPoStWithVanilla(ctx context.Context, t registeredPoStProof, miner actorID, r randomness, proofs [][]byte, partition uint) (*postProof, error) {
	v, err := masked(r)
	if err != nil {
		return nil, err
	}
	p, _, err := a.e.GenerateSinglePartitionWindowPoStWithVanilla(ctx, vanilla.PoStProof(t), uint64(miner), v, proofs, partition)
	if err != nil {
		return nil, err
	}
	return &postProof{t, p.Bytes}, nil
}

func (a adapter) GenerateUpdateProofWithVanilla(ctx context.Context, t registeredUpdate, key, sealed, unsealed commitment, vproofs [][]byte) ([]byte, error) {
	proof, _, err := a.e.GenerateUpdateProofWithVanilla(ctx, filgroth.UpdateInfo{Proof: vanilla.UpdateProof(t), CommROld: key,
		CommRNew: sealed, CommDNew: unsealed}, vproofs)
	return proof, err
}
