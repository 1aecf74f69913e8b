package gpu

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
)

// raiseOn gives a flag for the library that is raised when ctx ends, until stop is called.
func raiseOn(ctx context.Context) (flag *int32, stop func() bool) {
	flag = new(int32)
	return flag, context.AfterFunc(ctx, func() { atomic.StoreInt32(flag, 1) })
}

// sender sends the witnesses of a call's circuits, one after the other, beside whatever the device computes.
type sender struct {
	done []chan error // of each circuit, an error or a close
	end  chan struct{}
}

// startSending ends when all is sent, with the first failure, or with w.ctx; join waits for it.
func (w *work) startSending() *sender {
	s := &sender{done: make([]chan error, len(w.as)), end: make(chan struct{})}
	for i := range s.done {
		s.done[i] = make(chan error, 1)
	}
	go func() {
		defer close(s.end)
		flag, stop := raiseOn(w.ctx)
		defer stop()
		for i, a := range w.as {
			err := protect(func() error { return w.send(w.slots[i], a, flag) })
			if err != nil {
				for _, c := range s.done[i:] {
					c <- err
				}
				return
			}
			close(s.done[i])
		}
	}()
	return s
}

// wait waits for circuit i.
func (s *sender) wait(ctx context.Context, i int) error {
	select {
	case err := <-s.done[i]:
		if errors.Is(err, errCancelled) && ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *sender) join() { <-s.end }

// send sends a witness into a slot.
func (w *work) send(slot int, a *synth.Assignment, cancel *int32) error {
	w.sending.Lock()
	defer w.sending.Unlock()
	unpin, err := w.pin(bytesOf(a.Bits), bytesOf(a.Fields))
	if err != nil {
		return err
	}
	bytes := int64(len(a.Bits))*8 + int64(len(a.Inputs)+len(a.Fields))*fr.Bytes
	err = w.stage("prep", bytes, func(lib native) result { return lib.sessionWitness(w.h, slot, a, cancel) })
	return errors.Join(err, unpin())
}

// pin page-locks memory where the policy says so; unpin undoes it if it is not to last.
func (w *work) pin(parts ...[]byte) (unpin func() error, err error) {
	var locked []region
	unpin = func() error {
		var first error
		for _, r := range locked {
			res := w.d.unregisterNow(r, int(w.cfg.Pinning.ChunkBytes))
			if err := res.err(w.d.opts.Ordinal); err != nil && first == nil {
				first = err
			}
		}
		locked = nil
		return first
	}
	policy := w.cfg.Pinning.Policy
	if policy != pinning.PolicyRegister && policy != pinning.PolicyRegisterOnce {
		return unpin, nil
	}
	_, sp := span.Start(w.ctx, "pin")
	defer sp.End()
	var rest []region
	for _, mem := range parts {
		if policy == pinning.PolicyRegisterOnce {
			kept, err := once.keep(w.ctx, w.session, mem)
			if err != nil {
				return nil, err
			}
			if kept {
				continue
			}
		}
		rest = append(rest, regionOf(mem))
	}
	for _, r := range joined(rest) {
		res := w.d.registerNow(w.ctx, r, int(w.cfg.Pinning.ChunkBytes))
		if err := res.err(w.d.opts.Ordinal); err != nil {
			return nil, errors.Join(err, unpin())
		}
		locked = append(locked, r)
		sp.AddBytes(int64(r.n))
	}
	return unpin, nil
}
