package groth16

import (
	"context"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16/internal/fixedrs"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
)

// Prover makes proofs of one system under one key. It is safe for concurrent use. Assignments are only read and stay
// the caller's.
type Prover interface {
	// Prove makes one proof. An assignment that does not satisfy the system gives an error that is a
	// *synth.UnsatisfiedError, found before the work with Config.CheckSatisfied, else by the self-check after it.
	Prove(ctx context.Context, a *synth.Assignment) (*Proof, *Report, error)
	// ProveBatch makes a proof or an error for each assignment, in order. The error it returns itself is about the call:
	// the context's, or ErrClosed; the results are then nil.
	ProveBatch(ctx context.Context, as []*synth.Assignment) ([]Result, error)
	// Close waits for running calls. A second Close is ErrClosed.
	Close() error
}

// Result is a proof with its report, or an error.
type Result struct {
	Proof  *Proof
	Report *Report
	Err    error
}

// ErrBackend: a backend panicked.
var ErrBackend = errors.New("groth16: backend failed")

type prover struct {
	lifecycle
	name string
	sys  *synth.System
	key  *ProvingKey
	cfg  Config
	sess Session
	per  int // circuits a call
}

// NewProver binds the backend. The prover owns the session and retains the key; the system must outlive it.
func NewProver(ctx context.Context, b Backend, sys *synth.System, key *ProvingKey, cfg Config) (Prover, error) {
	if b == nil || sys == nil || key == nil {
		return nil, fmt.Errorf("%w: no backend, system or key", ErrConfig)
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := key.Retain(); err != nil {
		return nil, err
	}
	p := &prover{lifecycle: lifecycle{what: "prover"}, name: fmt.Sprintf("%T", b), sys: sys, key: key, cfg: cfg, per: cfg.CircuitsPerCall}
	if err := p.bind(ctx, b); err != nil {
		return nil, errors.Join(err, p.release())
	}
	return p, nil
}

// bind makes the session.
func (p *prover) bind(ctx context.Context, b Backend) error {
	return p.guard("Bind", func() (err error) {
		p.name = backendName(b)
		if p.sess, err = b.Bind(ctx, p.sys, p.key, p.cfg); err != nil {
			p.sess = nil
			return err
		}
		if p.sess == nil {
			return fmt.Errorf("%w: %s bound no session", ErrBackend, p.name)
		}
		if p.per == 0 {
			p.per = 1
			if c, ok := p.sess.(interface{ CircuitsPerCall() int }); ok {
				p.per = min(max(1, c.CircuitsPerCall()), maxCircuitsPerCall)
			}
		}
		return nil
	})
}

func backendName(b Backend) string {
	if s, ok := b.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", b)
}

// Close implements Prover.
func (p *prover) Close() error {
	if err := p.close(); err != nil {
		return err
	}
	return p.release()
}

// release lets go of session and key.
func (p *prover) release() (err error) {
	if p.sess != nil {
		err = p.guard("Close", p.sess.Close)
	}
	return errors.Join(err, p.key.Release())
}

// Footprint is what a call with so many circuits takes beyond what is held: the session's, for those it is given at a time.
func (p *prover) Footprint(circuits int) (f pinning.Footprint) {
	return p.bytes(func() pinning.Footprint { return p.sess.Footprint(min(circuits, p.per)) })
}

// CircuitsPerCall is how many circuits ProveBatch hands to one Sums call.
func (p *prover) CircuitsPerCall() int { return p.per }

// Held is what the session keeps between calls, where it says so.
func (p *prover) Held() pinning.Footprint {
	if h, ok := p.sess.(interface{ Held() pinning.Footprint }); ok {
		return p.bytes(h.Held)
	}
	return pinning.Footprint{}
}

// Prove implements Prover.
func (p *prover) Prove(ctx context.Context, a *synth.Assignment) (*Proof, *Report, error) {
	rs, err := p.ProveBatch(ctx, []*synth.Assignment{a})
	if err != nil {
		return nil, nil, err
	}
	return rs[0].Proof, rs[0].Report, rs[0].Err
}

// blinding is r and s of one proof.
type blinding struct{ r, s fr.Element }

// drawBlinding draws all r first, then all s, as the deployed prover consumes its generator.
func drawBlinding(ctx context.Context, n int) ([]blinding, error) {
	bs := make([]blinding, n)
	if draw := fixedrs.From(ctx); draw != nil {
		for i := range bs {
			bs[i].r, bs[i].s = draw()
		}
		return bs, nil
	}
	for i := range bs {
		if _, err := bs[i].r.SetRandom(); err != nil {
			return nil, err
		}
	}
	for i := range bs {
		if _, err := bs[i].s.SetRandom(); err != nil {
			return nil, err
		}
	}
	return bs, nil
}

// ProveBatch implements Prover.
func (p *prover) ProveBatch(ctx context.Context, as []*synth.Assignment) ([]Result, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	blind, err := drawBlinding(ctx, len(as))
	if err != nil {
		return nil, fmt.Errorf("groth16: drawing blinding: %w", err)
	}
	out := make([]Result, len(as))
	var good []int // those whose assignment can be tried
	for i, a := range as {
		if out[i].Err = p.admit(ctx, a); out[i].Err == nil {
			good = append(good, i)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	for len(good) > 0 {
		n := min(p.per, len(good))
		p.group(ctx, as, good[:n], blind, out, nil)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		good = good[n:]
	}
	return out, nil
}

// admit checks an assignment before any work.
func (p *prover) admit(ctx context.Context, a *synth.Assignment) error {
	if err := checkAssignment(p.sys, a); err != nil {
		return err
	}
	if !p.cfg.CheckSatisfied {
		return nil
	}
	return p.sys.Satisfied(ctx, a, p.cfg.Threads)
}

// group proves the circuits with the given indices in one call. Where the call fails, each half is tried by itself, so that
// one bad circuit does not cost the others their proofs, and a fault that passes costs two passes over a streamed key and
// not as many as there are circuits. failed are the calls that these circuits were in before.
func (p *prover) group(ctx context.Context, as []*synth.Assignment, idx []int, blind []blinding, out []Result, failed []error) {
	outer := ctx
	ctx, rec := record(ctx, "prove")
	rep := Report{Backend: p.name, Config: p.cfg.String(), Circuits: len(idx), Failed: failed}
	these := make([]*synth.Assignment, len(idx))
	for k, i := range idx {
		these[k] = as[i]
	}
	sums, err := p.sums(ctx, these)
	if err != nil {
		rec.end(&rep)
		if len(idx) == 1 || ctx.Err() != nil {
			for _, i := range idx {
				out[i].Err = err
			}
			return
		}
		failed = append(failed[:len(failed):len(failed)], err)
		half := len(idx) / 2
		p.group(outer, as, idx[:half], blind, out, failed)
		p.group(outer, as, idx[half:], blind, out, failed)
		return
	}
	for k, i := range idx {
		out[i].Proof, out[i].Err = p.finish(ctx, i, as[i], &sums[k], &blind[i])
	}
	rep.Verified = !p.cfg.SkipSelfCheck
	if d, ok := p.sess.(interface{ DeviceBytes() int64 }); ok {
		rep.DeviceBytes = p.bytes(func() pinning.Footprint { return pinning.Footprint{Device: d.DeviceBytes()} }).Device
	}
	rec.end(&rep)
	for _, i := range idx {
		if out[i].Err == nil {
			r := rep
			out[i].Report = &r
		}
	}
}

// sums calls the backend.
func (p *prover) sums(ctx context.Context, as []*synth.Assignment) (s []Sums, err error) {
	err = p.guard("Sums", func() (err error) {
		s, err = p.sess.Sums(ctx, as)
		if err == nil && len(s) != len(as) {
			return fmt.Errorf("%w: %s gave %d sums for %d circuits", ErrBackend, p.name, len(s), len(as))
		}
		return err
	})
	return s, err
}

// finish blinds and verifies.
func (p *prover) finish(ctx context.Context, i int, a *synth.Assignment, sums *Sums, b *blinding) (*Proof, error) {
	_, sp := span.Start(ctx, "assemble")
	proof := assemble(p.key.vk, sums, &b.r, &b.s)
	sp.End()
	if p.cfg.SkipSelfCheck {
		return proof, nil
	}
	vctx, sp := span.Start(ctx, "verify")
	defer sp.End()
	ok, err := Verify(p.key.vk, a.Public(), proof)
	if err != nil {
		return nil, err
	}
	if ok && proof.inGroups() {
		return proof, nil
	}
	cause := p.sys.Satisfied(vctx, a, p.cfg.Threads)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, &SelfCheckError{Circuit: i, Backend: p.name, Cause: cause}
}
