package server

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"unicode/utf8"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// ErrRequest: a request that can never be served; every RequestError is one.
var ErrRequest = errors.New("server: bad request")

// RequestError names the field.
type RequestError struct{ Field, Reason string }

func (e *RequestError) Error() string { return e.Field + ": " + e.Reason }

// Is makes errors.Is(err, ErrRequest) hold.
func (e *RequestError) Is(target error) bool { return target == ErrRequest }

func refuse(field, format string, args ...any) error {
	return &RequestError{field, fmt.Sprintf(format, args...)}
}

const (
	maxRequestID = 512
	// maxProofs bounds the number of vanilla proofs: a WindowPoSt partition has 2,349 sectors.
	maxProofs = 1 << 14
)

// kinds are the protocol's kinds in the order of their numbers.
var kinds = []cuzkv1.ProofKind{cuzkv1.ProofKind_POREP_SEAL_COMMIT, cuzkv1.ProofKind_SNAP_DEALS_UPDATE,
	cuzkv1.ProofKind_WINDOW_POST_PARTITION, cuzkv1.ProofKind_WINNING_POST}

// checkRequest refuses what is malformed on its face. Vanilla proofs are decoded when the job runs.
func checkRequest(q *cuzkv1.SubmitProofRequest) error {
	if q == nil {
		return refuse("submit", "missing")
	}
	if len(q.RequestId) > maxRequestID || !utf8.ValidString(q.RequestId) {
		return refuse("request_id", "%d bytes; at most %d of UTF-8", len(q.RequestId), maxRequestID)
	}
	if _, ok := cuzkv1.Priority_name[int32(q.Priority)]; !ok {
		return refuse("priority", "unknown value %d", q.Priority)
	}
	if q.SectorNumber > 1<<63-1 {
		return refuse("sector_number", "%d is out of range", q.SectorNumber)
	}
	var size vanilla.SectorSize
	switch q.ProofKind {
	case cuzkv1.ProofKind_POREP_SEAL_COMMIT:
		if len(q.VanillaProof) == 0 {
			return refuse("vanilla_proof", "missing")
		}
	case cuzkv1.ProofKind_SNAP_DEALS_UPDATE:
		if q.RegisteredProof >= uint64(vanilla.UpdateProofs) {
			return refuse("registered_proof", "%d is no update proof", q.RegisteredProof)
		}
		size = vanilla.UpdateProof(q.RegisteredProof).Size()
		for _, c := range []struct {
			field string
			v     []byte
		}{{"comm_r_old", q.CommROld}, {"comm_r_new", q.CommRNew}, {"comm_d_new", q.CommDNew}} {
			if len(c.v) != 32 {
				return refuse(c.field, "%d bytes, not 32", len(c.v))
			}
		}
	case cuzkv1.ProofKind_WINDOW_POST_PARTITION, cuzkv1.ProofKind_WINNING_POST:
		if q.RegisteredProof >= uint64(vanilla.PoStProofs) {
			return refuse("registered_proof", "%d is no PoSt proof", q.RegisteredProof)
		}
		t := vanilla.PoStProof(q.RegisteredProof)
		if t.Winning() != (q.ProofKind == cuzkv1.ProofKind_WINNING_POST) {
			return refuse("registered_proof", "%v does not go with %v", t, q.ProofKind)
		}
		size = t.Size()
		if len(q.Randomness) != 32 {
			return refuse("randomness", "%d bytes, not 32", len(q.Randomness))
		}
	default:
		return refuse("proof_kind", "unknown value %d", q.ProofKind)
	}
	if q.ProofKind != cuzkv1.ProofKind_POREP_SEAL_COMMIT && (len(q.VanillaProofs) == 0 || len(q.VanillaProofs) > maxProofs) {
		return refuse("vanilla_proofs", "%d of them; from 1 to %d", len(q.VanillaProofs), maxProofs)
	}
	return checkSize(q.SectorSize, size)
}

// checkSize compares the size given with that of the type, 0 where it is not known yet.
func checkSize(given uint64, size vanilla.SectorSize) error {
	if given == 0 || size != 0 && given == uint64(size) {
		return nil
	}
	if size != 0 {
		return refuse("sector_size", "%d, but the proof type has %d", given, uint64(size))
	}
	for _, s := range vanilla.RegisteredSizes {
		if given == uint64(s) {
			return nil
		}
	}
	return refuse("sector_size", "%d is the size of no sector", given)
}

// priorityOf is the request's, else its kind's.
func priorityOf(q *cuzkv1.SubmitProofRequest) cuzkv1.Priority {
	switch {
	case q.Priority != cuzkv1.Priority_PRIORITY_UNSPECIFIED:
		return q.Priority
	case q.ProofKind == cuzkv1.ProofKind_WINNING_POST:
		return cuzkv1.Priority_CRITICAL
	case q.ProofKind == cuzkv1.ProofKind_WINDOW_POST_PARTITION:
		return cuzkv1.Priority_HIGH
	}
	return cuzkv1.Priority_NORMAL
}

// enginePriority is a priority in the engine's terms.
func enginePriority(p cuzkv1.Priority) filgroth.Priority {
	switch p {
	case cuzkv1.Priority_LOW:
		return filgroth.PriorityLow
	case cuzkv1.Priority_HIGH:
		return filgroth.PriorityHigh
	case cuzkv1.Priority_CRITICAL:
		return filgroth.PriorityCritical
	}
	return filgroth.PriorityNormal
}

// digest covers everything that determines the proof: not the request id, not the priority.
func digest(q *cuzkv1.SubmitProofRequest) []byte {
	h := sha256.New()
	for _, v := range []uint64{uint64(q.ProofKind), q.SectorSize, q.RegisteredProof, q.SectorNumber, q.MinerId, uint64(q.PartitionIndex), uint64(len(q.VanillaProofs))} {
		number(h, v)
	}
	for _, b := range append([][]byte{q.VanillaProof, q.Randomness, q.CommROld, q.CommRNew, q.CommDNew}, q.VanillaProofs...) {
		number(h, uint64(len(b)))
		h.Write(b)
	}
	return h.Sum(nil)
}

func number(h hash.Hash, v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	h.Write(b[:])
}
