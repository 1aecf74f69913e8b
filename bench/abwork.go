package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/synth"
	"golang.org/x/sync/errgroup"
)

// workload prepares what the arms share. A missing key is made on the device where an arm has one: on the host that takes minutes at
// the sizes that a device is measured at.
func (f *abFlags) workload(ctx context.Context, arms []Arm) (*workload, error) {
	w := &workload{shape: f.shape, prove: f.work != workSynth, ready: f.work == workProver}
	circuits, device := 1, false
	for _, a := range arms {
		circuits = max(circuits, a.Settings.Circuits)
		device = device || a.Settings.Backend != "cpu"
	}
	var maker groth16.FixedBase
	if w.prove && device {
		switch dev, err := w.gpus.get(0); {
		case err == nil:
			maker = dev.FixedBase()
		case !errors.Is(err, groth16.ErrUnavailable):
			return nil, err
		}
	}
	err := w.load(ctx, circuits, f.keys, maker)
	if maker != nil { // its tables take room that sessions may want
		dev, e := w.gpus.get(0)
		if e == nil {
			e = dev.Trim()
		}
		err = errors.Join(err, e)
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	fmt.Fprintf(os.Stderr, "bench: %s: %v\n", f.shape, w.sys)
	return w, nil
}

// prepare makes the witnesses, with evaluation=whole a, b, c, too. They are the arm's own: what one arm page-locks, no other finds locked.
func (b *bound) prepare(ctx context.Context) error {
	b.ready = make([]*synth.Assignment, b.s.Circuits)
	if b.s.Circuits > len(b.w.cases) {
		return fmt.Errorf("%d circuits, %d prepared", b.s.Circuits, len(b.w.cases))
	}
	for i := range b.ready {
		var err error
		if b.ready[i], err = b.assign(ctx, b.w.cases[i].Circuit); err != nil {
			return err
		}
	}
	if b.s.Evaluation != "whole" {
		return nil
	}
	return b.evaluate(ctx, b.ready)
}

// overlapped says whether witnesses and proofs of one run overlap.
func (b *bound) overlapped() bool { return b.w.prove && b.ready == nil && b.s.InFlight > 0 }

// overlap proves circuits one by one while the next ones get their witness, of which no more than InFlight exist. It closes them: that
// the memory comes back is what bounds it.
func (b *bound) overlap(ctx context.Context, as []*synth.Assignment) ([]groth16.Result, error) {
	out := make([]groth16.Result, len(as))
	places, queue := make(chan struct{}, b.s.InFlight), make(chan int, len(as))
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(queue)
		for i := range as {
			select {
			case places <- struct{}{}:
			case <-gctx.Done():
				return gctx.Err()
			}
			var err error
			if as[i], err = b.assign(gctx, b.w.cases[i].Circuit); err != nil {
				return err
			}
			queue <- i
		}
		return nil
	})
	for range b.s.Workers {
		g.Go(func() error {
			for i := range queue {
				rs, err := b.prover.ProveBatch(gctx, as[i:i+1])
				copy(out[i:i+1], rs)
				if err = errors.Join(err, as[i].Close()); err != nil {
					return err
				}
				<-places
			}
			return nil
		})
	}
	err := g.Wait()
	for i := range queue { // witnesses that no worker took
		err = errors.Join(err, as[i].Close())
	}
	return out, err
}
