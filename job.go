package filgroth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/internal/sched"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
	"golang.org/x/sync/errgroup"
)

// request is a proof to be made: what the kinds' files turn their arguments into.
type request struct {
	spec     circuitSpec
	priority Priority
	id       [32]byte // of everything that determines the proof
	// partitions is the number of proofs; circuit gives the k-th with its values, public its expected public inputs.
	partitions int
	circuit    func(k int) (synth.Circuit, error)
	public     func(k int) ([]fr.Element, error)
}

// requestID hashes the parts, each with its length.
func requestID(parts ...[]byte) (id [32]byte) {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		for i := range n {
			n[i] = byte(len(p) >> (8 * i))
		}
		h.Write(n[:])
		h.Write(p)
	}
	h.Sum(id[:0])
	return id
}

// job is a request at work, shared by all who asked for the same.
type job struct {
	cancel  context.CancelFunc
	waiters int
	done    chan struct{}
	proofs  [][]byte
	report  *Report
	err     error
}

// jobs joins equal requests.
type jobs struct {
	mu  sync.Mutex
	now map[[32]byte]*job
}

// run makes the proofs of r, or waits for a run of the same request that is under way. The work stops once nobody waits.
func (e *Engine) run(ctx context.Context, r *request) ([][]byte, *Report, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	r.priority = priorityFrom(ctx, r.priority)
	e.jobs.mu.Lock()
	if e.closed.Load() {
		e.jobs.mu.Unlock()
		return nil, nil, ErrClosed
	}
	j, joined := e.jobs.now[r.id]
	if !joined {
		jctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		j = &job{cancel: cancel, done: make(chan struct{})}
		e.jobs.now[r.id] = j
		e.running.Add(1)
		go e.work(jctx, r, j)
	}
	j.waiters++
	e.jobs.mu.Unlock()

	select {
	case <-j.done:
	case <-ctx.Done():
		e.jobs.mu.Lock()
		j.waiters--
		last := j.waiters == 0
		if last {
			j.cancel()
			if e.jobs.now[r.id] == j { // a later equal request starts anew
				delete(e.jobs.now, r.id)
			}
		}
		e.jobs.mu.Unlock()
		if last {
			<-j.done // so that everything is given back when we return
		}
		return nil, nil, ctx.Err()
	}
	if j.err != nil {
		if e.closed.Load() && gaveUp(j.err) {
			return nil, j.report, fmt.Errorf("%w: %w", ErrClosed, j.err)
		}
		return nil, j.report, j.err
	}
	rep := *j.report
	rep.Joined = joined
	return j.proofs, &rep, nil
}

func (e *Engine) work(ctx context.Context, r *request, j *job) {
	defer e.running.Done()
	rec := span.From(ctx)
	if rec == nil {
		rec = span.NewRecorder()
		ctx = span.With(ctx, rec)
	}
	start := time.Now()
	rep := &Report{Kind: r.spec.Kind, Size: r.spec.Size, Request: hex.EncodeToString(r.id[:8]), DevelopmentKey: e.cfg.DevelopmentKeys,
		Partitions: make([]PartitionReport, r.partitions)}
	j.proofs, j.err = e.provePartitions(ctx, r, rep)
	rep.Elapsed = time.Since(start)
	rep.Spans = rec.Records()
	rep.usage()
	j.report = rep
	log := e.cfg.Logger.With("kind", r.spec.Kind, "size", r.spec.Size, "request", rep.Request)
	if j.err != nil {
		log.Warn("proof failed", "err", j.err)
	} else {
		log.Info("proof made", "partitions", r.partitions, "elapsed", rep.Elapsed)
	}
	e.jobs.mu.Lock()
	if e.jobs.now[r.id] == j {
		delete(e.jobs.now, r.id)
	}
	e.jobs.mu.Unlock()
	j.cancel()
	close(j.done)
}

