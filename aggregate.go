package filgroth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/aggregate"
	"github.com/filgroth/filgroth/groth16/params"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/internal/regfile"
	"github.com/filgroth/filgroth/synth/porep"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// SRSFile is the name of the reference string of aggregation in a parameter directory.
const SRSFile = "v28-fil-inner-product-v1.srs"

// AggregateInfo describes sectors whose seal proofs are aggregated: their order is that of the aggregate.
type AggregateInfo struct {
	Miner uint64
	Proof vanilla.SealProof
	// Aggregation is the registered number: 0 SnarkPackV1, 1 SnarkPackV2.
	Aggregation int64
	Sectors     []AggregateSector
}

// AggregateSector is one sector of an aggregate.
type AggregateSector struct {
	Number       uint64
	Ticket, Seed [32]byte
	CommR, CommD [32]byte
}

// reference gives a string for n proofs, a power of two, of the points that are needed. Longer ones replace shorter ones.
func (e *Engine) reference(ctx context.Context, n int) (*aggregate.SRS, error) {
	if s := e.longest.Load(); s != nil {
		enough := 2 * n
		if !e.cfg.DevelopmentKeys { // a file has no more than it has; a development string is made as long as need be
			enough = min(enough, s.Stored())
		}
		if s.Points() >= enough {
			return s, nil
		}
	}
	s, err := e.srs.get(ctx, n, func(ctx context.Context) (*aggregate.SRS, error) { return e.loadReference(ctx, 2*n) })
	if err != nil {
		return nil, err
	}
	e.srs.mu.Lock()
	defer e.srs.mu.Unlock()
	if old := e.longest.Load(); old == nil || old.Points() < s.Points() {
		e.longest.Store(s)
	}
	delete(e.srs.m, n)
	return s, nil
}

func (e *Engine) loadReference(ctx context.Context, points int) (*aggregate.SRS, error) {
	if e.cfg.DevelopmentKeys {
		t := groth16.DevTrapdoor("filgroth/development/srs")
		return aggregate.SetupInsecure(points, t.Alpha, t.Beta)
	}
	if e.cfg.Parameters == "" {
		return nil, fmt.Errorf("%w: neither Parameters nor DevelopmentKeys is set", ErrConfig)
	}
	path := filepath.Join(e.cfg.Parameters, SRSFile)
	f, err := regfile.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", params.ErrKeyNotFound, path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := aggregate.LoadSRS(ctx, f, aggregate.LoadConfig{MaxPoints: points})
	if err != nil {
		return nil, fmt.Errorf("filgroth: %s: %w", path, err)
	}
	return s, nil
}

// statement is what an aggregate proves: the public inputs of every proof, padded, and the data bound into it.
type statement struct {
	spec       circuitSpec
	partitions int
	version    aggregate.Version
	public     [][]fr.Element
	transcript []byte
}

