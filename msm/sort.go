package msm

import (
	"context"
	"math/bits"
	"slices"

	"github.com/filgroth/filgroth/internal/par"
)

// sorter sorts the points of a pass by digit, a few windows at a time, in two steps: all
// points into bins of neighbouring digits, by counting; and a bin, by the worker that
// sums it, when it is in the cache (fineSort).
//
// A constant with 2^(c-1) in each window but the top one is added to every scalar
// beforehand; then a plain bit field minus 2^(c-1) is a signed digit in
// [-2^(c-1), 2^(c-1)), without carries. The top digit is not offset: it is at most
// 2^(c-1), since scalars are below 2^254 and the windows cover 255 bits.
type sorter struct {
	bits, count int
	rest        *rest
	// A digit of absolute value m is in bin (m-1)>>fine, and fine bits tell it from the
	// bin's others.
	fine, bins int
	parts      [][]piece
}

const (
	partScalars  = 1 << 16 // a worker's share of counting and placing
	blockScalars = 1 << 11 // scalars that stay in the cache for all windows
	maxFine      = 16      // fine digits are two bytes
)

func newSorter(r *rest, c, slice int) *sorter {
	s := &sorter{bits: c, count: windowCount(c), rest: r}
	coarse := max(0, min(c-1, bits.Len(uint(r.count/slice))), c-1-maxFine)
	s.fine, s.bins = c-1-coarse, 1<<coarse
	s.parts = r.split(partScalars)
	return s
}

// split distributes the pieces over parts of about size scalars, each a list of blocks.
func (r *rest) split(size int) [][]piece {
	parts := [][]piece{nil}
	filled := 0
	for _, p := range r.pieces {
		for ; p.from < p.to; p.from += blockScalars {
			if filled >= size {
				parts, filled = append(parts, nil), 0
			}
			block := piece{p.from, min(p.from+blockScalars, p.to)}
			last := len(parts) - 1
			parts[last] = append(parts[last], block)
			filled += block.to - block.from
		}
	}
	return parts
}

// constant is what makes digits signed.
func (s *sorter) constant() (k scalar) {
	for w := 0; w < s.count-1; w++ {
		bit := s.bits*w + s.bits - 1
		k[bit/64] |= 1 << (bit % 64)
	}
	return k
}

// bias adds the constant to the scalars, in place, once.
func (s *sorter) bias(ctx context.Context, threads int) error {
	k := s.constant()
	return par.Do(ctx, threads, len(s.parts), func(_, i int) error {
		for _, p := range s.parts[i] {
			for v := p.from; v < p.to; v++ {
				s.rest.scalar[v].add(&k)
			}
		}
		return nil
	})
}

// digitField says where in a biased scalar a window is.
type digitField struct {
	limb, next  int
	shift, left uint
	mask, spill uint64
	offset      int32
}

// digits are the places of a window's digits.
func (s *sorter) digits(w int) digitField {
	off := s.bits * w
	f := digitField{limb: off / 64, next: min(off/64+1, 3), shift: uint(off % 64), left: uint(64 - off%64),
		mask: 1<<s.bits - 1, spill: ^uint64(0), offset: 1 << (s.bits - 1)}
	if off/64 == 3 {
		f.spill = 0
	}
	if w == s.count-1 {
		f.offset = 0
	}
	return f
}

// digit is the window's digit: its absolute value, and 1 if it is negative.
func (f *digitField) digit(x *scalar) (m, negative uint32) {
	v := (x[f.limb&3]>>f.shift | x[f.next&3]&f.spill<<f.left) & f.mask
	d := int32(v) - f.offset
	sign := d >> 31
	return uint32((d ^ sign) - sign), uint32(sign) & 1
}

// binned is a window after the first step: bin i has entries[start[i]:start[i+1]], with
// the low bits of their digits less one in fine.
type binned struct {
	entries []entry
	fine    []uint16
	start   []int
}

