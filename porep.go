package filgroth

import (
	"context"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/aggregate"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/porep"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// SealCommitPhase2 makes the proofs of all partitions of a sealed sector, 192 bytes each, in order; for a non-interactive type
// their aggregate (SnarkPackV2). c1 is the JSON output of SealCommitPhase1 (or the envelope around it that proving daemons
// use). The vanilla proofs are checked first, and the result is verified for the given sector and miner before it is
// returned: ErrRejected says that they are not the ones that the sector was sealed for.
func (e *Engine) SealCommitPhase2(ctx context.Context, c1 []byte, sector, miner uint64) ([]byte, *Report, error) {
	c, err := e.decodeC1(ctx, c1)
	if err != nil {
		return nil, nil, err
	}
	if err := porep.CheckReplicaID(c, miner, sector); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrRejected, err)
	}
	if c.Config.Mode == vanilla.NonInteractive { // a missing reference string is to be known before hours of proving
		if _, err := e.reference(ctx, aggregate.PaddedCount(c.Config.Partitions)); err != nil {
			return nil, nil, err
		}
	}
	proof, rep, err := e.proveC1(ctx, c, c1)
	if err != nil || c.Config.Mode != vanilla.NonInteractive {
		return proof, rep, err
	}
	out, err := e.AggregateSealProofs(ctx, AggregateInfo{Miner: miner, Proof: c.Proof, Aggregation: 1, Sectors: []AggregateSector{
		{Number: sector, Ticket: c.Ticket, Seed: c.Seed, CommR: c.CommR, CommD: c.CommD}}}, [][]byte{proof})
	return out, rep, err
}

// SealCommitPhase2CircuitProofs is SealCommitPhase2 without the aggregation of non-interactive types: 192 bytes a partition,
// to be aggregated with those of other sectors.
func (e *Engine) SealCommitPhase2CircuitProofs(ctx context.Context, c1 []byte, sector, miner uint64) ([]byte, *Report, error) {
	c, err := e.decodeC1(ctx, c1)
	if err != nil {
		return nil, nil, err
	}
	if err := porep.CheckReplicaID(c, miner, sector); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrRejected, err)
	}
	return e.proveC1(ctx, c, c1)
}

// ProveC1 is SealCommitPhase2CircuitProofs without sector and miner: the proof is checked against the replica id that stands in the C1
// output itself. A node wants SealCommitPhase2.
func (e *Engine) ProveC1(ctx context.Context, c1 []byte) ([]byte, *Report, error) {
	c, err := e.decodeC1(ctx, c1)
	if err != nil {
		return nil, nil, err
	}
	return e.proveC1(ctx, c, c1)
}

func (e *Engine) decodeC1(ctx context.Context, b []byte) (*porep.C1, error) {
	if e.closed.Load() {
		return nil, ErrClosed
	}
	ctx, sp := span.Start(ctx, "decode")
	defer sp.End()
	sp.AddBytes(int64(len(b)))
	c, err := porep.DecodeC1Context(ctx, b)
	if err != nil {
		return nil, inputError(ctx, "C1 output", err)
	}
	for _, z := range []struct {
		name string
		v    vanilla.Commitment
	}{{"comm_r", c.CommR}, {"comm_d", c.CommD}, {"seed", c.Seed}} {
		if z.v == (vanilla.Commitment{}) {
			return nil, &InputError{"C1 output", vanilla.Errorf(z.name, "is all zero")}
		}
	}
	if err := porep.Check(ctx, c); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w", ErrVanilla, err)
	}
	return c, nil
}

