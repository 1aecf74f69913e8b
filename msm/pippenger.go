package msm

import (
	"math/bits"
	"slices"

	"github.com/filgroth/filgroth/internal/par"
)

// Bounds of what exists at once, except that one window is always there in whole.
const (
	groupEntries  = 1 << 24 // sorted entries, four bytes each
	groupCounters = 1 << 22 // counters of a bucket, four bytes each
	groupSums     = 1 << 20 // sums of buckets, a point each
)

// groupSize is how many windows of c bits are worked on together, of n points.
func groupSize(windows, n, c int) int {
	buckets := 1 << (c - 1)
	return max(1, min(windows, groupEntries/n, groupCounters/buckets, groupSums/min(n, buckets)))
}

// windows adds sum of r to the result, by Pippenger's method: a scalar is a number of
// signed digits d_w of c bits, the points with |d_w| = m make bucket m of window w, a
// window is worth the sum of m times bucket m, and the windows combine by Horner's rule.
// All work on points goes through trees of batched affine additions.
func (j *job[P, J]) windows(r *rest) error {
	if j.cfg.WindowBits == 0 && r.count <= few {
		return j.oneByOne(r)
	}
	if r.count == 0 {
		return nil
	}
	c := j.cfg.WindowBits
	if c == 0 {
		c = chooseWindow(r.count)
	}
	s := &sorter{bits: c, count: windowCount(c), rest: r}
	if err := s.bias(j.ctx, j.cfg.Threads); err != nil {
		return err
	}
	group := groupSize(s.count, r.count, c)
	var total J
	for hi := s.count; hi > 0; hi -= group {
		lo := max(0, hi-group)
		values, err := j.group(s, lo, hi)
		if err != nil {
			return err
		}
		for w := hi - 1; w >= lo; w-- {
			if w == s.count-1 {
				total = values[w-lo]
				continue
			}
			for range c {
				j.curve.double(&total)
			}
			j.curve.add(&total, &values[w-lo])
		}
	}
	j.add(&total)
	return nil
}

// oneByOne is for a handful of points, where windows would cost more.
func (j *job[P, J]) oneByOne(r *rest) error {
	var index []int
	for _, p := range r.pieces {
		for i := p.from; i < p.to; i++ {
			index = append(index, i)
		}
	}
	return par.Do(j.ctx, j.cfg.Threads, len(index), func(_, i int) error {
		e := r.at[index[i]]
		part := j.curve.mul(&j.points[e>>1], r.scalar[index[i]].big(e))
		j.add(&part)
		return nil
	})
}

// window is one window of a group: its entries by bucket, and the sums of the buckets.
type window[P, J any] struct {
	sortedWindow
	sums []P
	// heavy are parts of buckets that did not fit into one slice.
	heavy []part[P]
}

type part[P any] struct {
	m   int
	sum P
}

// group computes the values of windows [lo, hi).
func (j *job[P, J]) group(s *sorter, lo, hi int) ([]J, error) {
	sorted, err := s.sort(j.ctx, j.cfg.Threads, lo, hi)
	if err != nil {
		return nil, err
	}
	windows := make([]window[P, J], hi-lo)
	var cuts []slice
	for w := range windows {
		windows[w] = window[P, J]{sortedWindow: sorted[w], sums: make([]P, len(sorted[w].digits))}
		from := len(cuts)
		cuts = appendSlices(cuts, w, sorted[w].start, j.curve.slice)
		windows[w].heavy = make([]part[P], len(cuts)-from)
		for i := from; i < len(cuts); i++ {
			cuts[i].index = i - from
		}
	}
	err = par.Do(j.ctx, j.cfg.Threads, len(cuts), func(worker, i int) error {
		j.fill(j.tree(worker), &windows[cuts[i].window], cuts[i])
		return nil
	})
	if err != nil {
		return nil, err
	}
	return j.weigh(windows, s.bits)
}

// slice is a piece of a window's sorted entries for one worker: either the whole buckets
// [first, last), or with part set the entries [from, to) of bucket first.
type slice struct {
	window, index int
	first, last   int
	part          bool
	from, to      int
}

// appendSlices cuts a window into slices of about size entries.
func appendSlices(cuts []slice, w int, start []uint32, size int) []slice {
	buckets := len(start) - 1
	for b := 0; b < buckets; {
		from := int(start[b])
		if to := int(start[b+1]); to-from > size {
			for ; from < to; from += size {
				cuts = append(cuts, slice{window: w, first: b, part: true, from: from, to: min(from+size, to)})
			}
			b++
			continue
		}
		first := b
		for b < buckets && int(start[b+1])-from <= size {
			b++
		}
		cuts = append(cuts, slice{window: w, first: first, last: b})
	}
	return cuts
}

