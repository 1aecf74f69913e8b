package filgroth

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/internal/sched"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"golang.org/x/sync/semaphore"
)

// task is one partition with its witness, waiting for a backend.
type task struct {
	ctx      context.Context
	key      *keyEntry
	asg      *synth.Assignment
	priority sched.Priority
	due      time.Time       // a shared call waits no longer for others to join it
	tried    map[string]bool // backends that failed on it for good
	fails    map[string]int
	attempts []Attempt
	done     chan taskResult
}

type taskResult struct {
	proof    *groth16.Proof
	backend  string
	prover   *groth16.Report
	attempts []Attempt
	err      error
}

// Attempt is one failed try of a partition on a backend. Several may be of the same: see Config.Retries.
type Attempt struct {
	Backend string
	Err     error
}

// dispatcher feeds partitions of all jobs to the backends: each backend's workers take the most urgent task that they
// may run, and as many more of the same key as share a call (Config.Prover.CircuitsPerCall, or what the session chose).
type dispatcher struct {
	queue    *sched.Queue[*task]
	backends []*worker
	memory   int64 // host bytes that there are in all
	retries  int   // after the first failure on a backend
	loaded   func() []*keyEntry
	widen    func(n int) // hears how many partitions the calls that may run at the same time can take
	wg       sync.WaitGroup
	stop     context.CancelFunc
	ctx      context.Context
}

// worker is a backend with its counters.
type worker struct {
	name     string
	backend  groth16.Backend
	config   groth16.Config
	fallback bool // only takes what failed elsewhere
	calls    int  // at the same time
	shared   int  // most circuits that share a call; guarded by mu
	bound    func(circuits int)
	room     *semaphore.Weighted // one for each call, all for one that changes what is bound
	gaveWay  atomic.Int64        // sessions closed for others

	mu      sync.Mutex
	busy    int
	proofs  int64
	failed  int64
	last    error
	working time.Duration
}

func newDispatcher(cfg Config) (*dispatcher, error) {
	ctx, stop := context.WithCancel(context.Background())
	d := &dispatcher{queue: sched.NewQueue[*task](cfg.AgeingStep, nil), memory: cfg.HostMemory, retries: cfg.Retries, ctx: ctx, stop: stop}
	for _, b := range cfg.Backends {
		d.backends = append(d.backends, &worker{name: b.Name, backend: b.Backend, config: cfg.Prover, calls: cfg.workers(b.Backend)})
	}
	if !cfg.NoFallback {
		b, err := newCPU()
		if err != nil {
			stop()
			return nil, err
		}
		w := &worker{name: cpuName, backend: b, config: cfg.Prover, calls: cfg.workers(b)}
		if len(cfg.Backends) > 0 {
			w.fallback, w.config = true, cpuConfig(cfg.Prover)
		}
		if w.config.Key.CacheDir == "" && !cfg.NoNativeKeys {
			w.config.Key.CacheDir = filepath.Join(cfg.CacheDir, "native")
		}
		d.backends = append(d.backends, w)
	}
	for _, w := range d.backends {
		w.bound = func(circuits int) { d.bound(w, circuits) }
		w.room = semaphore.NewWeighted(allCalls)
	}
	for _, w := range d.backends {
		for range w.calls {
			d.wg.Add(1)
			go d.serve(w)
		}
	}
	return d, nil
}

func (d *dispatcher) close() {
	d.queue.Close()
	d.stop()
	d.wg.Wait()
	for _, t := range d.queue.Remove(func(*task) bool { return true }) {
		t.done <- taskResult{err: ErrClosed}
	}
}

// bound hears that w has a prover that shares a call among so many circuits.
func (d *dispatcher) bound(w *worker, circuits int) {
	w.mu.Lock()
	w.shared = max(w.shared, circuits)
	w.mu.Unlock()
	n, next := 0, 1 // a call's worth is being made while the others are under way
	for _, o := range d.backends {
		if !o.fallback {
			o.mu.Lock()
			n += o.calls * max(1, o.shared)
			next = max(next, o.shared)
			o.mu.Unlock()
		}
	}
	if d.widen != nil {
		d.widen(n + next)
	}
}

// submit queues t and waits for its result. A cancelled task is taken out, or waited for while a backend has it: the
// assignment is free for closing when submit returns.
func (d *dispatcher) submit(t *task) taskResult {
	t.done = make(chan taskResult, 1)
	t.tried, t.fails = map[string]bool{}, map[string]int{}
	t.due = time.Now().Add(linger)
	if err := d.push(t); err != nil {
		return taskResult{err: ErrClosed}
	}
	defer time.AfterFunc(linger, d.queue.Wake).Stop() // for ripe
	select {
	case r := <-t.done:
		return r
	case <-t.ctx.Done():
	}
	if d.pull(t) {
		return taskResult{err: t.ctx.Err()}
	}
	return <-t.done
}

// pull takes t out of the queue, if it is there.
func (d *dispatcher) pull(t *task) bool {
	if len(d.queue.Remove(func(x *task) bool { return x == t })) == 0 {
		return false
	}
	t.key.queued.Add(-1)
	return true
}

// push queues t; it counts before it can be taken.
func (d *dispatcher) push(t *task) error {
	t.key.queued.Add(1)
	err := d.queue.Push(t, t.priority)
	if err != nil {
		t.key.queued.Add(-1)
	}
	return err
}

// may says whether w may run t: it has not given up on it, and a fallback only gets what all the others failed on.
func (d *dispatcher) may(w *worker, t *task) bool {
	if t.tried[w.name] {
		return false
	}
	if !w.fallback {
		return true
	}
	for _, o := range d.backends {
		if !o.fallback && !t.tried[o.name] {
			return false
		}
	}
	return true
}

