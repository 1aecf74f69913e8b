package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Engine is what the daemon needs of a *filgroth.Engine. Each proof that it returns has been verified.
type Engine interface {
	SealCommitPhase2(ctx context.Context, c1 []byte, sector, miner uint64) ([]byte, *filgroth.Report, error)
	GenerateWinningPoStWithVanilla(ctx context.Context, t vanilla.PoStProof, miner uint64, randomness [32]byte, proofs [][]byte) (*filgroth.PoStProof, *filgroth.Report, error)
	GenerateSinglePartitionWindowPoStWithVanilla(ctx context.Context, t vanilla.PoStProof, miner uint64, randomness [32]byte, proofs [][]byte, partition uint) (*filgroth.PoStProof, *filgroth.Report, error)
	GenerateUpdateProofWithVanilla(ctx context.Context, info filgroth.UpdateInfo, proofs [][]byte) ([]byte, *filgroth.Report, error)
	Status() filgroth.Status
	Keys() []filgroth.KeyInfo
	Preload(ctx context.Context, kind filgroth.Kind, size vanilla.SectorSize) (already bool, err error)
	Evict(kind filgroth.Kind, size vanilla.SectorSize) (was bool, freed int64, err error)
}

var _ Engine = (*filgroth.Engine)(nil)

// Device is what the status tells of a device, by the name of its backend.
type Device struct {
	Ordinal              uint32
	Name                 string
	TotalBytes, HeldByUs uint64
}

// prove runs a validated request on the engine. A panic is an error; so is an answer that cannot be a proof.
func prove(ctx context.Context, e Engine, q *cuzkv1.SubmitProofRequest) (proof []byte, rep *filgroth.Report, err error) {
	defer func() {
		if p := recover(); p != nil {
			proof, err = nil, fmt.Errorf("server: panic while proving: %v\n%s", p, debug.Stack())
		}
	}()
	var post *filgroth.PoStProof
	t := vanilla.PoStProof(q.RegisteredProof)
	switch q.ProofKind {
	case cuzkv1.ProofKind_POREP_SEAL_COMMIT:
		proof, rep, err = e.SealCommitPhase2(ctx, q.VanillaProof, q.SectorNumber, q.MinerId)
	case cuzkv1.ProofKind_SNAP_DEALS_UPDATE:
		info := filgroth.UpdateInfo{Proof: vanilla.UpdateProof(q.RegisteredProof), CommROld: [32]byte(q.CommROld),
			CommRNew: [32]byte(q.CommRNew), CommDNew: [32]byte(q.CommDNew)}
		proof, rep, err = e.GenerateUpdateProofWithVanilla(ctx, info, q.VanillaProofs)
	case cuzkv1.ProofKind_WINDOW_POST_PARTITION:
		post, rep, err = e.GenerateSinglePartitionWindowPoStWithVanilla(ctx, t, q.MinerId, [32]byte(q.Randomness), q.VanillaProofs, uint(q.PartitionIndex))
	case cuzkv1.ProofKind_WINNING_POST:
		post, rep, err = e.GenerateWinningPoStWithVanilla(ctx, t, q.MinerId, [32]byte(q.Randomness), q.VanillaProofs)
	default:
		return nil, nil, fmt.Errorf("server: proof kind %v", q.ProofKind)
	}
	if err != nil {
		return nil, rep, err
	}
	if post != nil {
		proof = post.Bytes
	}
	if len(proof) == 0 || len(proof)%groth16.ProofSize != 0 {
		return nil, rep, errors.New("server: the engine gave no proof")
	}
	return proof, rep, nil
}
