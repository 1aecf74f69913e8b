package msm

import (
	"context"
	"math/bits"

	"github.com/filgroth/filgroth/internal/par"
)

// sorter sorts the points of a pass by digit, a window at a time.
//
// A constant with 2^(c-1) in each window but the top one is added to every scalar
// beforehand; then a plain bit field minus 2^(c-1) is a signed digit in
// [-2^(c-1), 2^(c-1)), without carries. The top digit is not offset: it is at most
// 2^(c-1), since scalars are below 2^254 and the windows cover 255 bits.
type sorter struct {
	bits, count int
	rest        *rest
}

const biasChunk = 1 << 15

// bias adds the constant to the scalars, in place, once.
func (s *sorter) bias(ctx context.Context, threads int) error {
	var k scalar
	for w := 0; w < s.count-1; w++ {
		bit := s.bits*w + s.bits - 1
		k[bit/64] |= 1 << (bit % 64)
	}
	pieces := s.split(biasChunk)
	return par.Do(ctx, threads, len(pieces), func(_, i int) error {
		for v := pieces[i].from; v < pieces[i].to; v++ {
			var carry uint64
			x := &s.rest.scalar[v]
			for l := range x {
				x[l], carry = bits.Add64(x[l], k[l], carry)
			}
		}
		return nil
	})
}

// split returns the pieces of the rest cut to at most size scalars each.
func (s *sorter) split(size int) []piece {
	var out []piece
	for _, p := range s.rest.pieces {
		for ; p.from < p.to; p.from += size {
			out = append(out, piece{p.from, min(p.from+size, p.to)})
		}
	}
	return out
}

// digit is window w of a biased scalar: the bucket, |d|, and the sign.
func (s *sorter) digit(x *scalar, w int) (m uint32, negative uint32) {
	off := s.bits * w
	limb, shift := off/64, off%64
	v := x[limb] >> shift
	if shift+s.bits > 64 && limb < 3 {
		v |= x[limb+1] << (64 - shift)
	}
	v &= 1<<s.bits - 1
	if w == s.count-1 {
		return uint32(v), 0
	}
	d := int64(v) - 1<<(s.bits-1)
	sign := d >> 63
	return uint32((d ^ sign) - sign), uint32(sign & 1)
}

// sortedWindow is the points of a window by bucket: those of the bucket of digit
// digits[i] are entries[start[i]:start[i+1]]. Empty buckets are left out.
type sortedWindow struct {
	entries []entry
	digits  []uint32 // increasing
	start   []uint32 // one more than digits
}

// sort sorts windows [lo, hi) by counting. Where there are fewer windows than
// workers, each is counted and filled in several parts.
func (s *sorter) sort(ctx context.Context, threads, lo, hi int) ([]sortedWindow, error) {
	n := hi - lo
	workers := par.Workers(threads, 1<<30)
	parts := s.parts((workers + n - 1) / n)
	buckets := 1 << (s.bits - 1)
	counts := make([][]uint32, n*len(parts))
	err := par.Do(ctx, threads, len(counts), func(_, i int) error {
		counts[i] = s.countDigits(parts[i%len(parts)], lo+i/len(parts), buckets)
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	out := make([]sortedWindow, n)
	err = par.Do(ctx, threads, n, func(_, w int) error {
		out[w] = layout(counts[w*len(parts):(w+1)*len(parts)], buckets)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = par.Do(ctx, threads, len(counts), func(_, i int) error {
		s.place(parts[i%len(parts)], lo+i/len(parts), counts[i], out[i/len(parts)].entries)
		return ctx.Err()
	})
	return out, err
}

// layout turns the counts of a window's parts into where each part's entries go.
func layout(counts [][]uint32, buckets int) sortedWindow {
	used := 0
	for b := range buckets {
		for _, c := range counts {
			if c[b] != 0 {
				used++
				break
			}
		}
	}
	w := sortedWindow{digits: make([]uint32, 0, used), start: make([]uint32, 0, used+1)}
	total := uint32(0)
	for b := range buckets {
		from := total
		for _, c := range counts {
			c[b], total = total, total+c[b]
		}
		if total > from {
			w.digits, w.start = append(w.digits, uint32(b)+1), append(w.start, from)
		}
	}
	w.start = append(w.start, total)
	w.entries = make([]entry, total)
	return w
}

// parts distributes the pieces over at most n parts of similar size.
func (s *sorter) parts(n int) [][]piece {
	size := (s.rest.count + n - 1) / n
	parts := [][]piece{nil}
	filled := 0
	for _, p := range s.split(max(1, min(size, biasChunk))) {
		if filled >= size {
			parts, filled = append(parts, nil), 0
		}
		last := len(parts) - 1
		parts[last] = append(parts[last], p)
		filled += p.to - p.from
	}
	return parts
}

func (s *sorter) countDigits(pieces []piece, w, buckets int) []uint32 {
	counts := make([]uint32, buckets)
	for _, p := range pieces {
		for i := p.from; i < p.to; i++ {
			if m, _ := s.digit(&s.rest.scalar[i], w); m != 0 {
				counts[m-1]++
			}
		}
	}
	return counts
}

// place writes entries to where next says, and counts it on.
func (s *sorter) place(pieces []piece, w int, next []uint32, entries []entry) {
	for _, p := range pieces {
		for i := p.from; i < p.to; i++ {
			if m, negative := s.digit(&s.rest.scalar[i], w); m != 0 {
				entries[next[m-1]] = s.rest.at[i] ^ negative
				next[m-1]++
			}
		}
	}
}
