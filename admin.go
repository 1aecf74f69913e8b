package filgroth

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/filgroth/filgroth/synth/vanilla"
)

// Priority is the urgency of a request. Where the context has none, a WinningPoSt is PriorityCritical, a WindowPoSt
// PriorityHigh, all else PriorityNormal.
type Priority int

// The priorities. One that waits rises by one for each AgeingStep, so that ten steps raise it to the next level;
// PriorityCritical is out of their reach.
const (
	PriorityLow      Priority = -10
	PriorityNormal   Priority = 0
	PriorityHigh     Priority = 10
	PriorityCritical Priority = 1000
)

type priorityKey struct{}

// WithPriority gives the proofs that are made under the context a priority of their own. A request that joins another one
// under way keeps that one's.
func WithPriority(ctx context.Context, p Priority) context.Context {
	return context.WithValue(ctx, priorityKey{}, p)
}

// priorityFrom is the context's priority, else the kind's.
func priorityFrom(ctx context.Context, kind Priority) Priority {
	if p, ok := ctx.Value(priorityKey{}).(Priority); ok {
		return p
	}
	return kind
}

// ErrKeyInUse: a circuit that is at work, or being loaded, cannot be evicted.
var ErrKeyInUse = errors.New("filgroth: key in use")

// KeyInfo is a loaded circuit with its key.
type KeyInfo struct {
	Kind Kind
	Size vanilla.SectorSize
	// Bytes is the memory that system and sessions hold; FileBytes the size of the mapped parameter file.
	Bytes, FileBytes int64
	Users            int
	// Backends are those that it is bound to.
	Backends []string
	// IdleSince is when the last user was done; zero while in use.
	IdleSince time.Time
}

// Keys lists what is loaded, by kind and size.
func (e *Engine) Keys() []KeyInfo {
	e.keys.mu.Lock()
	defer e.keys.mu.Unlock()
	var out []KeyInfo
	for s, k := range e.keys.entries {
		if !k.loaded() {
			continue
		}
		info := KeyInfo{Kind: s.Kind, Size: s.Size, Bytes: k.size(), FileBytes: k.key.Size(), Users: k.users, Backends: k.bound()}
		if k.users == 0 {
			info.IdleSince = k.idle
		}
		out = append(out, info)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Kind != out[j].Kind {
			return out[i].Kind < out[j].Kind
		}
		return out[i].Size < out[j].Size
	})
	return out
}

// bound names the backends that have a prover for the entry.
func (e *keyEntry) bound() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for name, b := range e.provers {
		select {
		case <-b.ready:
			if b.err == nil {
				out = append(out, name)
			}
		default:
		}
	}
	sort.Strings(out)
	return out
}

// Preload loads a circuit with its key and binds it to every backend that is not a mere fallback, ahead of the first
// proof. It reports whether the circuit was loaded already.
func (e *Engine) Preload(ctx context.Context, kind Kind, size vanilla.SectorSize) (already bool, err error) {
	ctx, end, err := e.begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	s := circuitSpec{kind, size}
	if _, err := s.blank(); err != nil {
		return false, fmt.Errorf("%w: %v: %w", ErrUnsupported, s, err)
	}
	e.keys.mu.Lock()
	if k, ok := e.keys.entries[s]; ok {
		already = k.loaded()
	}
	e.keys.mu.Unlock()
	entry, release, err := e.keys.acquire(ctx, s)
	if err != nil {
		return already, err
	}
	defer release()
	errs := make([]error, len(e.dispatch.backends))
	var wg sync.WaitGroup
	for i, w := range e.dispatch.backends {
		if w.fallback {
			continue
		}
		wg.Go(func() { // together, so that a key file is read once for all devices
			_, end, err := e.dispatch.proverOn(ctx, w, entry)
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", w.name, err)
				return
			}
			end()
		})
	}
	wg.Wait()
	return already, errors.Join(errs...)
}

// Evict frees a circuit and its key. was is false if it was not loaded; ErrKeyInUse while somebody uses or loads it.
func (e *Engine) Evict(kind Kind, size vanilla.SectorSize) (was bool, freed int64, err error) {
	_, end, err := e.begin(context.Background())
	if err != nil {
		return false, 0, err
	}
	defer end()
	s := circuitSpec{kind, size}
	e.keys.mu.Lock()
	k, ok := e.keys.entries[s]
	if !ok {
		e.keys.mu.Unlock()
		return false, 0, nil
	}
	if k.users > 0 || !k.loaded() {
		e.keys.mu.Unlock()
		return true, 0, fmt.Errorf("%w: %v", ErrKeyInUse, s)
	}
	freed = k.size()
	delete(e.keys.entries, s)
	e.keys.evicted++
	e.keys.mu.Unlock()
	spare := e.spare.held(k)
	return true, freed + spare, k.close()
}