func (e *Engine) proveC1(ctx context.Context, c *porep.C1, raw []byte) ([]byte, *Report, error) {
	public, err := c.Public().AllInputs()
	if err != nil {
		return nil, nil, &InputError{"C1 output", err}
	}
	r := &request{
		spec:       circuitSpec{PoRep, c.Config.SectorSize()},
		priority:   PoRep.priority(),
		id:         requestID([]byte("porep"), raw),
		partitions: c.Config.Partitions,
		circuit:    func(k int) (synth.Circuit, error) { return c.Circuit(k) },
		public:     func(k int) ([]fr.Element, error) { return public[k], nil },
	}
	proofs, rep, err := e.run(ctx, r)
	if err != nil {
		return nil, rep, err
	}
	out := concat(proofs)
	ok, err := e.verify(ctx, r.spec, public, out)
	if err != nil {
		return nil, rep, err
	}
	if !ok {
		return nil, rep, ErrRejected
	}
	return out, rep, nil
}

// SealVerifyInfo is what a verifier knows of a sealed sector and the proof to check.
type SealVerifyInfo struct {
	Proof  vanilla.SealProof
	Miner  uint64
	Sector uint64
	Ticket [32]byte
	Seed   [32]byte
	CommR  [32]byte
	CommD  [32]byte
	// Bytes are the concatenated partition proofs; for non-interactive types their aggregate.
	Bytes []byte
}

// VerifySeal checks the proofs of all partitions of a sector.
func (e *Engine) VerifySeal(ctx context.Context, info SealVerifyInfo) (bool, error) {
	if e.closed.Load() {
		return false, ErrClosed
	}
	if !info.Proof.Valid() {
		return false, fmt.Errorf("%w: seal proof %d", ErrUnsupported, int(info.Proof))
	}
	cfg, err := porep.ProofConfig(info.Proof)
	if err != nil {
		return false, &InputError{"Proof", err}
	}
	for _, z := range []struct {
		name string
		v    [32]byte
	}{{"CommR", info.CommR}, {"CommD", info.CommD}} {
		if z.v == [32]byte{} {
			return false, &InputError{z.name, errors.New("is all zero")}
		}
	}
	if cfg.Mode == vanilla.NonInteractive {
		return e.VerifyAggregateSeals(ctx, AggregateInfo{Miner: info.Miner, Proof: info.Proof, Aggregation: 1, Sectors: []AggregateSector{
			{Number: info.Sector, Ticket: info.Ticket, Seed: info.Seed, CommR: info.CommR, CommD: info.CommD}}}, info.Bytes)
	}
	pub := &porep.Public{Config: cfg, CommD: info.CommD, CommR: info.CommR, Seed: info.Seed,
		ReplicaID: porep.ReplicaID(vanilla.ProverID(info.Miner), info.Sector, info.Ticket, info.CommD, cfg.PoRepID)}
	public, err := pub.AllInputs()
	if err != nil {
		return false, &InputError{"SealVerifyInfo", err}
	}
	return e.verify(ctx, circuitSpec{PoRep, cfg.SectorSize()}, public, info.Bytes)
}

// verify checks concatenated proofs against the public inputs of each partition, in one batch.
func (e *Engine) verify(ctx context.Context, s circuitSpec, public [][]fr.Element, proofs []byte) (bool, error) {
	if want := len(public) * groth16.ProofSize; len(proofs) != want {
		return false, &InputError{"proof", fmt.Errorf("%d bytes, expected %d for %d partitions", len(proofs), want, len(public))}
	}
	ctx, end, err := e.begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	vk, err := e.verifyingKey(ctx, s)
	if err != nil {
		return false, err
	}
	_, sp := span.Start(ctx, "verify")
	defer sp.End()
	return groth16.VerifyMany(vk, public, proofs)
}

// VerifyC1 checks partition proofs against a sector's public data as it stands in a C1 output, replica id included. It does
// not show whose sector it is: see VerifySeal.
func (e *Engine) VerifyC1(ctx context.Context, p *porep.Public, proof []byte) (bool, error) {
	public, err := p.AllInputs()
	if err != nil {
		return false, &InputError{"public data", err}
	}
	return e.verify(ctx, circuitSpec{PoRep, p.Config.SectorSize()}, public, proof)
}
