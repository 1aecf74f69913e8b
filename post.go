package filgroth

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// PoStSector is a sector as a verifier of spacetime proofs knows it.
type PoStSector struct {
	Number uint64
	CommR  [32]byte
}

// PoStProof is a proof of spacetime with its type: the concatenated proofs of all its partitions.
type PoStProof struct {
	Proof vanilla.PoStProof
	Bytes []byte
}

// GenerateWinningPoStWithVanilla proves one sector. proofs holds its one vanilla proof in bincode, as node software carries
// it. randomness must be a canonical field element: callers clear the two top bits of its last byte.
func (e *Engine) GenerateWinningPoStWithVanilla(ctx context.Context, t vanilla.PoStProof, miner uint64, randomness [32]byte, proofs [][]byte) (*PoStProof, *Report, error) {
	if t.Valid() && !t.Winning() {
		return nil, nil, fmt.Errorf("%w: %v is not a WinningPoSt", ErrUnsupported, t)
	}
	return e.post(ctx, t, miner, randomness, proofs, 0)
}

// GenerateWindowPoStWithVanilla proves all sectors, cut into partitions of the circuit's size in the order given: that
// of the sector numbers, as everywhere in node software.
func (e *Engine) GenerateWindowPoStWithVanilla(ctx context.Context, t vanilla.PoStProof, miner uint64, randomness [32]byte, proofs [][]byte) (*PoStProof, *Report, error) {
	if t.Valid() && t.Winning() {
		return nil, nil, fmt.Errorf("%w: %v is not a WindowPoSt", ErrUnsupported, t)
	}
	return e.post(ctx, t, miner, randomness, proofs, 0)
}

// GenerateSinglePartitionWindowPoStWithVanilla proves one partition alone: proofs are its sectors only, at most as many
// as the circuit has. A partition with fewer repeats its last sector, as the protocol has it.
func (e *Engine) GenerateSinglePartitionWindowPoStWithVanilla(ctx context.Context, t vanilla.PoStProof, miner uint64, randomness [32]byte, proofs [][]byte, partition uint) (*PoStProof, *Report, error) {
	cfg, err := windowConfig(t)
	if err != nil {
		return nil, nil, err
	}
	if len(proofs) > cfg.Shape.Sectors {
		return nil, nil, &InputError{"proofs", fmt.Errorf("%d sectors, a partition has at most %d", len(proofs), cfg.Shape.Sectors)}
	}
	if partition > 1<<20 {
		return nil, nil, &InputError{"partition", fmt.Errorf("%d", partition)}
	}
	return e.post(ctx, t, miner, randomness, proofs, int(partition)*cfg.Shape.Sectors)
}

// MergeWindowPoStPartitionProofs joins partition proofs, in the order given.
func MergeWindowPoStPartitionProofs(t vanilla.PoStProof, proofs []PoStProof) (*PoStProof, error) {
	if _, err := windowConfig(t); err != nil {
		return nil, err
	}
	if len(proofs) == 0 {
		return nil, &InputError{"proofs", errors.New("none given")}
	}
	out := &PoStProof{Proof: t}
	for i, p := range proofs {
		if p.Proof != t {
			return nil, &InputError{fmt.Sprintf("proofs[%d]", i), fmt.Errorf("is of type %v, not %v", p.Proof, t)}
		}
		if len(p.Bytes) != groth16.ProofSize {
			return nil, &InputError{fmt.Sprintf("proofs[%d]", i), fmt.Errorf("has %d bytes, not %d", len(p.Bytes), groth16.ProofSize)}
		}
		out.Bytes = append(out.Bytes, p.Bytes...)
	}
	return out, nil
}

func windowConfig(t vanilla.PoStProof) (post.Config, error) {
	if !t.Valid() || t.Winning() {
		return post.Config{}, fmt.Errorf("%w: %v is not a WindowPoSt", ErrUnsupported, t)
	}
	return post.ProofConfig(t)
}

func postSpec(t vanilla.PoStProof) circuitSpec {
	if t.Winning() {
		return circuitSpec{WinningPoSt, t.Size()}
	}
	return circuitSpec{WindowPoSt, t.Size()}
}

// post decodes, checks and proves. All faulty sectors are named in one error.
func (e *Engine) post(ctx context.Context, t vanilla.PoStProof, miner uint64, randomness [32]byte, proofs [][]byte, offset int) (*PoStProof, *Report, error) {
	if e.closed.Load() {
		return nil, nil, ErrClosed
	}
	if !t.Valid() {
		return nil, nil, fmt.Errorf("%w: PoSt proof %d", ErrUnsupported, int(t))
	}
	cfg, err := post.ProofConfig(t)
	if err != nil {
		return nil, nil, err
	}
	parts, pub, err := decodePoSt(ctx, cfg, randomness, proofs, offset)
	if err != nil {
		return nil, nil, err
	}
	public, err := pub.AllInputs(ctx)
	if err != nil {
		return nil, nil, inputError(ctx, "vanilla proofs", err)
	}
	r := &request{
		spec:       postSpec(t),
		partitions: len(parts),
		circuit:    func(k int) (synth.Circuit, error) { return parts[k].Circuit() },
		public:     func(k int) ([]fr.Element, error) { return public[k], nil },
	}
	r.priority = r.spec.Kind.priority()
	prover := vanilla.ProverID(miner)
	id := [][]byte{[]byte("post"), u64(uint64(t)), prover[:], randomness[:], u64(uint64(offset))}
	r.id = requestID(append(id, proofs...)...)
	out, rep, err := e.run(ctx, r)
	if err != nil {
		return nil, rep, err
	}
	return &PoStProof{t, concat(out)}, rep, nil
}

