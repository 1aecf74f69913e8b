package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/filgroth/filgroth/service/journal"
	"github.com/filgroth/filgroth/span"
)

// Reasons why a job's context ends.
var (
	errCancelled = errors.New("cancelled")
	errShutdown  = errors.New("the daemon stops; ask again with the same request_id")
)

// job is a request from acceptance until it is forgotten. Fields are guarded by Queue.mu unless said otherwise.
type job struct {
	rec      journal.Record
	accepted chan struct{} // closed once journalled, or refused with refusal
	refusal  error         // read after accepted is closed
	done     chan struct{} // closed at the end, or when the daemon stops
	stopped  bool          // done without an end: the job goes on after the next start
	doomed   bool          // being cancelled: its request id is free
	waiters  int
	cancel   context.CancelCauseFunc // while running
	spans    *span.Recorder          // while running
}

func newJob(q *cuzkv1.SubmitProofRequest, sum []byte, detached bool, now time.Time) *job {
	var id [12]byte
	_, _ = rand.Read(id[:]) // never fails
	return &job{
		accepted: make(chan struct{}), done: make(chan struct{}),
		rec: journal.Record{Job: hex.EncodeToString(id[:]), Request: q.RequestId, Digest: sum, Kind: int32(q.ProofKind),
			Priority: int32(priorityOf(q)), Size: q.SectorSize, Miner: q.MinerId, Sector: q.SectorNumber, Partition: q.PartitionIndex,
			Detached: detached, Submitted: now},
	}
}

func (j *job) kind() cuzkv1.ProofKind    { return cuzkv1.ProofKind(j.rec.Kind) }
func (j *job) priority() cuzkv1.Priority { return cuzkv1.Priority(j.rec.Priority) }

// update takes over what can change in a record. The rest is written once, before others see the job, and read freely.
func (j *job) update(r journal.Record) {
	j.rec.State, j.rec.Starts, j.rec.Finished, j.rec.Proof, j.rec.Error, j.rec.Times = r.State, r.Starts, r.Finished, r.Proof, r.Error, r.Times
	j.spans = nil
}

// result is the protocol's answer for a job that has ended.
func (j *job) result() *cuzkv1.AwaitProofResponse {
	r := &cuzkv1.AwaitProofResponse{JobId: j.rec.Job, ErrorMessage: j.rec.Error, QueueWaitMs: millis(j.rec.Times.Wait),
		SrsLoadMs: millis(j.rec.Times.Load), SynthesisMs: millis(j.rec.Times.Synthesis), GpuComputeMs: millis(j.rec.Times.Compute),
		TotalMs: millis(j.rec.Times.Total)}
	switch j.rec.State {
	case journal.Completed:
		r.Status, r.Proof = cuzkv1.AwaitProofResponse_COMPLETED, j.rec.Proof
	case journal.Failed:
		r.Status = cuzkv1.AwaitProofResponse_FAILED
	case journal.Cancelled:
		r.Status = cuzkv1.AwaitProofResponse_CANCELLED
	}
	return r
}

func millis(d time.Duration) uint64 { return uint64(max(0, d.Milliseconds())) }

// phases are the span names that make up the protocol's phase times.
var phases = struct{ load, synthesis, compute map[string]bool }{
	load:      set("key.load"),
	synthesis: set("synth.witness", "synth.eval"),
	compute:   set("prep", "ntt.quotient", "msm.h", "msm.l", "msm.a", "msm.b1", "msm.b2"),
}

func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}

// wall is the time during which at least one span of the names was open.
func wall(records []span.Record, names map[string]bool) time.Duration {
	var picked []span.Record
	for _, r := range records {
		if names[r.Name] {
			r.Lane, r.Name = "", "" // one line of them
			picked = append(picked, r)
		}
	}
	for _, s := range span.Summarize(picked) {
		return s.Wall
	}
	return 0
}
