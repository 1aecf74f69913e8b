package gpu

import (
	"context"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/span"
)

// keyRange is a part of a section that is staged at once.
type keyRange struct {
	sec   groth16.Section
	at, n int
}

// stream reads and sends the ranges of a streamed key in the order in which a call needs them, each while the sums over
// the one before are computed. There are two buffers on the device: the range that was fetched last, in file encoding,
// and the one that is summed, into which the former is converted when the latter is done with.
type stream struct {
	cancel  context.CancelFunc
	fetched chan fetched  // one for each range, in order
	room    chan struct{} // the buffer of the fetched range is free
	end     chan struct{}
}

type fetched struct {
	sec groth16.Section
	err error
}

// startStream starts fetching in a goroutine, which stop ends and waits for.
func (w *work) startStream() *stream {
	ctx, cancel := context.WithCancel(w.ctx)
	s := &stream{cancel: cancel, fetched: make(chan fetched), room: make(chan struct{}, 1), end: make(chan struct{})}
	s.room <- struct{}{}
	go func() {
		defer close(s.end)
		flag, stop := raiseOn(ctx)
		defer stop()
		for _, r := range w.ranges() {
			select {
			case <-s.room:
			case <-ctx.Done():
				return
			}
			err := protect(func() error { return w.fetch(ctx, r, flag) })
			select {
			case s.fetched <- fetched{r.sec, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *stream) stop() {
	s.cancel()
	<-s.end
}

// ranges are those of the key in the order of run.
func (w *work) ranges() []keyRange {
	var all []keyRange
	section := func(sec groth16.Section) {
		n, step := w.c.counts[sec], w.c.chunks[sec]
		for at := 0; at < n; at += step {
			all = append(all, keyRange{sec, at, min(step, n-at)})
		}
	}
	for from := 0; from < len(w.as); from += w.c.quotients {
		section(groth16.SectionH)
	}
	for sec := groth16.SectionL; sec < groth16.NumSections; sec++ {
		section(sec)
	}
	return all
}

// fetch sends a range to the device. Not on the device's thread.
func (w *work) fetch(ctx context.Context, r keyRange, cancel *int32) error {
	_, sp := span.Start(w.ctx, "key.load")
	sp.SetLane(w.d.String())
	sp.AddBytes(int64(r.n) * int64(r.sec.PointSize()))
	defer sp.End()
	step := max(1, fetchBytes/r.sec.PointSize())
	for at := r.at; at < r.at+r.n; at += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(step, r.at+r.n-at)
		raw, err := w.key.Raw(r.sec, at, n)
		if err != nil {
			return err
		}
		res := w.d.lib.sessionFetch(w.h, int(r.sec), r.at, at, n, raw, cancel)
		if err := res.err(w.d.opts.Ordinal); err != nil {
			return err
		}
	}
	return nil
}

// nextRange waits for the next range of the stream and converts it, into the place of the one before.
func (w *work) nextRange() error {
	var f fetched
	select {
	case f = <-w.stream.fetched:
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
	if f.err != nil {
		return f.err
	}
	err := w.stage("key.load", 0, func(lib native) result { return lib.sessionStage(w.h, checkCurve) })
	w.stream.room <- struct{}{}
	return w.keyError(f.sec, err)
}
