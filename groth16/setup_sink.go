package groth16

import (
	"context"
	"io"

	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/pinning"
	"golang.org/x/sync/errgroup"
)

// keySink takes the encoding of a key, chunk after chunk in order, each in a buffer that it has given before. One
// goroutine uses it. Chunks are written while the next ones are made; flush waits for them.
type keySink interface {
	// buffer gives room for the next n bytes, which lie at off in the file.
	buffer(ctx context.Context, off int64, n int) ([]byte, error)
	// put takes that buffer, filled.
	put(ctx context.Context, off int64, b []byte) error
	// flush ends it. It is called once, with what else went wrong.
	flush(err error) error
}

// memorySink is the key's own memory: there is nothing to be copied.
type memorySink []byte

func (m memorySink) buffer(_ context.Context, off int64, n int) ([]byte, error) {
	if off+int64(n) > int64(len(m)) {
		return nil, io.ErrShortBuffer
	}
	return m[off:][:n:n], nil
}

func (memorySink) put(context.Context, int64, []byte) error { return nil }

func (memorySink) flush(err error) error { return err }

// sinkBuffers is how many chunks there are: one being made, the others being written.
const sinkBuffers = 3

// writerSink writes chunks behind the maker's back with a function of its own.
type writerSink struct {
	free  chan *pinning.Buffer
	work  chan sinkChunk
	write func(ctx context.Context, off int64, b []byte) error
	taken *pinning.Buffer // what buffer gave and put has not had yet
	group *errgroup.Group
	ctx   context.Context // of the writer: ends with its first error
}

type sinkChunk struct {
	off int64
	b   []byte
	buf *pinning.Buffer
}

// newWriterSink starts the writer. Buffers grow to the largest chunk asked for.
func newWriterSink(ctx context.Context, write func(ctx context.Context, off int64, b []byte) error) *writerSink {
	s := &writerSink{free: make(chan *pinning.Buffer, sinkBuffers), work: make(chan sinkChunk, sinkBuffers), write: write}
	for range sinkBuffers {
		s.free <- nil
	}
	s.group, s.ctx = errgroup.WithContext(ctx)
	s.group.Go(func() error {
		for c := range s.work {
			err := s.write(s.ctx, c.off, c.b)
			s.free <- c.buf // has room for all of them
			if err != nil {
				return err
			}
		}
		return nil
	})
	return s
}

func (s *writerSink) buffer(ctx context.Context, _ int64, n int) ([]byte, error) {
	select {
	case s.taken = <-s.free:
	case <-s.ctx.Done(): // also where ctx ends: it is a part of it
		return nil, s.ctx.Err()
	}
	if s.taken != nil && s.taken.Len() < n {
		old := s.taken
		s.taken = nil
		if err := old.Close(); err != nil {
			return nil, err
		}
	}
	if s.taken == nil {
		b, err := pinning.AllocWith(n, "setup points", pinning.Options{HugePages: true})
		if err != nil {
			return nil, err
		}
		s.taken = b
	}
	return s.taken.Bytes()[:n], nil
}

func (s *writerSink) put(_ context.Context, off int64, b []byte) error {
	c := sinkChunk{off, b, s.taken}
	s.taken = nil
	s.work <- c // has room for all of them
	return nil
}

func (s *writerSink) flush(err error) error {
	close(s.work)
	if werr := s.group.Wait(); werr != nil {
		err = werr // why the maker was told to stop
	}
	for c := range s.work { // left by a writer that gave up
		s.free <- c.buf
	}
	if s.taken != nil {
		s.free <- s.taken
	}
	close(s.free)
	for b := range s.free {
		if b != nil {
			_ = b.Close() // ours alone, closed once
		}
	}
	return err
}

// streamTo writes chunks to w one after the other.
func streamTo(w io.Writer) func(context.Context, int64, []byte) error {
	return func(ctx context.Context, _ int64, b []byte) error {
		for len(b) > 0 {
			n, err := (ctxWriter{ctx, w}).Write(b[:min(len(b), ioChunk)])
			if err != nil {
				return err
			}
			b = b[n:]
		}
		return nil
	}
}

// fileWriters is how many pieces of a chunk are written at a time: one processor copies some GB/s into the page cache.
const fileWriters = 8

// writeAt writes the pieces of a chunk to their places in parallel.
func writeAt(w io.WriterAt, threads int) func(context.Context, int64, []byte) error {
	return func(ctx context.Context, off int64, b []byte) error {
		return par.Range(ctx, min(par.Workers(threads, fileWriters), fileWriters), len(b), ioChunk, func(_, lo, hi int) error {
			_, err := w.WriteAt(b[lo:hi], off+int64(lo))
			return err
		})
	}
}
