package filgroth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
)

// keyEntry is a circuit with its compiled system, its key, and the provers bound to it. It is loaded once and shared.
type keyEntry struct {
	spec   circuitSpec
	spare  *witnessPool
	ready  chan struct{} // closed when loaded or failed
	err    error
	system *synth.System
	key    *groth16.ProvingKey

	users int       // guarded by keyStore.mu
	idle  time.Time // since when nobody uses it
	bytes int64

	coming, queued atomic.Int64 // partitions whose witness is being made, and those that wait for a backend

	mu      sync.Mutex
	provers map[string]*boundProver
	worst   pinning.Footprint // of one partition, over the bound provers
}

// boundProver is a backend's prover for an entry; prover and err are set once ready is closed.
type boundProver struct {
	used   time.Time // last; guarded by keyEntry.mu
	ready  chan struct{}
	prover groth16.Prover
	err    error
}

// bound says whether the prover is there, without waiting for it.
func (b *boundProver) bound() bool {
	select {
	case <-b.ready:
		return b.err == nil
	default:
		return false
	}
}

// keyStore loads keys and systems on demand and keeps them while they fit its budget: the least recently used idle entry
// goes first, one in use never.
type keyStore struct {
	load   func(ctx context.Context, s circuitSpec) (*synth.System, *groth16.ProvingKey, error)
	spare  *witnessPool
	budget int64

	mu      sync.Mutex
	entries map[circuitSpec]*keyEntry
	loads   int64
	hits    int64
	evicted int64
	closed  bool
}

// acquire gives the loaded entry for s; release must be called once it is not used any more. A failed load is not kept:
// the next call tries again. Loading goes on under the context of the call that began it; the others wait.
func (k *keyStore) acquire(ctx context.Context, s circuitSpec) (*keyEntry, func(), error) {
	for {
		k.mu.Lock()
		if k.closed {
			k.mu.Unlock()
			return nil, nil, ErrClosed
		}
		e, ok := k.entries[s]
		if ok {
			e.users++
			k.hits++
			k.mu.Unlock()
			select {
			case <-e.ready:
			case <-ctx.Done():
				k.releaser(e)()
				return nil, nil, ctx.Err()
			}
			if e.err == nil {
				return e, k.releaser(e), nil
			}
			k.release(e)
			if gaveUp(e.err) && ctx.Err() == nil {
				continue // the one who loaded gave up; we did not
			}
			return nil, nil, e.err
		}
		e = &keyEntry{spec: s, spare: k.spare, ready: make(chan struct{}), users: 1, provers: map[string]*boundProver{}}
		k.entries[s] = e
		k.loads++
		k.mu.Unlock()
		k.fill(ctx, e)
		if e.err != nil {
			k.release(e)
			return nil, nil, e.err
		}
		k.evict()
		return e, k.releaser(e), nil
	}
}

