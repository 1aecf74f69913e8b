package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/filgroth/filgroth/service/journal"
	"github.com/filgroth/filgroth/span"
	"google.golang.org/protobuf/proto"
)

// finished is a job of the status page.
type finished struct {
	rec   journal.Record
	spans []span.Record
}

// keepRecent is how many jobs the status page shows.
const keepRecent = 20

// begin starts a job that has left the queue. mu is held.
func (q *Queue) begin(j *job) {
	ctx, cancel := context.WithCancelCause(context.Background())
	j.cancel = cancel
	j.spans = span.NewRecorder()
	j.rec.State, j.rec.Started = journal.Running, q.now()
	j.rec.Starts++
	j.rec.Times.Wait = j.rec.Started.Sub(j.rec.Submitted)
	q.running[j] = true
	rec := j.rec
	q.wg.Go(func() {
		defer cancel(nil)
		q.work(ctx, j, rec)
	})
}

// work proves a job from its request in the spool.
func (q *Queue) work(ctx context.Context, j *job, rec journal.Record) {
	log := q.log.With(q.attrs(j)...)
	log.Info("job begins", "start", rec.Starts, "waited", rec.Times.Wait.Round(time.Millisecond))
	q.note(q.journal.Put(rec))
	ctx = span.With(ctx, j.spans)
	proof, rep, err := q.attempt(ctx, j)
	spans := j.spans.Records()
	if rep != nil && len(rep.Spans) > 0 {
		spans = rep.Spans
	}
	switch cause := context.Cause(ctx); {
	case err == nil:
		q.finish(j, journal.Completed, proof, "", spans)
	case errors.Is(cause, errCancelled):
		q.finish(j, journal.Cancelled, nil, errCancelled.Error(), spans)
	case errors.Is(cause, errShutdown):
		q.suspend(j)
	default:
		q.finish(j, journal.Failed, nil, reason(err), spans)
	}
}

// maxReason bounds the text of a failure: a WindowPoSt may name thousands of sectors.
const maxReason = 64 << 10

// reason is an error's text as the protocol can carry it.
func reason(err error) string {
	s := err.Error()
	if len(s) > maxReason {
		s = s[:maxReason] + " ..."
	}
	return strings.ToValidUTF8(s, "?")
}

func (q *Queue) attempt(ctx context.Context, j *job) ([]byte, *filgroth.Report, error) {
	body, err := q.journal.Body(j.rec.Job)
	if err != nil {
		return nil, nil, err
	}
	var r cuzkv1.SubmitProofRequest
	if err := proto.Unmarshal(body, &r); err != nil {
		return nil, nil, fmt.Errorf("the request in the spool is damaged: %w", err)
	}
	if !bytes.Equal(digest(&r), j.rec.Digest) || r.RequestId != j.rec.Request {
		return nil, nil, errors.New("the request in the spool is damaged: it is not the one that was accepted")
	}
	if err := checkRequest(&r); err != nil {
		return nil, nil, err
	}
	return prove(filgroth.WithPriority(ctx, enginePriority(j.priority())), q.engine, &r)
}

// note keeps the last failure of the journal for the health page.
func (q *Queue) note(err error) {
	if err != nil {
		q.log.Error("journal", "err", err)
	}
	q.mu.Lock()
	q.broken = err
	q.mu.Unlock()
}

// finish records a job's end: in the journal first, so that an answer given is an answer kept.
func (q *Queue) finish(j *job, s journal.State, proof []byte, reason string, spans []span.Record) {
	q.mu.Lock()
	rec := j.rec
	q.mu.Unlock()
	rec.State, rec.Proof, rec.Error, rec.Finished = s, proof, reason, q.now()
	rec.Times.Load, rec.Times.Synthesis, rec.Times.Compute = wall(spans, phases.load), wall(spans, phases.synthesis), wall(spans, phases.compute)
	rec.Times.Total = rec.Finished.Sub(rec.Submitted)
	if rec.Started.IsZero() {
		rec.Times.Wait = rec.Times.Total
	}
	err := q.journal.Put(rec)
	if err == nil {
		err = q.journal.Drop(rec.Job)
	}
	q.note(err)

	q.mu.Lock()
	defer q.mu.Unlock()
	j.update(rec)
	delete(q.running, j)
	q.spooled -= rec.BodyBytes
	q.recent = append(q.recent, &finished{rec, spans})
	if n := len(q.recent); n > keepRecent {
		q.recent = append([]*finished(nil), q.recent[n-keepRecent:]...)
	}
	q.metrics.finished(rec, spans)
	log := q.log.With(q.attrs(j)...)
	t := rec.Times
	if s == journal.Failed {
		log.Warn("job failed", "err", reason, "total", t.Total)
	} else {
		log.Info("job "+s.String(), "waited", t.Wait, "load", t.Load, "synthesis", t.Synthesis, "compute", t.Compute, "total", t.Total)
	}
	close(j.done)
	q.pump()
}

// suspend puts a job that was interrupted back for the next start.
func (q *Queue) suspend(j *job) {
	q.mu.Lock()
	rec := j.rec
	q.mu.Unlock()
	rec.State = journal.Queued
	rec.Starts-- // it did not bring the daemon down
	q.note(q.journal.Put(rec))
	q.mu.Lock()
	defer q.mu.Unlock()
	j.update(rec)
	j.stopped = true
	delete(q.running, j)
	q.log.Info("job goes on after the next start", q.attrs(j)...)
	close(j.done)
}

// Stop ends the queue: nothing new is accepted or begun, running jobs get until ctx ends, what is left then is interrupted
// and goes on after the next start. The journal is still open afterwards.
func (q *Queue) Stop(ctx context.Context) {
	q.mu.Lock()
	q.stopping = true
	for _, j := range q.waiting {
		j.stopped = true
		close(j.done)
	}
	q.waiting = nil
	q.mu.Unlock()
	idle := make(chan struct{})
	go func() { q.wg.Wait(); close(idle) }()
	select {
	case <-idle:
		return
	case <-ctx.Done():
	}
	q.mu.Lock()
	for j := range q.running {
		if j.cancel != nil {
			j.cancel(errShutdown)
		}
	}
	q.mu.Unlock()
	<-idle
}

// Clean forgets finished jobs that are too old or too many.
func (q *Queue) Clean() error {
	q.mu.Lock()
	var done []*job
	for _, j := range q.jobs {
		if j.rec.State.Final() {
			done = append(done, j)
		}
	}
	sort.Slice(done, func(a, b int) bool { return done[a].rec.Finished.After(done[b].rec.Finished) })
	oldest := q.now().Add(-q.cfg.Keep)
	var seqs []uint64
	for i, j := range done {
		if i < q.cfg.KeepJobs && j.rec.Finished.After(oldest) {
			continue
		}
		seqs = append(seqs, j.rec.Seq)
		delete(q.jobs, j.rec.Job)
		if q.byRequest[j.rec.Request] == j {
			delete(q.byRequest, j.rec.Request)
		}
	}
	q.mu.Unlock()
	return q.journal.Delete(seqs...)
}
