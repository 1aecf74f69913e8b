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

// piece is a part of a range as it was read.
type piece struct {
	at, n int
	raw   []byte
	err   error
}

// read reads a range piece by piece, one ahead of what is sent: a key that is not mapped is read while the piece before is
// under way.
func (w *work) read(ctx context.Context, r keyRange) <-chan piece {
	out := make(chan piece, 1)
	step := max(1, fetchBytes/r.sec.PointSize())
	go func() {
		defer close(out)
		for at := r.at; at < r.at+r.n; at += step {
			p := piece{at: at, n: min(step, r.at+r.n-at)}
			p.err = protect(func() (err error) {
				p.raw, err = w.key.Raw(r.sec, p.at, p.n)
				return err
			})
			select {
			case out <- p:
			case <-ctx.Done():
				return
			}
			if p.err != nil {
				return
			}
		}
	}()
	return out
}

// fetch sends a range to the device. Not on the device's thread.
func (w *work) fetch(ctx context.Context, r keyRange, cancel *int32) (err error) {
	_, sp := span.Start(w.ctx, "key.load")
	sp.SetLane(w.d.String())
	sp.AddBytes(int64(r.n) * int64(r.sec.PointSize()))
	defer sp.End()
	ctx, stop := context.WithCancel(ctx)
	pieces := w.read(ctx, r)
	defer func() {
		stop()
		for range pieces { // until it has ended
		}
	}()
	sent := 0
	for p := range pieces {
		if p.err != nil {
			return p.err
		}
		res := w.d.lib.sessionFetch(w.h, int(r.sec), r.at, p.at, p.n, p.raw, cancel)
		if err := res.err(w.d.opts.Ordinal); err != nil {
			return err
		}
		sent += p.n
	}
	if sent < r.n {
		return ctx.Err()
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
