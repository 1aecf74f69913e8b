package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"sync"
	"time"

	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/filgroth/filgroth/service/journal"
	"google.golang.org/protobuf/proto"
)

var (
	// ErrBusy: the queue or the spool is full; the same request may be tried again later.
	ErrBusy = errors.New("server: busy")
	// ErrConflict: the request id stands for another request.
	ErrConflict = errors.New("server: request_id belongs to another request")
	// ErrStopping: the daemon takes no new jobs.
	ErrStopping = errors.New("server: stopping")
	// ErrUnknownJob: no such job, or forgotten.
	ErrUnknownJob = errors.New("server: unknown job")
)

// QueueConfig bounds a Queue. All fields are needed; package config has defaults.
type QueueConfig struct {
	Size            int           // jobs that wait
	CriticalReserve int           // further places for CRITICAL
	Running         int           // jobs at work, for each priority and those above it
	Ageing          time.Duration // waiting time worth a priority
	SpoolBytes      int64
	Replace         bool // a finished job's request id is free for other content
	MaxStarts       int
	Keep            time.Duration
	KeepJobs        int
	Logger          *slog.Logger
}

// Queue takes jobs, journals them, and has the engine prove them, the most urgent first. It is safe for concurrent use.
type Queue struct {
	cfg     QueueConfig
	engine  Engine
	journal *journal.Journal
	log     *slog.Logger
	metrics *metrics
	now     func() time.Time

	mu        sync.Mutex
	jobs      map[string]*job // by name
	byRequest map[string]*job // the newest of each request id
	waiting   []*job
	running   map[*job]bool
	accepting int   // places taken by jobs on their way into the journal
	spooled   int64 // bytes of unfinished jobs' requests
	stopping  bool
	pressed   bool  // memory is short: only CRITICAL jobs begin
	broken    error // last journal failure, nil again after a success
	recent    []*finished
	wg        sync.WaitGroup
}

// NewQueue takes over a journal with its records; unfinished jobs wait again. Call Start to begin.
func NewQueue(cfg QueueConfig, e Engine, j *journal.Journal, recs []journal.Record) *Queue {
	q := &Queue{cfg: cfg, engine: e, journal: j, log: cfg.Logger, now: time.Now, stopping: true,
		jobs: map[string]*job{}, byRequest: map[string]*job{}, running: map[*job]bool{}}
	q.metrics = newMetrics(q)
	closed := make(chan struct{})
	close(closed)
	for _, r := range recs {
		x := &job{rec: r, accepted: closed, done: make(chan struct{})}
		q.jobs[r.Job] = x
		if r.Request != "" {
			q.byRequest[r.Request] = x
		}
		switch {
		case r.State.Final():
			close(x.done)
		case r.Starts >= cfg.MaxStarts:
			q.spooled += r.BodyBytes
			q.finish(x, journal.Failed, nil, fmt.Sprintf("the daemon ended %d times while it was at work", r.Starts), nil)
		default:
			x.rec.State = journal.Queued
			q.spooled += r.BodyBytes
			q.waiting = append(q.waiting, x)
			q.log.Info("job resumes", q.attrs(x)...)
		}
	}
	return q
}

// Start lets jobs in and begins the waiting ones.
func (q *Queue) Start() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopping = false
	q.pump()
}

func (q *Queue) attrs(j *job) []any {
	return []any{"job", j.rec.Job, "request", j.rec.Request, "kind", j.kind(), "priority", j.priority(), "miner", j.rec.Miner, "sector", j.rec.Sector}
}