func decodePoSt(ctx context.Context, cfg post.Config, randomness [32]byte, proofs [][]byte, offset int) ([]*post.Partition, *post.Public, error) {
	ctx, sp := span.Start(ctx, "decode")
	defer sp.End()
	pub := &post.Public{Config: cfg, Randomness: randomness, Offset: offset}
	if len(proofs) == 0 {
		return nil, nil, &InputError{"proofs", errors.New("none given")}
	}
	var errs []error
	decoded := make([]*post.SectorProof, len(proofs))
	for i, b := range proofs {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		sp.AddBytes(int64(len(b)))
		p, err := post.DecodeSectorProof(&cfg, b)
		if err != nil {
			errs = append(errs, &InputError{fmt.Sprintf("proofs[%d]", i), err})
			continue
		}
		decoded[i] = p
		pub.Sectors = append(pub.Sectors, post.Sector{ID: p.SectorID, CommR: p.CommR})
	}
	if len(errs) > 0 {
		return nil, nil, errors.Join(errs...)
	}
	parts, err := post.Assemble(pub, decoded)
	if err != nil {
		return nil, nil, &InputError{"proofs", err}
	}
	for _, p := range parts {
		if err := post.Check(ctx, p); err != nil {
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			errs = append(errs, &PartitionError{p.Index, fmt.Errorf("%w: %w", ErrVanilla, err)})
		}
	}
	if len(errs) > 0 {
		return nil, nil, errors.Join(errs...)
	}
	return parts, pub, nil
}

// FaultySectors lists the numbers of all sectors that an error of the PoSt calls names as faulty, each once, ascending.
func FaultySectors(err error) []uint64 {
	seen := map[uint64]bool{}
	var walk func(error)
	walk = func(err error) {
		switch x := err.(type) {
		case nil:
			return
		case *vanilla.CheckError:
			for _, f := range x.Faults {
				seen[f.Sector] = true
			}
		}
		switch x := err.(type) {
		case interface{ Unwrap() error }:
			walk(x.Unwrap())
		case interface{ Unwrap() []error }:
			for _, y := range x.Unwrap() {
				walk(y)
			}
		}
	}
	walk(err)
	out := make([]uint64, 0, len(seen))
	for n := range seen {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// VerifyWinningPoSt checks a proof for one sector.
func (e *Engine) VerifyWinningPoSt(ctx context.Context, randomness [32]byte, proof PoStProof, sector PoStSector) (bool, error) {
	if proof.Proof.Valid() && !proof.Proof.Winning() {
		return false, fmt.Errorf("%w: %v is not a WinningPoSt", ErrUnsupported, proof.Proof)
	}
	return e.verifyPoSt(ctx, randomness, proof, []PoStSector{sector})
}

// VerifyWindowPoSt checks a proof for the sectors given, in the order in which they were proven.
func (e *Engine) VerifyWindowPoSt(ctx context.Context, randomness [32]byte, proof PoStProof, sectors []PoStSector) (bool, error) {
	if proof.Proof.Valid() && proof.Proof.Winning() {
		return false, fmt.Errorf("%w: %v is not a WindowPoSt", ErrUnsupported, proof.Proof)
	}
	return e.verifyPoSt(ctx, randomness, proof, sectors)
}

func (e *Engine) verifyPoSt(ctx context.Context, randomness [32]byte, proof PoStProof, sectors []PoStSector) (bool, error) {
	if e.closed.Load() {
		return false, ErrClosed
	}
	if !proof.Proof.Valid() {
		return false, fmt.Errorf("%w: PoSt proof %d", ErrUnsupported, int(proof.Proof))
	}
	cfg, err := post.ProofConfig(proof.Proof)
	if err != nil {
		return false, err
	}
	if len(sectors) == 0 {
		return false, &InputError{"sectors", errors.New("none given")}
	}
	pub := &post.Public{Config: cfg, Randomness: randomness}
	for _, s := range sectors {
		pub.Sectors = append(pub.Sectors, post.Sector{ID: s.Number, CommR: s.CommR})
	}
	if want := cfg.Partitions(len(sectors)) * groth16.ProofSize; len(proof.Bytes) != want { // before the work of deriving challenges
		return false, &InputError{"proof", fmt.Errorf("%d bytes, expected %d for %d sectors", len(proof.Bytes), want, len(sectors))}
	}
	public, err := pub.AllInputs(ctx)
	if err != nil {
		return false, inputError(ctx, "sectors", err)
	}
	return e.verify(ctx, postSpec(proof.Proof), public, proof.Bytes)
}

// GenerateWinningPoStSectorChallenge is the index, among the eligible sectors, of the one that has to be proven.
func GenerateWinningPoStSectorChallenge(miner uint64, randomness [32]byte, eligible uint64) (uint64, error) {
	i, err := post.WinningSector(vanilla.ProverID(miner), randomness, eligible)
	if err != nil {
		return 0, &InputError{"challenge", err}
	}
	return i, nil
}

// GeneratePoStFallbackSectorChallenges are the leaves to be proven of each sector, in the order of the list.
func GeneratePoStFallbackSectorChallenges(t vanilla.PoStProof, randomness [32]byte, sectors []uint64) ([][]uint64, error) {
	if !t.Valid() {
		return nil, fmt.Errorf("%w: PoSt proof %d", ErrUnsupported, int(t))
	}
	cfg, err := post.ProofConfig(t)
	if err != nil {
		return nil, err
	}
	out := make([][]uint64, len(sectors))
	for i, n := range sectors {
		out[i] = cfg.Challenges(randomness, n, i)
	}
	return out, nil
}

// u64 is for request identities.
func u64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
