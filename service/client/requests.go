package client

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/filgroth/filgroth/service/cuzkv1"
)

// Envelope wraps the C1 JSON of a sector as the protocol wants it.
func Envelope(c1 []byte, sector, sectorSize uint64) ([]byte, error) {
	return json.Marshal(struct {
		SectorNum  uint64
		Phase1Out  string
		SectorSize uint64
	}{sector, base64.StdEncoding.EncodeToString(c1), sectorSize})
}

// PoRep is the request for all partitions of a sealed sector.
func PoRep(c1 []byte, sectorSize, miner, sector uint64) (*cuzkv1.SubmitProofRequest, error) {
	e, err := Envelope(c1, sector, sectorSize)
	if err != nil {
		return nil, err
	}
	return &cuzkv1.SubmitProofRequest{RequestId: fmt.Sprintf("porep-%d-%d", miner, sector), ProofKind: cuzkv1.ProofKind_POREP_SEAL_COMMIT,
		Priority: cuzkv1.Priority_NORMAL, SectorSize: sectorSize, VanillaProof: e, SectorNumber: sector, MinerId: miner}, nil
}

// WinningPoSt is the request for one sector's vanilla proof; proof is the abi number of its type.
func WinningPoSt(proof, sectorSize, miner uint64, randomness [32]byte, vanilla [][]byte) *cuzkv1.SubmitProofRequest {
	return &cuzkv1.SubmitProofRequest{RequestId: fmt.Sprintf("winpost-%d-%x", miner, randomness[:8]), ProofKind: cuzkv1.ProofKind_WINNING_POST,
		Priority: cuzkv1.Priority_CRITICAL, SectorSize: sectorSize, RegisteredProof: proof, VanillaProofs: vanilla, MinerId: miner, Randomness: randomness[:]}
}

// WindowPoSt is the request for one partition.
func WindowPoSt(proof, sectorSize, miner uint64, randomness [32]byte, vanilla [][]byte, partition uint32) *cuzkv1.SubmitProofRequest {
	return &cuzkv1.SubmitProofRequest{RequestId: fmt.Sprintf("wdpost-%d-%d-%v", miner, partition, randomness[:8]), ProofKind: cuzkv1.ProofKind_WINDOW_POST_PARTITION,
		Priority: cuzkv1.Priority_HIGH, SectorSize: sectorSize, RegisteredProof: proof, VanillaProofs: vanilla, MinerId: miner, Randomness: randomness[:], PartitionIndex: partition}
}

// Update is the request for all partitions of a sector update.
func Update(proof, sectorSize, miner, sector uint64, commROld, commRNew, commDNew [32]byte, vanilla [][]byte) *cuzkv1.SubmitProofRequest {
	return &cuzkv1.SubmitProofRequest{RequestId: fmt.Sprintf("snap-%d-%d", miner, sector), ProofKind: cuzkv1.ProofKind_SNAP_DEALS_UPDATE,
		Priority: cuzkv1.Priority_NORMAL, SectorSize: sectorSize, RegisteredProof: proof, VanillaProofs: vanilla, MinerId: miner, SectorNumber: sector,
		CommROld: commROld[:], CommRNew: commRNew[:], CommDNew: commDNew[:]}
}
