package filgroth

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/filgroth/filgroth/groth16"
)

// A small device may not hold the sessions of two kinds of proof. One that finds no room waits until no call is running on the
// backend, and takes the place of the sessions there that have not been used for longest; they are bound again when they are
// needed.

// allCalls is the weight of one that wants a backend to itself; a call weighs 1.
const allCalls = math.MaxInt64

// proverOn gives k's prover on w for one call, binding it if need be, in the place of others if there is no room. end must be
// called after the call: until then nobody takes the prover away.
func (d *dispatcher) proverOn(ctx context.Context, w *worker, k *keyEntry) (p groth16.Prover, end func(), err error) {
	if err := w.room.Acquire(ctx, 1); err != nil {
		return nil, nil, err
	}
	end = func() {
		k.touch(w)
		w.room.Release(1)
	}
	if p, err = k.prover(ctx, w); err == nil {
		return p, end, nil
	}
	w.room.Release(1)
	if !errors.Is(err, groth16.ErrNoRoom) {
		return nil, nil, err
	}
	if err := w.room.Acquire(ctx, allCalls); err != nil {
		return nil, nil, err
	}
	p, err = d.bindInPlace(ctx, w, k)
	if err != nil {
		w.room.Release(allCalls)
		return nil, nil, err
	}
	w.room.Release(allCalls - 1)
	return p, end, nil
}

// bindInPlace binds k to w, closing sessions of others there until it fits. No call is running on w.
func (d *dispatcher) bindInPlace(ctx context.Context, w *worker, k *keyEntry) (groth16.Prover, error) {
	for {
		p, err := k.prover(ctx, w)
		if !errors.Is(err, groth16.ErrNoRoom) {
			return p, err
		}
		var oldest *keyEntry
		var since time.Time
		for _, o := range d.loaded() {
			if at, ok := o.boundSince(w); ok && o != k && (oldest == nil || at.Before(since)) {
				oldest, since = o, at
			}
		}
		if oldest == nil {
			return nil, err
		}
		if err := oldest.unbind(w); err != nil {
			return nil, err
		}
		w.gaveWay.Add(1)
	}
}

// touch notes that k's prover on w was used.
func (e *keyEntry) touch(w *worker) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b, ok := e.provers[w.name]; ok {
		b.used = time.Now()
	}
}

// boundSince says when e's prover on w was used last, if there is one.
func (e *keyEntry) boundSince(w *worker) (time.Time, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b, ok := e.provers[w.name]
	if !ok || !b.bound() {
		return time.Time{}, false
	}
	return b.used, true
}

// unbind closes e's prover on w. No call is running on w.
func (e *keyEntry) unbind(w *worker) error {
	e.mu.Lock()
	b := e.provers[w.name]
	if b == nil || !b.bound() {
		e.mu.Unlock()
		return nil
	}
	delete(e.provers, w.name)
	e.mu.Unlock()
	return b.prover.Close()
}

// list gives the entries that are loaded.
func (k *keyStore) list() []*keyEntry {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []*keyEntry
	for _, e := range k.entries {
		if e.loaded() {
			out = append(out, e)
		}
	}
	return out
}
