package filgroth

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/aggregate"
	"github.com/filgroth/filgroth/internal/sched"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
)

// Engine proves and verifies. It is safe for concurrent use: jobs are cut into partitions, whose witnesses are made on the
// CPU and whose sums are computed by the backends, the most urgent first; partitions of several jobs share the backends.
type Engine struct {
	cfg      Config
	dispatch *dispatcher
	keys     *keyStore
	vks      store[circuitSpec, *groth16.VerifyingKey]
	srs      store[int, *aggregate.SRS] // being loaded, by number of proofs
	longest  atomic.Pointer[aggregate.SRS]
	host     *pinning.Budget
	inFlight *sched.Sem // partitions between witness and proof
	urgent   *sched.Sem // the same for PriorityHigh and above
	witness  *sched.Sem // witnesses being made
	spare    *witnessPool
	jobs     jobs
	running  sync.WaitGroup // calls and jobs; added to under jobs.mu while not closed
	closed   atomic.Bool
	life     context.Context // ends when the engine is closed
	kill     context.CancelFunc
}

// New makes an engine. It loads nothing: keys come with the first proof that needs them (see Preflight).
func New(cfg Config) (*Engine, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{
		cfg:      cfg,
		host:     pinning.NewBudget(cfg.HostMemory),
		inFlight: sched.NewSem(cfg.PartitionsInFlight, cfg.AgeingStep, nil),
		urgent:   sched.NewSem(cfg.PartitionsInFlight, cfg.AgeingStep, nil),
		witness:  sched.NewSem(2, cfg.AgeingStep, nil),
		jobs:     jobs{now: map[[32]byte]*job{}},
	}
	e.spare = &witnessPool{host: e.host, limit: cfg.PartitionsInFlight, idle: cfg.WitnessIdle}
	e.keys = &keyStore{load: e.loadKey, spare: e.spare, budget: cfg.KeyMemory, entries: map[circuitSpec]*keyEntry{}}
	e.vks.m, e.srs.m = map[circuitSpec]*shared[*groth16.VerifyingKey]{}, map[int]*shared[*aggregate.SRS]{}
	if e.dispatch, err = newDispatcher(cfg); err != nil {
		return nil, err
	}
	e.dispatch.loaded = e.keys.list
	if cfg.grows {
		e.dispatch.widen = func(n int) { e.inFlight.Grow(n); e.urgent.Grow(n); e.spare.widen(n) }
	}
	e.life, e.kill = context.WithCancel(context.Background())
	return e, nil
}

// places are those that partitions of a priority take while they are in flight. Urgent ones have their own: partitions of
// others that have a witness and wait for a backend would keep them from theirs.
func (e *Engine) places(p Priority) *sched.Sem {
	if p >= PriorityHigh {
		return e.urgent
	}
	return e.inFlight
}

// begin lets a call in that uses keys: Close waits for its end. The context that it gets ends with the engine too.
func (e *Engine) begin(ctx context.Context) (context.Context, func(), error) {
	e.jobs.mu.Lock()
	defer e.jobs.mu.Unlock()
	if e.closed.Load() {
		return nil, nil, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	e.running.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(e.life, cancel)
	return ctx, func() { stop(); cancel(); e.running.Done() }, nil
}

// Close cancels what is running, waits for it, and gives all memory back. A second Close is ErrClosed.
func (e *Engine) Close() error {
	e.jobs.mu.Lock()
	if e.closed.Swap(true) {
		e.jobs.mu.Unlock()
		return ErrClosed
	}
	for _, j := range e.jobs.now {
		j.cancel()
	}
	e.jobs.mu.Unlock()
	e.kill()
	e.running.Wait()
	e.dispatch.close()
	return errors.Join(e.keys.closeAll(), e.spare.close())
}

func (e *Engine) progress(p Progress) {
	if e.cfg.Progress != nil {
		e.cfg.Progress(p)
	}
}

// newCPU is the backend that needs no device.
func newCPU() (groth16.Backend, error) {
	m, err := msm.NewCPU(msm.Config{})
	if err != nil {
		return nil, err
	}
	n, err := ntt.NewCPU(ntt.Config{})
	if err != nil {
		return nil, err
	}
	return groth16.Compose(m, n), nil
}

// cpuConfig is c without what only a device has, for the CPU that stands in for one.
func cpuConfig(c groth16.Config) groth16.Config {
	return groth16.Config{Threads: c.Threads, Windows: c.Windows, CheckSatisfied: c.CheckSatisfied, SkipSelfCheck: c.SkipSelfCheck,
		Key: groth16.KeyConfig{CacheDir: c.Key.CacheDir, CacheBytes: c.Key.CacheBytes}}
}

// Status is the engine at one moment.
type Status struct {
	Jobs int
	// Queued are partitions with a witness that wait for a backend; Waiting are those before their witness.
	Queued, Waiting int
	Backends        []BackendStatus
	Keys            KeyStats
	// Host counts what partitions have reserved. Spare is memory that gives way to them, so that both together are within
	// Host.Total.
	Host    pinning.BudgetStats
	Spare   SpareStats
	Buffers []pinning.Use
}

// BackendStatus counts what a backend has done.
type BackendStatus struct {
	Name           string
	Fallback       bool
	Busy           int // partitions at work
	Proofs, Failed int64
	Working        time.Duration // time spent in calls
	GaveWay        int64         // sessions closed because another kind of proof needed their room on the device
	LastError      error
}

// Status reads all counters.
func (e *Engine) Status() Status {
	e.jobs.mu.Lock()
	n := len(e.jobs.now)
	e.jobs.mu.Unlock()
	s := Status{Jobs: n, Queued: e.dispatch.queue.Len(), Waiting: e.inFlight.Waiting() + e.urgent.Waiting(), Keys: e.keys.stats(),
		Host: e.host.Stats(), Spare: e.spare.stats(), Buffers: pinning.Live()}
	for _, w := range e.dispatch.backends {
		w.mu.Lock()
		s.Backends = append(s.Backends, BackendStatus{w.name, w.fallback, w.busy, w.proofs, w.failed, w.working, w.gaveWay.Load(), w.last})
		w.mu.Unlock()
	}
	return s
}

func (e *Engine) verifyingKey(ctx context.Context, s circuitSpec) (*groth16.VerifyingKey, error) {
	return e.vks.get(ctx, s, func(ctx context.Context) (*groth16.VerifyingKey, error) { return e.loadVerifyingKey(ctx, s) })
}