// gaveUp says that work ended with the context of the caller who did it, so that another caller may do it again.
func gaveUp(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func (k *keyStore) fill(ctx context.Context, e *keyEntry) {
	ctx, sp := span.Start(ctx, "key.load")
	defer sp.End()
	e.system, e.key, e.err = k.load(ctx, e.spec)
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.err != nil {
		if k.entries[e.spec] == e {
			delete(k.entries, e.spec)
		}
	} else {
		e.bytes = e.system.Bytes()
	}
	close(e.ready)
}

func (k *keyStore) releaser(e *keyEntry) func() {
	var once sync.Once
	return func() { once.Do(func() { k.release(e); k.evict() }) }
}

func (k *keyStore) release(e *keyEntry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e.users--
	e.idle = time.Now()
}

// evict closes idle entries, the longest idle first, until the rest fits the budget.
func (k *keyStore) evict() {
	for {
		k.mu.Lock()
		total := int64(0)
		var oldest *keyEntry
		for _, e := range k.entries {
			total += e.size()
			if e.users == 0 && e.loaded() && (oldest == nil || e.idle.Before(oldest.idle)) {
				oldest = e
			}
		}
		if total <= k.budget || oldest == nil {
			k.mu.Unlock()
			return
		}
		delete(k.entries, oldest.spec)
		k.evicted++
		k.mu.Unlock()
		_ = oldest.close()
	}
}

func (e *keyEntry) loaded() bool {
	select {
	case <-e.ready:
		return e.err == nil
	default:
		return false
	}
}

// size is the memory that the entry holds: its system and what its sessions keep.
func (e *keyEntry) size() int64 {
	if !e.loaded() {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.bytes
	for _, b := range e.provers {
		if !b.bound() {
			continue
		}
		if h, ok := b.prover.(interface{ Held() pinning.Footprint }); ok {
			n += h.Held().Host
		}
	}
	return n
}

// close frees the entry; nobody may use it any more.
func (e *keyEntry) close() error {
	e.mu.Lock()
	provers := e.provers
	e.provers = map[string]*boundProver{}
	e.mu.Unlock()
	errs := []error{e.spare.drop(e)}
	for _, b := range provers {
		<-b.ready
		if b.prover != nil {
			errs = append(errs, b.prover.Close())
		}
	}
	if e.key != nil {
		errs = append(errs, e.key.Close())
	}
	if e.system != nil {
		errs = append(errs, e.system.Close())
	}
	return errors.Join(errs...)
}

// prover gives the backend's prover for this key, binding it at the first call.
func (e *keyEntry) prover(ctx context.Context, w *worker) (groth16.Prover, error) {
	for {
		e.mu.Lock()
		b, ok := e.provers[w.name]
		if !ok {
			b = &boundProver{ready: make(chan struct{})}
			e.provers[w.name] = b
			e.mu.Unlock()
			e.bind(ctx, w, b)
			return b.prover, b.err
		}
		e.mu.Unlock()
		select {
		case <-b.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if b.err == nil || ctx.Err() != nil || !gaveUp(b.err) {
			return b.prover, b.err
		}
	}
}

// perCall is how many circuits the backend likes to be given at a time: one until it is bound and tells.
func (e *keyEntry) perCall(w *worker) int {
	if n := w.config.CircuitsPerCall; n > 0 {
		return n
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if b, ok := e.provers[w.name]; ok && b.bound() {
		return circuitsPerCall(b.prover)
	}
	return 1
}

// circuitsPerCall is how many circuits a prover likes to be given at a time.
func circuitsPerCall(p groth16.Prover) int {
	if x, ok := p.(interface{ CircuitsPerCall() int }); ok {
		return max(1, x.CircuitsPerCall())
	}
	return 1
}

func (e *keyEntry) bind(ctx context.Context, w *worker, b *boundProver) {
	defer close(b.ready)
	defer func() {
		if p := recover(); p != nil {
			b.prover, b.err = nil, fmt.Errorf("%w: while %s was bound: %v", errPanic, w.name, p)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if b.err != nil {
			delete(e.provers, w.name) // the next call tries again
		} else if !w.fallback { // what it stands in for may need far less, and runs far more often
			fp := footprint(b.prover, 1)
			e.worst.Host, e.worst.Pinned, e.worst.Device = max(e.worst.Host, fp.Host), max(e.worst.Pinned, fp.Pinned), max(e.worst.Device, fp.Device)
		}
	}()
	if dir := w.config.Key.CacheDir; dir != "" {
		_ = os.MkdirAll(dir, 0o755) // without it the copy is not written, which costs time at the next start and no proof
	}
	if b.prover, b.err = groth16.NewProver(ctx, w.backend, e.system, e.key, w.config); b.err == nil {
		w.bound(circuitsPerCall(b.prover))
	}
}

// closeAll frees everything; all users are gone.
func (k *keyStore) closeAll() error {
	k.mu.Lock()
	k.closed = true
	entries := k.entries
	k.entries = map[circuitSpec]*keyEntry{}
	k.mu.Unlock()
	var errs []error
	for _, e := range entries {
		<-e.ready
		if e.err == nil {
			errs = append(errs, e.close())
		}
	}
	return errors.Join(errs...)
}

// KeyStats is the key store at one moment.
type KeyStats struct {
	Loaded               int
	InUse                int
	Bytes, Budget        int64
	Loads, Hits, Evicted int64
}

func (k *keyStore) stats() KeyStats {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := KeyStats{Budget: k.budget, Loads: k.loads, Hits: k.hits, Evicted: k.evicted}
	for _, e := range k.entries {
		if !e.loaded() {
			continue
		}
		s.Loaded++
		s.Bytes += e.size()
		if e.users > 0 {
			s.InUse++
		}
	}
	return s
}