func (e *Engine) statement(ctx context.Context, info *AggregateInfo) (*statement, error) {
	if !info.Proof.Valid() {
		return nil, fmt.Errorf("%w: seal proof %d", ErrUnsupported, int(info.Proof))
	}
	cfg, err := porep.ProofConfig(info.Proof)
	if err != nil {
		return nil, &InputError{"Proof", err}
	}
	version, err := aggregate.FromRegistered(info.Aggregation)
	if err != nil {
		return nil, &InputError{"Aggregation", err}
	}
	if len(info.Sectors) == 0 {
		return nil, &InputError{"Sectors", errors.New("none given")}
	}
	if n := len(info.Sectors); n > aggregate.MaxProofs/cfg.Partitions {
		return nil, &InputError{"Sectors", fmt.Errorf("%d of %d proofs each, an aggregate has at most %d", n, cfg.Partitions, aggregate.MaxProofs)}
	}
	s := &statement{spec: circuitSpec{PoRep, cfg.SectorSize()}, partitions: cfg.Partitions, version: version}
	h := sha256.New()
	for _, x := range info.Sectors {
		if cfg.Mode != vanilla.NonInteractive {
			h.Write(x.Seed[:])
		}
		h.Write(x.CommR[:])
	}
	s.transcript = h.Sum(nil)
	s.public = make([][]fr.Element, len(info.Sectors)*cfg.Partitions)
	err = par.Do(ctx, e.cfg.Threads, len(info.Sectors), func(_, i int) error {
		x := &info.Sectors[i]
		pub := &porep.Public{Config: cfg, CommD: x.CommD, CommR: x.CommR, Seed: x.Seed,
			ReplicaID: porep.ReplicaID(vanilla.ProverID(info.Miner), x.Number, x.Ticket, x.CommD, cfg.PoRepID)}
		in, err := pub.AllInputs()
		if err != nil {
			return &InputError{fmt.Sprintf("Sectors[%d]", i), err}
		}
		copy(s.public[i*cfg.Partitions:], in)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// AggregateSealProofs merges the proofs of several sectors into one, which it verifies. proofs are the sectors' concatenated
// partition proofs, in the order of info.Sectors (for non-interactive types: of SealCommitPhase2CircuitProofs).
func (e *Engine) AggregateSealProofs(ctx context.Context, info AggregateInfo, proofs [][]byte) ([]byte, error) {
	if e.closed.Load() {
		return nil, ErrClosed
	}
	s, err := e.statement(ctx, &info)
	if err != nil {
		return nil, err
	}
	if len(proofs) != len(info.Sectors) {
		return nil, &InputError{"proofs", fmt.Errorf("%d for %d sectors", len(proofs), len(info.Sectors))}
	}
	var all []*groth16.Proof
	for i, b := range proofs {
		p, err := groth16.ParseProofs(b, s.partitions)
		if err != nil {
			return nil, &InputError{fmt.Sprintf("proofs[%d]", i), err}
		}
		all = append(all, p...)
	}
	return e.aggregate(ctx, s, all)
}

func (e *Engine) aggregate(ctx context.Context, s *statement, proofs []*groth16.Proof) ([]byte, error) {
	padded, err := aggregate.PadProofs(proofs)
	if err != nil {
		return nil, &InputError{"proofs", err}
	}
	ctx, end, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	ref, err := e.reference(ctx, len(padded))
	if err != nil {
		return nil, err
	}
	srs, _, err := ref.Specialize(len(padded))
	if err != nil {
		return nil, err
	}
	out, err := aggregate.Prove(ctx, srs, padded, s.transcript, s.version)
	if err != nil {
		return nil, err
	}
	ok, err := e.verifyStatement(ctx, s, out)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w: the aggregate of these proofs is false", ErrRejected)
	}
	return out, nil
}

// VerifyAggregateSeals checks an aggregate. As in the deployed verifier, which decides what the chain accepts, bytes after
// the aggregate are ignored.
func (e *Engine) VerifyAggregateSeals(ctx context.Context, info AggregateInfo, proof []byte) (bool, error) {
	if e.closed.Load() {
		return false, ErrClosed
	}
	s, err := e.statement(ctx, &info)
	if err != nil {
		return false, err
	}
	return e.verifyStatement(ctx, s, proof)
}

func (e *Engine) verifyStatement(ctx context.Context, s *statement, proof []byte) (bool, error) {
	p, _, err := aggregate.Decode(ctx, proof)
	if err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		return false, &InputError{"aggregate", err}
	}
	inputs, err := aggregate.PadInputs(s.public)
	if err != nil {
		return false, &InputError{"Sectors", err}
	}
	if len(inputs) != p.Count() {
		return false, &InputError{"aggregate", fmt.Errorf("is of %d proofs, the sectors have %d with padding", p.Count(), len(inputs))}
	}
	ctx, end, err := e.begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	vk, err := e.verifyingKey(ctx, s.spec)
	if err != nil {
		return false, err
	}
	ref, err := e.reference(ctx, 2) // the verifier needs the first two powers alone
	if err != nil {
		return false, err
	}
	return p.Verify(ctx, ref.Verifier(), vk, inputs, s.transcript, s.version)
}
