package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"golang.org/x/sync/errgroup"
)

// proofs makes single proofs, then the special ones, then many at the same time. Each has its own input: equal requests
// would be joined.
func (s *proveSession) proofs(ctx context.Context, e *filgroth.Engine, jobs []proveJob, last bool) error {
	for i := range 1 + s.f.again {
		rec := span.NewRecorder()
		c, err := measure(func() error { return s.one(span.With(ctx, rec), e, jobs[i], &s.out.Attempts) })
		if err != nil {
			return err
		}
		if i == 0 {
			s.out.First, s.r.sample = c, rec.Records()
		} else {
			s.out.Again = append(s.out.Again, c)
		}
	}
	rest := jobs[1+s.f.again:]
	if last && s.f.cancel {
		if err := s.cancelled(ctx, e, rest[s.f.jobs]); err != nil {
			return err
		}
	}
	if last && s.f.fault > 0 {
		if err := s.faulty(ctx, e, rest[s.f.jobs+1]); err != nil {
			return err
		}
	}
	if s.jobs == 0 {
		return nil
	}
	return s.sustained(ctx, e, rest[:s.jobs])
}

func (s *proveSession) one(ctx context.Context, e *filgroth.Engine, job proveJob, failed *[]string) error {
	rep, err := job(ctx, e)
	if rep == nil {
		return err
	}
	s.r.Partitions = len(rep.Partitions)
	for _, p := range rep.Partitions {
		for _, a := range p.Attempts {
			*failed = append(*failed, fmt.Sprintf("partition %d on %s: %v (then %s)", p.Index, a.Backend, a.Err, p.Backend))
		}
	}
	return err
}

func (s *proveSession) sustained(ctx context.Context, e *filgroth.Engine, jobs []proveJob) (err error) {
	rec := span.NewRecorder()
	failed := make([][]string, len(jobs))
	s.out.Jobs = len(jobs)
	s.out.Sustained, err = measure(func() error {
		g, gctx := errgroup.WithContext(span.With(ctx, rec))
		for i, j := range jobs {
			g.Go(func() error { return s.one(gctx, e, j, &failed[i]) })
		}
		return g.Wait()
	})
	for _, f := range failed {
		s.out.Attempts = append(s.out.Attempts, f...)
	}
	s.out.PerProof = s.out.Sustained.Wall / float64(len(jobs))
	records := rec.Records()
	s.out.Phases = map[string]float64{}
	for _, x := range span.Summarize(records) {
		s.out.Phases[x.Lane+" "+x.Name] += x.Sum.Seconds()
	}
	s.out.Busy, s.out.Sent = busyShare(records), sentBytes(records)
	return err
}

// cancelled gives a job up in its middle: after the time of half a proof.
func (s *proveSession) cancelled(ctx context.Context, e *filgroth.Engine, job proveJob) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := &Stop{After: s.out.best() / 2}
	kept := func() int64 { return pinning.LiveBytes() - e.Status().Spare.Bytes } // witness memory waits for the next one
	before := kept()
	var at time.Time
	time.AfterFunc(time.Duration(stop.After*float64(time.Second)), func() {
		at = time.Now()
		cancel()
	})
	_, err := job(ctx, e)
	switch {
	case err == nil:
		return errors.New("the job to be cancelled ended before that")
	case !errors.Is(err, context.Canceled):
		return err
	}
	stop.Took = time.Since(at).Seconds()
	if stop.Host = kept() - before; stop.Host > 0 {
		return fmt.Errorf("a cancelled job left %d bytes", stop.Host)
	}
	s.r.Cancel = stop
	return nil
}

// faulty makes a job while a call of the CUDA runtime fails.
func (s *proveSession) faulty(ctx context.Context, e *filgroth.Engine, job proveJob) (err error) {
	r := &Fault{Call: s.f.fault}
	var injected atomic.Bool
	inject := func(done int64) {
		if done == 2 {
			injected.Store(true)
			s.ds[0].InjectFault(r.Call)
		}
	}
	s.listen.Store(&inject)
	defer s.listen.Store(nil)
	r.Cost, err = measure(func() error { return s.one(ctx, e, job, &r.Attempts) })
	r.Pending = s.ds[0].FaultPending()
	s.ds[0].InjectFault(0)
	s.r.Fault = r
	switch {
	case err != nil:
		return err
	case !injected.Load():
		return errors.New("-fault: the proof has no third partition")
	case !r.Pending && len(r.Attempts) == 0:
		return errors.New("a fault was injected and no attempt failed")
	}
	return nil
}
