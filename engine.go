package filgroth

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/filgroth/filgroth/groth16"
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
	vks      vkStore
	srs      srsStore
	host     *pinning.Budget
	inFlight *sched.Sem // partitions between witness and proof
	witness  *sched.Sem // witnesses being made
	jobs     jobs
	running  sync.WaitGroup
	closed   atomic.Bool
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
		witness:  sched.NewSem(2, cfg.AgeingStep, nil),
		jobs:     jobs{now: map[[32]byte]*job{}},
	}
	e.keys = &keyStore{load: e.loadKey, budget: cfg.KeyMemory, entries: map[circuitSpec]*keyEntry{}}
	e.dispatch, err = newDispatcher(cfg)
	return e, err
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
	e.running.Wait()
	e.dispatch.close()
	return errors.Join(e.keys.closeAll(), e.vks.close())
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
		Key: groth16.KeyConfig{CacheDir: c.Key.CacheDir}}
}

// Status is the engine at one moment.
type Status struct {
	Jobs int
	// Queued are partitions with a witness that wait for a backend; Waiting are those before their witness.
	Queued, Waiting int
	Backends        []BackendStatus
	Keys            KeyStats
	Host            pinning.BudgetStats
	Buffers         []pinning.Use
}

// BackendStatus counts what a backend has done.
type BackendStatus struct {
	Name           string
	Fallback       bool
	Busy           int // partitions at work
	Proofs, Failed int64
	Working        time.Duration // time spent in calls
	LastError      error
}

// Status reads all counters.
func (e *Engine) Status() Status {
	e.jobs.mu.Lock()
	n := len(e.jobs.now)
	e.jobs.mu.Unlock()
	s := Status{Jobs: n, Queued: e.dispatch.queue.Len(), Waiting: e.inFlight.Waiting(), Keys: e.keys.stats(),
		Host: e.host.Stats(), Buffers: pinning.Live()}
	for _, w := range e.dispatch.backends {
		w.mu.Lock()
		s.Backends = append(s.Backends, BackendStatus{w.name, w.fallback, w.busy, w.proofs, w.failed, w.working, w.last})
		w.mu.Unlock()
	}
	return s
}

// vkStore keeps verifying keys, which are small, for the engine's life.
type vkStore struct {
	mu sync.Mutex
	m  map[circuitSpec]*groth16.VerifyingKey
}

func (v *vkStore) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.m = nil
	return nil
}

func (e *Engine) verifyingKey(ctx context.Context, s circuitSpec) (*groth16.VerifyingKey, error) {
	e.vks.mu.Lock()
	defer e.vks.mu.Unlock()
	if vk := e.vks.m[s]; vk != nil {
		return vk, nil
	}
	vk, err := e.loadVerifyingKey(ctx, s)
	if err != nil {
		return nil, err
	}
	if e.vks.m == nil {
		e.vks.m = map[circuitSpec]*groth16.VerifyingKey{}
	}
	e.vks.m[s] = vk
	return vk, nil
}