// submit gives the job of a request: a new one, or the one that is there for the same request. The request's content is
// not kept in memory.
func (q *Queue) submit(ctx context.Context, r *cuzkv1.SubmitProofRequest, detached bool) (*job, error) {
	if err := checkRequest(r); err != nil {
		return nil, err
	}
	sum, bytes := digest(r), int64(proto.Size(r))
	j, rec, err := q.enter(r, sum, bytes, detached)
	if err != nil {
		return nil, err
	}
	if rec == nil { // it is there already
		select {
		case <-j.accepted:
			return j, j.refusal
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	body, err := proto.Marshal(r)
	if err == nil {
		err = q.journal.Accept(rec, body)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	defer close(j.accepted)
	q.accepting--
	q.broken = err
	if err == nil && q.stopping {
		// stopped in the meantime: it goes on after the next start, and the caller is told so
		j.stopped = true
		close(j.done)
	}
	if err != nil {
		q.spooled -= bytes
		if q.byRequest[rec.Request] == j {
			delete(q.byRequest, rec.Request)
		}
		j.refusal = err
		q.log.Error("job not accepted", append(q.attrs(j), "err", err)...)
		return nil, err
	}
	j.rec.Seq = rec.Seq
	q.jobs[rec.Job] = j
	if !q.stopping {
		q.waiting = append(q.waiting, j)
	}
	q.log.Info("job accepted", append(q.attrs(j), "bytes", bytes)...)
	q.pump()
	return j, nil
}

// enter finds the job of the same request, or takes a place for a new one and gives its record too.
func (q *Queue) enter(r *cuzkv1.SubmitProofRequest, sum []byte, bytes int64, detached bool) (*job, *journal.Record, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if old := q.byRequest[r.RequestId]; old != nil && r.RequestId != "" {
		gone := old.rec.State == journal.Failed || old.rec.State == journal.Cancelled || old.doomed
		same := string(old.rec.Digest) == string(sum)
		switch {
		case gone:
		case same:
			old.rec.Detached = old.rec.Detached || detached
			if p := priorityOf(r); p > old.priority() && old.rec.State == journal.Queued {
				old.rec.Priority = int32(p) // the more urgent caller counts
				q.pump()
			}
			q.metrics.joined.Inc()
			return old, nil, nil
		case q.cfg.Replace && old.rec.State.Final():
		default:
			return nil, nil, fmt.Errorf("%w: %q is job %s, which is %v", ErrConflict, r.RequestId, old.rec.Job, old.rec.State)
		}
	}
	if q.stopping {
		return nil, nil, ErrStopping
	}
	limit := q.cfg.Size
	if priorityOf(r) == cuzkv1.Priority_CRITICAL {
		limit += q.cfg.CriticalReserve
	}
	if n := len(q.waiting) + q.accepting; n >= limit {
		q.metrics.busy.Inc()
		return nil, nil, fmt.Errorf("%w: %d jobs wait, at most %d may", ErrBusy, n, limit)
	}
	if q.spooled+bytes > q.cfg.SpoolBytes {
		q.metrics.busy.Inc()
		return nil, nil, fmt.Errorf("%w: the requests of unfinished jobs take %d of %d bytes", ErrBusy, q.spooled, q.cfg.SpoolBytes)
	}
	q.accepting++
	q.spooled += bytes
	j := newJob(r, sum, detached, q.now())
	j.rec.BodyBytes = bytes
	if r.RequestId != "" {
		q.byRequest[r.RequestId] = j
	}
	rec := j.rec
	return j, &rec, nil
}

// pump begins jobs as long as one may begin. mu is held.
func (q *Queue) pump() {
	for !q.stopping {
		order := q.order()
		if len(order) == 0 {
			return
		}
		next := order[0]
		if !q.may(next) {
			return
		}
		for i, j := range q.waiting {
			if j == next {
				q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
				break
			}
		}
		q.begin(next)
	}
}

// may says whether a job can begin now: jobs of its priority and above fill the places. A more urgent job thus begins
// beside less urgent ones, and goes first inside the engine.
func (q *Queue) may(j *job) bool {
	if q.pressed && j.priority() != cuzkv1.Priority_CRITICAL && len(q.running) > 0 {
		return false
	}
	n := 0
	for r := range q.running {
		if r.priority() >= j.priority() {
			n++
		}
	}
	return n < q.cfg.Running
}

// order is the waiting jobs, the next to begin first: CRITICAL ones, then by priority and time waited. mu is held.
func (q *Queue) order() []*job {
	now := q.now()
	urgency := func(j *job) float64 {
		if j.priority() == cuzkv1.Priority_CRITICAL {
			return 1e18
		}
		return float64(j.priority()) + now.Sub(j.rec.Submitted).Seconds()/q.cfg.Ageing.Seconds()
	}
	out := append([]*job(nil), q.waiting...)
	sort.SliceStable(out, func(a, b int) bool {
		ua, ub := urgency(out[a]), urgency(out[b])
		if ua != ub {
			return ua > ub
		}
		return out[a].rec.Seq < out[b].rec.Seq
	})
	return out
}

// position is how many jobs go before j, 0 if it does not wait.
func (q *Queue) position(j *job) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, x := range q.order() {
		if x == j {
			return i + len(q.running)
		}
	}
	return 0
}

// find gives a job by name.
func (q *Queue) find(name string) (*job, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j := q.jobs[name]
	if j == nil {
		return nil, fmt.Errorf("%w: %.80q", ErrUnknownJob, name)
	}
	return j, nil
}

// wait waits for the job's end. abandon says that the job may be cancelled if its last waiter leaves.
func (q *Queue) wait(ctx context.Context, j *job, abandon bool) (*cuzkv1.AwaitProofResponse, error) {
	q.mu.Lock()
	j.waiters++
	q.mu.Unlock()
	var err error
	select {
	case <-j.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	q.mu.Lock()
	j.waiters--
	lonely := err != nil && abandon && j.waiters == 0 && !j.rec.Detached
	var r *cuzkv1.AwaitProofResponse
	if err == nil {
		if j.stopped {
			err = fmt.Errorf("%w: %w", ErrStopping, errShutdown)
		} else {
			r = j.result()
		}
	}
	if lonely {
		q.log.Info("clients are gone", q.attrs(j)...)
	}
	q.mu.Unlock()
	if lonely {
		q.cancelJob(j)
	}
	return r, err
}

// cancelJob ends a job; running says whether it was at work. It returns at once: done closes when all is given back.
func (q *Queue) cancelJob(j *job) (running bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running[j] {
		j.doomed = true
		if j.cancel != nil {
			j.cancel(errCancelled)
		}
		return j.cancel != nil
	}
	for i, x := range q.waiting {
		if x == j {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			q.running[j], j.doomed = true, true // until it is journalled
			q.wg.Go(func() { q.finish(j, journal.Cancelled, nil, errCancelled.Error(), nil) })
			return false
		}
	}
	return false
}