// fill sums the buckets of a slice.
func (j *job[P, J]) fill(t *tree[P, J], w *window[P, J], s slice) {
	t.spareSegs = t.spareSegs[:0]
	if s.part {
		t.spareSegs = append(t.spareSegs, segment{0, s.to - s.from, 0})
		t.sums(j.points, w.entries[s.from:s.to], t.spareSegs, func(_ int, p *P) {
			w.heavy[s.index] = part[P]{int(w.digits[s.first]), *p}
		})
		return
	}
	base := int(w.start[s.first])
	for b := s.first; b < s.last; b++ {
		from, to := int(w.start[b]), int(w.start[b+1])
		t.spareSegs = append(t.spareSegs, segment{from - base, to - from, b})
	}
	t.sums(j.points, w.entries[base:w.start[s.last]], t.spareSegs, func(b int, p *P) { w.sums[b] = *p })
}

// weigh returns, for each window, the sum over m of m times bucket m. With m written
// as hi·2^k + lo, that is 2^k times the weighed sum of the rows (same hi) plus the
// weighed sum of the columns (same lo): two additions a bucket, in trees, and then two
// sums that are short.
func (j *job[P, J]) weigh(windows []window[P, J], c int) ([]J, error) {
	k := (c - 1) / 2
	cols, rows := 1<<k, 1<<(c-1-k)+1
	marginals := make([][]P, len(windows))
	for i := range marginals {
		marginals[i] = make([]P, rows+cols)
	}
	lines := rows + cols
	per := max(1, j.curve.slice/max(rows, cols)) // lines a task
	tasks := (lines + per - 1) / per
	err := par.Do(j.ctx, j.cfg.Threads, len(windows)*tasks, func(worker, i int) error {
		w, from := i/tasks, i%tasks*per
		j.lines(j.tree(worker), &windows[w], k, rows, from, min(from+per, lines), marginals[w])
		return nil
	})
	if err != nil {
		return nil, err
	}
	values := make([]J, len(windows))
	err = par.Do(j.ctx, j.cfg.Threads, len(windows), func(_, w int) error {
		v := j.running(marginals[w][:rows])
		for range k {
			j.curve.double(&v)
		}
		low := j.running(marginals[w][rows:])
		j.curve.add(&v, &low)
		j.addHeavy(&v, windows[w].heavy)
		values[w] = v
		return nil
	})
	return values, err
}

// lines sums rows (line < rows) and columns [from, to) of the bucket sums into out.
func (j *job[P, J]) lines(t *tree[P, J], w *window[P, J], k, rows, from, to int, out []P) {
	t.spare, t.spareSegs = t.spare[:0], t.spareSegs[:0]
	mask := uint32(1)<<k - 1
	if from < rows {
		row := func(line int) int { i, _ := slices.BinarySearch(w.digits, uint32(line)<<k); return i }
		for line := from; line < min(to, rows); line++ {
			start := len(t.spare)
			for i := row(line); i < row(line+1); i++ {
				j.nonzero(t, w.sums, i)
			}
			t.endSegment(start, line)
		}
	}
	if to > rows {
		// Columns are gathered by counting, as the windows are.
		first := uint32(max(from, rows) - rows)
		last := uint32(to - rows)
		columns := make([][]int, last-first)
		for i, m := range w.digits {
			if lo := m & mask; lo >= first && lo < last {
				columns[lo-first] = append(columns[lo-first], i)
			}
		}
		for c, list := range columns {
			start := len(t.spare)
			for _, i := range list {
				j.nonzero(t, w.sums, i)
			}
			t.endSegment(start, rows+int(first)+c)
		}
	}
	t.sums(w.sums, t.spare, t.spareSegs, func(line int, p *P) { out[line] = *p })
}

// nonzero lists a bucket's sum unless it is infinity, as heavy buckets' are.
func (j *job[P, J]) nonzero(t *tree[P, J], sums []P, i int) {
	if !j.curve.infinite(&sums[i]) {
		t.spare = append(t.spare, entry(i)<<1)
	}
}

// running returns the sum of i times points[i].
func (j *job[P, J]) running(points []P) J {
	sum, total := j.curve.infinity(), j.curve.infinity()
	for i := len(points) - 1; i > 0; i-- {
		j.curve.addMixed(&sum, &points[i])
		j.curve.add(&total, &sum)
	}
	return total
}

// addHeavy adds the parts of heavy buckets; those of a bucket are neighbours.
func (j *job[P, J]) addHeavy(v *J, parts []part[P]) {
	for i := 0; i < len(parts); {
		m := parts[i].m
		sum := j.curve.infinity()
		for ; i < len(parts) && parts[i].m == m; i++ {
			j.curve.addMixed(&sum, &parts[i].sum)
		}
		times := j.curve.infinity()
		for bit := bits.Len(uint(m)) - 1; bit >= 0; bit-- {
			j.curve.double(&times)
			if m>>bit&1 != 0 {
				j.curve.add(&times, &sum)
			}
		}
		j.curve.add(v, &times)
	}
}
