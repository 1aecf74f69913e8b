package main

import "context"

// What follows has the shape of the types and interfaces that Go node software (Lotus, Curio) defines for its provers,
// with CIDs reduced to their 32-byte digests; a node's own adapter uses the real ones. Names and fields are interface facts.

type (
	actorID             uint64
	sectorNumber        uint64
	registeredSealProof int64
	registeredPoStProof int64
	registeredUpdate    int64
	registeredAggregate int64
	randomness          []byte
	commitment          [32]byte
)

type sealVerifyInfo struct {
	SealProof             registeredSealProof
	Miner                 actorID
	Number                sectorNumber
	Randomness            randomness
	InteractiveRandomness randomness
	Proof                 []byte
	SealedCID             commitment
	UnsealedCID           commitment
}

type aggregateSealVerifyInfo struct {
	Number                sectorNumber
	Randomness            randomness
	InteractiveRandomness randomness
	SealedCID             commitment
	UnsealedCID           commitment
}

type aggregateSealVerifyProofAndInfos struct {
	Miner          actorID
	SealProof      registeredSealProof
	AggregateProof registeredAggregate
	Proof          []byte
	Infos          []aggregateSealVerifyInfo
}

type replicaUpdateInfo struct {
	UpdateProofType      registeredUpdate
	OldSealedSectorCID   commitment
	NewSealedSectorCID   commitment
	NewUnsealedSectorCID commitment
	Proof                []byte
}

type sectorInfo struct {
	SealProof    registeredSealProof
	SectorNumber sectorNumber
	SealedCID    commitment
}

type postProof struct {
	PoStProof  registeredPoStProof
	ProofBytes []byte
}

type postVerifyInfo struct {
	Randomness        randomness
	Proofs            []postProof
	ChallengedSectors []sectorInfo
	Prover            actorID
}

// verifier is the verifying half of a node.
type verifier interface {
	VerifySeal(sealVerifyInfo) (bool, error)
	VerifyAggregateSeals(aggregateSealVerifyProofAndInfos) (bool, error)
	VerifyReplicaUpdate(replicaUpdateInfo) (bool, error)
	VerifyWinningPoSt(context.Context, postVerifyInfo) (bool, error)
	VerifyWindowPoSt(context.Context, postVerifyInfo) (bool, error)
	GenerateWinningPoStSectorChallenge(context.Context, registeredPoStProof, actorID, randomness, uint64) ([]uint64, error)
}

// prover is the aggregating half.
type prover interface {
	AggregateSealProofs(aggregateSealVerifyProofAndInfos, [][]byte) ([]byte, error)
}

// snarks are the proving calls that a node hands to a child process or a daemon.
type snarks interface {
	SealCommitPhase2(ctx context.Context, phase1Out []byte, number sectorNumber, miner actorID) ([]byte, error)
	GenerateWinningPoStWithVanilla(ctx context.Context, t registeredPoStProof, miner actorID, r randomness, proofs [][]byte) ([]postProof, error)
	GenerateSinglePartitionWindowPoStWithVanilla(ctx context.Context, t registeredPoStProof, miner actorID, r randomness, proofs [][]byte, partition uint) (*postProof, error)
	GenerateUpdateProofWithVanilla(ctx context.Context, t registeredUpdate, key, sealed, unsealed commitment, vproofs [][]byte) ([]byte, error)
}