func (d *dispatcher) serve(w *worker) {
	defer d.wg.Done()
	for {
		tasks, err := d.queue.Pop(d.ctx, func(t *task) bool { return d.may(w, t) && w.ripe(t) }, func(t *task) int { return t.key.perCall(w) - 1 },
			func(a, b *task) bool { return a.key == b.key })
		if err != nil {
			return
		}
		tasks[0].key.queued.Add(-int64(len(tasks)))
		w.count(len(tasks), 0)
		start := time.Now()
		d.run(w, tasks)
		w.count(-len(tasks), time.Since(start))
	}
}

func (w *worker) count(n int, worked time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy += n
	w.working += worked
}

// run proves the tasks with one call. A task whose own context has ended gets that error; one that failed for another
// reason goes back into the queue, for this backend again if it may have been a passing fault, else for the others.
func (d *dispatcher) run(w *worker, tasks []*task) {
	ctx, cancel := anyAlive(tasks)
	defer cancel()
	results := d.prove(ctx, w, tasks)
	for i, t := range tasks {
		r := results[i]
		switch {
		case r.Err == nil:
			for _, err := range r.Report.Failed { // with others in one call
				w.note(err)
				t.attempts = append(t.attempts, Attempt{w.name, err})
			}
			w.note(nil)
			t.done <- taskResult{proof: r.Proof, backend: w.name, prover: r.Report, attempts: t.attempts}
		case t.ctx.Err() != nil:
			t.done <- taskResult{err: t.ctx.Err()}
		default:
			w.note(r.Err)
			t.attempts = append(t.attempts, Attempt{w.name, r.Err})
			t.fails[w.name]++
			t.tried[w.name] = t.fails[w.name] > d.retries || !transient(r.Err)
			d.requeue(t)
		}
	}
}

func (d *dispatcher) requeue(t *task) {
	var unsatisfied *synth.UnsatisfiedError
	last := error(nil)
	if n := len(t.attempts); n > 0 {
		last = t.attempts[n-1].Err
	}
	if errors.As(last, &unsatisfied) { // no backend can help
		t.done <- taskResult{err: last, attempts: t.attempts}
		return
	}
	for _, w := range d.backends {
		if !t.tried[w.name] {
			t.due = time.Time{}
			if d.push(t) != nil {
				t.done <- taskResult{err: ErrClosed, attempts: t.attempts}
			} else if t.ctx.Err() != nil && d.pull(t) { // submit may have looked for it before it was back
				t.done <- taskResult{err: t.ctx.Err(), attempts: t.attempts}
			}
			return
		}
	}
	t.done <- taskResult{err: &BackendError{t.attempts}, attempts: t.attempts}
}

// transient says whether what failed may well work when it is done again in the same place. A wrong proof is not that: it
// belongs on other hardware.
func transient(err error) bool {
	var says interface{ Transient() bool }
	if errors.As(err, &says) {
		return says.Transient()
	}
	for _, lasting := range []error{groth16.ErrSelfCheck, groth16.ErrBackend, groth16.ErrUnavailable, groth16.ErrConfig, groth16.ErrKey,
		groth16.ErrDimension, groth16.ErrClosed, pinning.ErrBudget, errPanic} {
		if errors.Is(err, lasting) {
			return false
		}
	}
	return true
}

// errPanic: a backend panicked.
var errPanic = errors.New("filgroth: panic in a backend")

func (w *worker) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.proofs++
		return
	}
	w.failed++
	w.last = err
}

// prove calls the backend's prover for the tasks' key; a panic in it is an error of its tasks.
func (d *dispatcher) prove(ctx context.Context, w *worker, tasks []*task) (res []groth16.Result) {
	all := func(err error) []groth16.Result {
		r := make([]groth16.Result, len(tasks))
		for i := range r {
			r[i].Err = err
		}
		return r
	}
	defer func() {
		if p := recover(); p != nil {
			res = all(fmt.Errorf("%w: %s: %v", errPanic, w.name, p))
		}
	}()
	prover, end, err := d.proverOn(ctx, w, tasks[0].key)
	if err != nil {
		return all(err)
	}
	defer end()
	if need := tasks[0].key.witnessBytes() + footprint(prover, 1).Host; need > d.memory {
		return all(&pinning.BudgetError{Purpose: "partition of " + tasks[0].key.spec.String() + " on " + w.name, Need: need, Have: d.memory})
	}
	asgs := make([]*synth.Assignment, len(tasks))
	for i, t := range tasks {
		asgs[i] = t.asg
	}
	res, err = prover.ProveBatch(ctx, asgs)
	if err != nil {
		return all(err)
	}
	if len(res) != len(tasks) {
		return all(fmt.Errorf("filgroth: backend %s gave %d results for %d circuits", w.name, len(res), len(tasks)))
	}
	return res
}

// anyAlive is a context that lives as long as one of the tasks' contexts does, with the values of the first.
func anyAlive(tasks []*task) (context.Context, context.CancelFunc) {
	if len(tasks) == 1 {
		return context.WithCancel(tasks[0].ctx)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tasks[0].ctx))
	var mu sync.Mutex
	alive := len(tasks)
	var stops []func() bool
	for _, t := range tasks {
		stops = append(stops, context.AfterFunc(t.ctx, func() {
			mu.Lock()
			defer mu.Unlock()
			if alive--; alive == 0 {
				cancel()
			}
		}))
	}
	return ctx, func() {
		for _, s := range stops {
			s()
		}
		cancel()
	}
}