// sort does the first step for windows [lo, hi), in memory of mem.
func (s *sorter) sort(ctx context.Context, threads, lo, hi int, mem *sortMemory) ([]binned, error) {
	n := hi - lo
	counts := make([][]uint32, len(s.parts))
	err := par.Do(ctx, threads, len(s.parts), func(_, i int) error {
		counts[i] = make([]uint32, n*s.bins)
		for _, block := range s.parts[i] {
			for w := range n {
				s.countBlock(block, lo+w, counts[i][w*s.bins:(w+1)*s.bins])
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]binned, n)
	for w := range out {
		b := &out[w]
		b.entries, b.fine = mem.window(w, s.rest.count)
		b.start = make([]int, s.bins+1)
		total := uint32(0)
		for bin := range s.bins {
			b.start[bin] = int(total)
			for _, c := range counts {
				at := &c[w*s.bins+bin]
				*at, total = total, total+*at
			}
		}
		b.start[s.bins] = int(total)
	}
	err = par.Do(ctx, threads, len(s.parts), func(_, i int) error {
		for _, block := range s.parts[i] {
			for w := range n {
				s.placeBlock(block, lo+w, counts[i][w*s.bins:(w+1)*s.bins], &out[w])
			}
		}
		return nil
	})
	return out, err
}

func (s *sorter) countBlock(p piece, w int, counts []uint32) {
	f, fine := s.digits(w), uint(s.fine)
	scalars := s.rest.scalar[p.from:p.to]
	for i := range scalars {
		if m, _ := f.digit(&scalars[i]); m != 0 {
			counts[(m-1)>>fine]++
		}
	}
}

// placeBlock writes entries to where next says, and counts it on.
func (s *sorter) placeBlock(p piece, w int, next []uint32, b *binned) {
	f, fine := s.digits(w), uint(s.fine)
	scalars, at := s.rest.scalar[p.from:p.to], s.rest.at[p.from:p.to]
	low := uint32(1)<<fine - 1
	for i := range scalars {
		if m, negative := f.digit(&scalars[i]); m != 0 {
			m--
			to := next[m>>fine]
			next[m>>fine] = to + 1
			b.entries[to] = at[i] ^ negative
			b.fine[to] = uint16(m & low)
		}
	}
}

// fineSorter is the scratch of the second step.
type fineSorter struct {
	entries []entry
	counts  []uint32
	keys    []uint64
	// The result: entries of digit i of the bin are entries[ends[i-1]:ends[i]], in digits
	// in use only.
	digits []uint32
	ends   []int
}

// sort sorts entries by the given low bits of their digits, of which there are bits.
func (f *fineSorter) sort(entries []entry, low []uint16, bits int) {
	f.entries, f.digits, f.ends = append(f.entries[:0], entries...), f.digits[:0], f.ends[:0]
	if 1<<bits > 2*len(entries)+64 {
		f.compare(entries, low)
		return
	}
	if len(f.counts) < 1<<bits {
		f.counts = make([]uint32, 1<<bits)
	}
	counts := f.counts[:1<<bits]
	clear(counts)
	for _, d := range low {
		counts[d]++
	}
	total := uint32(0)
	for d, c := range counts {
		counts[d] = total
		if c != 0 {
			total += c
			f.digits, f.ends = append(f.digits, uint32(d)), append(f.ends, int(total))
		}
	}
	for i, d := range low {
		f.entries[counts[d]] = entries[i]
		counts[d]++
	}
}

// compare is for bins that are small for their number of digits.
func (f *fineSorter) compare(entries []entry, low []uint16) {
	f.keys = f.keys[:0]
	for i, e := range entries {
		f.keys = append(f.keys, uint64(low[i])<<32|uint64(e))
	}
	slices.Sort(f.keys)
	for i, k := range f.keys {
		f.entries[i] = entry(k)
		if d := uint32(k >> 32); i == 0 || d != f.digits[len(f.digits)-1] {
			f.digits, f.ends = append(f.digits, d), append(f.ends, i)
		}
		f.ends[len(f.ends)-1] = i + 1
	}
}
