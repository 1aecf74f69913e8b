package filgroth

import (
	"context"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/update"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// UpdateInfo is what a verifier knows of a sector update (SnapDeals).
type UpdateInfo struct {
	Proof                        vanilla.UpdateProof
	CommROld, CommRNew, CommDNew [32]byte
	// Bytes are the concatenated partition proofs; empty where they are to be made.
	Bytes []byte
}

func (i *UpdateInfo) public() (*update.Public, error) {
	if !i.Proof.Valid() {
		return nil, fmt.Errorf("%w: update proof %d", ErrUnsupported, int(i.Proof))
	}
	shape, err := update.ProofShape(i.Proof)
	if err != nil {
		return nil, err
	}
	return &update.Public{Shape: shape, CommROld: i.CommROld, CommDNew: i.CommDNew, CommRNew: i.CommRNew, HSelect: shape.DefaultH()}, nil
}

func updateInputs(pub *update.Public) ([][]fr.Element, error) {
	out := make([][]fr.Element, pub.Shape.Partitions)
	for k := range out {
		var err error
		if out[k], err = pub.Inputs(k); err != nil {
			return nil, &InputError{"update", err}
		}
	}
	return out, nil
}

// GenerateUpdateProofWithVanilla proves a sector update. proofs are the vanilla proofs of all partitions in bincode, in
// order. They are checked first.
func (e *Engine) GenerateUpdateProofWithVanilla(ctx context.Context, info UpdateInfo, proofs [][]byte) ([]byte, *Report, error) {
	if e.closed.Load() {
		return nil, nil, ErrClosed
	}
	pub, err := info.public()
	if err != nil {
		return nil, nil, err
	}
	public, err := updateInputs(pub)
	if err != nil {
		return nil, nil, err
	}
	decoded, err := decodeUpdate(ctx, pub, proofs)
	if err != nil {
		return nil, nil, err
	}
	r := &request{
		spec:       circuitSpec{SnapDeals, info.Proof.Size()},
		priority:   SnapDeals.priority(),
		partitions: len(public),
		circuit:    func(k int) (synth.Circuit, error) { return decoded[k].Circuit(pub, k) },
		public:     func(k int) ([]fr.Element, error) { return public[k], nil },
	}
	id := [][]byte{[]byte("update"), u64(uint64(info.Proof)), info.CommROld[:], info.CommRNew[:], info.CommDNew[:]}
	r.id = requestID(append(id, proofs...)...)
	out, rep, err := e.run(ctx, r)
	if err != nil {
		return nil, rep, err
	}
	return concat(out), rep, nil
}

func decodeUpdate(ctx context.Context, pub *update.Public, proofs [][]byte) ([]*update.PartitionProof, error) {
	ctx, sp := span.Start(ctx, "decode")
	defer sp.End()
	if len(proofs) != pub.Shape.Partitions {
		return nil, &InputError{"proofs", fmt.Errorf("%d partitions, expected %d", len(proofs), pub.Shape.Partitions)}
	}
	decoded := make([]*update.PartitionProof, len(proofs))
	var errs []error
	for k, b := range proofs {
		sp.AddBytes(int64(len(b)))
		p, err := update.DecodePartitionProof(&pub.Shape, b)
		if err != nil {
			errs = append(errs, &InputError{fmt.Sprintf("proofs[%d]", k), err})
			continue
		}
		if err := update.Check(ctx, pub, k, p); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			errs = append(errs, &PartitionError{k, fmt.Errorf("%w: %w", ErrVanilla, err)})
		}
		decoded[k] = p
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return decoded, nil
}

// VerifySectorUpdate checks the proofs of all partitions of an update.
func (e *Engine) VerifySectorUpdate(ctx context.Context, info UpdateInfo) (bool, error) {
	if e.closed.Load() {
		return false, ErrClosed
	}
	pub, err := info.public()
	if err != nil {
		return false, err
	}
	public, err := updateInputs(pub)
	if err != nil {
		return false, err
	}
	return e.verify(ctx, circuitSpec{SnapDeals, info.Proof.Size()}, public, info.Bytes)
}