// provePartitions runs all partitions of r; each goes through witness, sums and self-check with its own bounds.
func (e *Engine) provePartitions(ctx context.Context, r *request, rep *Report) ([][]byte, error) {
	key, release, err := e.keys.acquire(ctx, r.spec)
	if err != nil {
		return nil, err
	}
	defer release()
	proofs := make([][]byte, r.partitions)
	errs := make([]error, r.partitions)
	var witnesses, proved atomic.Int64
	step := func(stage string, n *atomic.Int64) {
		e.progress(Progress{Kind: r.spec.Kind, Stage: stage, Done: n.Add(1), Total: int64(r.partitions)})
	}
	g, gctx := errgroup.WithContext(ctx)
	for k := range r.partitions {
		p := &partition{e: e, r: r, k: k, key: key, report: &rep.Partitions[k], comes: e.dispatch.expect(key)}
		g.Go(func() error {
			proof, err := p.prove(gctx, func() { step("witness", &witnesses) })
			if err != nil {
				errs[k] = &PartitionError{k, err}
				return errs[k]
			}
			step("prove", &proved)
			proofs[k] = proof
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// report what failed by itself, not what was cancelled for it
		var real []error
		for _, x := range errs {
			if x != nil && !errors.Is(x, context.Canceled) {
				real = append(real, x)
			}
		}
		if len(real) == 0 {
			return nil, err
		}
		if len(real) == 1 {
			return nil, real[0]
		}
		return nil, errors.Join(real...)
	}
	return proofs, nil
}

// partition is one proof of a request at work.
type partition struct {
	e      *Engine
	r      *request
	k      int
	key    *keyEntry
	comes  *comer
	report *PartitionReport
}

func (p *partition) prove(ctx context.Context, witnessed func()) ([]byte, error) {
	p.report.Index = p.k
	defer p.comes.no()
	admitted := p.comes.waits()
	release, err := p.e.places(p.r.priority).Acquire(ctx, sched.Priority(p.r.priority))
	if err != nil {
		return nil, err
	}
	defer release()
	reserve := p.e.host.Reserve
	if p.r.priority >= PriorityHigh {
		reserve = p.e.host.ReserveUrgent
	}
	mem, err := reserve(ctx, p.key.partitionBytes(), "partition of "+p.r.spec.String())
	if err != nil {
		return nil, err
	}
	into, err := p.e.spare.take(p.key)
	if err != nil {
		mem.Release()
		return nil, err
	}
	defer func() { _ = p.e.spare.put(p.key, into, mem) }() // an unmap that fails takes no proof away
	admitted()
	asg, err := p.witness(ctx, into)
	if err != nil {
		return nil, err
	}
	witnessed()
	p.comes.no()
	res := p.e.dispatch.submit(&task{ctx: ctx, key: p.key, asg: asg, priority: sched.Priority(p.r.priority)})
	p.report.Attempts = res.attempts
	if res.err != nil {
		return nil, res.err
	}
	p.report.Backend = res.backend
	p.report.Prover = res.prover
	b := res.proof.Bytes()
	return b[:], nil
}

// witness assigns the circuit and compares its public inputs with those that the verifier will use: a vanilla proof of
// something else is found before the expensive part. It takes the memory of into, which stays the caller's. A panic, should one
// value in 2^255 be good for one, is an error of this partition.
func (p *partition) witness(ctx context.Context, into *synth.Assignment) (asg *synth.Assignment, err error) {
	release, err := p.e.witness.Acquire(ctx, sched.Priority(p.r.priority))
	if err != nil {
		return nil, err
	}
	defer release()
	defer func() {
		if x := recover(); x != nil {
			asg, err = nil, fmt.Errorf("filgroth: panic in the witness of %v: %v", p.r.spec, x)
		}
	}()
	c, err := p.r.circuit(p.k)
	if err != nil {
		return nil, err
	}
	asg, err = synth.AssignWitness(ctx, c, p.key.system, synth.AssignConfig{Threads: p.e.cfg.Threads, Into: into})
	if err != nil {
		return nil, err
	}
	return asg, p.checkPublic(asg)
}

func (p *partition) checkPublic(asg *synth.Assignment) error {
	want, err := p.r.public(p.k)
	if err != nil {
		return err
	}
	got := asg.Public()
	if len(got) != len(want) {
		return &InputError{"public inputs", errors.New("their number differs from the verifier's")}
	}
	for i := range want {
		if !want[i].Equal(&got[i]) {
			return &PublicInputError{Index: i}
		}
	}
	return nil
}

// PublicInputError: the circuit's public input is not the one that the verifier will compute, so the vanilla proof is of
// another challenge, sector or commitment.
type PublicInputError struct{ Index int }

func (e *PublicInputError) Error() string {
	return "filgroth: vanilla proof is of another statement: public input " + itoa(e.Index) + " differs from the verifier's"
}

// Is makes errors.Is(err, ErrVanilla) hold.
func (e *PublicInputError) Is(target error) bool { return target == ErrVanilla }

// concat joins the proofs of all partitions.
func concat(proofs [][]byte) []byte {
	out := make([]byte, 0, len(proofs)*groth16.ProofSize)
	for _, p := range proofs {
		out = append(out, p...)
	}
	return out
}

// partitionBytes is what one partition needs of host memory while it is in flight.
func (k *keyEntry) partitionBytes() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.witnessBytes() + k.worst.Host
}

func (k *keyEntry) witnessBytes() int64 { return int64(k.system.Aux()/8 + k.system.Fields()*32) }

// footprint is what a call of the prover takes, where it knows.
func footprint(p groth16.Prover, circuits int) pinning.Footprint {
	if f, ok := p.(interface {
		Footprint(circuits int) pinning.Footprint
	}); ok {
		return f.Footprint(circuits)
	}
	return pinning.Footprint{}
}
