package groth16

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"
	"sort"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"golang.org/x/sync/errgroup"
)

// setupPiece is how many scalars or points one worker takes at a time.
const setupPiece = 1024

// scalarBlock is how many words of a density have one rank.
const scalarBlock = 1 << 6

// sectionScalars are the scalars of a section that has points for some inputs and for the aux variables of a density.
type sectionScalars struct {
	head    []fr.Element
	aux     []fr.Element
	density []uint64
	rank    []int // the point of the first variable of each block, and the number of points
}

// newSectionScalars keeps the members of in that inDensity names (nil: all), and aux as it is.
func newSectionScalars(in []fr.Element, inDensity []uint64, aux []fr.Element, density []uint64) *sectionScalars {
	s := &sectionScalars{aux: aux, density: density}
	for i := range in {
		if inDensity == nil || inDensity[i>>6]>>(i&63)&1 == 1 {
			s.head = append(s.head, in[i])
		}
	}
	n := len(s.head)
	for w := 0; w < len(density); w += scalarBlock {
		s.rank = append(s.rank, n)
		n += popcount(density[w:min(w+scalarBlock, len(density))])
	}
	s.rank = append(s.rank, n)
	return s
}

// zero is the first point that is at infinity, or -1.
func (s *sectionScalars) zero(ctx context.Context, threads int) (int, error) {
	for i := range s.head {
		if s.head[i].IsZero() {
			return i, nil
		}
	}
	found := make([]int, len(s.rank)-1)
	err := par.Range(ctx, threads, len(found), 16, func(_, lo, hi int) error {
		for b := lo; b < hi; b++ {
			found[b] = -1
			n := s.rank[b]
			for w := b * scalarBlock; w < min((b+1)*scalarBlock, len(s.density)) && found[b] < 0; w++ {
				for d := s.density[w]; d != 0 && found[b] < 0; d &= d - 1 {
					if s.aux[w<<6+bits.TrailingZeros64(d)].IsZero() {
						found[b] = n
					}
					n++
				}
			}
		}
		return nil
	})
	for _, n := range found {
		if err == nil && n >= 0 {
			return n, nil
		}
	}
	return -1, err
}

// fill gives the scalars of the points from and on.
func (s *sectionScalars) fill(dst []fr.Element, from int) {
	if from < len(s.head) {
		n := copy(dst, s.head[from:])
		dst, from = dst[n:], from+n
	}
	if len(dst) == 0 {
		return
	}
	b := sort.SearchInts(s.rank, from+1) - 1 // the last block that begins at or before it
	for at, w := s.rank[b], b*scalarBlock; ; w++ {
		d := s.density[w]
		if c := bits.OnesCount64(d); at+c <= from {
			at += c
			continue
		}
		for ; d != 0; d &= d - 1 {
			if at >= from {
				dst[at-from] = s.aux[w<<6+bits.TrailingZeros64(d)]
				if at-from == len(dst)-1 {
					return
				}
			}
			at++
		}
	}
}

// powers are the scalars of h: (tau^m - 1)/delta · tau^i.
func (s *setup) powers() func(dst []fr.Element, from int) {
	first := s.t.vanishing(s.sys.DomainSize())
	first.Div(&first, &s.t.Delta)
	return func(dst []fr.Element, from int) {
		var x fr.Element
		x.Exp(s.t.Tau, big.NewInt(int64(from)))
		x.Mul(&x, &first)
		for i := range dst {
			dst[i] = x
			x.Mul(&x, &s.t.Tau)
		}
	}
}

// setupChunk is a run of points of one section with their scalars.
type setupChunk struct {
	sec Section
	off int64 // of the points in the file; -1: the header of the section
	k   []fr.Element
	buf *pinning.Buffer
}

// sections writes the five sections behind the verifying key: scalars are made, points are made and bytes are written at
// the same time, each of another chunk.
func (s *setup) sections(ctx context.Context, off int64) (err error) {
	ctx, sp := span.Start(ctx, "setup.points")
	defer sp.End()
	step := max(1, s.o.FixedBase.Chunk())
	longest := 0
	for _, n := range s.len {
		longest = max(longest, n)
	}
	const ahead = 2
	bufs := make(chan *pinning.Buffer, ahead)
	defer func() {
		close(bufs)
		for b := range bufs {
			_ = b.Close() // ours alone, closed once
		}
	}()
	for range ahead {
		b, err := pinning.Alloc(32*min(step, longest), "setup scalars")
		if err != nil {
			return err
		}
		bufs <- b
	}
	chunks := make(chan setupChunk)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(chunks)
		return s.produce(gctx, off, step, bufs, chunks)
	})
	g.Go(func() error {
		for c := range chunks {
			err := s.points(gctx, &c)
			bufs <- c.buf // has room for all of them
			if err != nil {
				return err
			}
		}
		return nil
	})
	err = g.Wait()
	for c := range chunks { // left where the maker of points gave up
		bufs <- c.buf
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// produce makes the scalars of all sections, chunk by chunk.
func (s *setup) produce(ctx context.Context, off int64, step int, bufs chan *pinning.Buffer, out chan<- setupChunk) error {
	l := s.cols.aux[2]
	for _, sec := range []struct {
		s    Section
		fill func(dst []fr.Element, from int)
	}{{SectionH, s.powers()}, {SectionL, func(dst []fr.Element, from int) { copy(dst, l[from:]) }},
		{SectionA, s.a.fill}, {SectionB1, s.b.fill}, {SectionB2, s.b.fill}} {
		n := s.len[sec.s]
		off += 4
		for at := 0; at < max(n, 1); at += step { // an empty section has a length too
			m := min(step, n-at)
			c := setupChunk{sec: sec.s, off: off + int64(at)*int64(sec.s.PointSize())}
			select {
			case c.buf = <-bufs:
			case <-ctx.Done():
				return ctx.Err()
			}
			c.k = pinning.Slice[fr.Element](c.buf, m)
			err := par.Range(ctx, s.o.Threads, m, setupPiece, func(_, lo, hi int) error {
				sec.fill(c.k[lo:hi], at+lo)
				return nil
			})
			if err == nil {
				select {
				case out <- c:
					continue
				case <-ctx.Done():
					err = ctx.Err()
				}
			}
			bufs <- c.buf
			return err
		}
		off += int64(n) * int64(sec.s.PointSize())
	}
	return nil
}

// points makes a chunk's points and hands them to the sink, the section's length before the first.
func (s *setup) points(ctx context.Context, c *setupChunk) error {
	if c.sec != s.section {
		s.section = c.sec
		b, err := s.sink.buffer(ctx, c.off-4, 4)
		if err != nil {
			return err
		}
		binary.BigEndian.PutUint32(b, uint32(s.len[c.sec]))
		if err := s.sink.put(ctx, c.off-4, b); err != nil {
			return err
		}
	}
	if len(c.k) == 0 {
		return nil
	}
	b, err := s.sink.buffer(ctx, c.off, len(c.k)*c.sec.PointSize())
	if err != nil {
		return err
	}
	mul := s.o.FixedBase.G1
	if c.sec == SectionB2 {
		mul = s.o.FixedBase.G2
	}
	if err := catch("FixedBase", c.sec.String(), func() error { return mul(ctx, c.k, b) }); err != nil {
		return fmt.Errorf("groth16: setup: points of %v: %w", c.sec, err)
	}
	if err := s.sink.put(ctx, c.off, b); err != nil {
		return err
	}
	s.done += len(c.k)
	if s.o.Progress != nil {
		s.o.Progress(s.done, s.total)
	}
	return nil
}
