package msm

import (
	"math/bits"

	"github.com/filgroth/filgroth/internal/par"
)

// groupEntries bounds how many sorted entries exist at once (four bytes each), except
// that one window is always sorted whole.
const groupEntries = 1 << 24

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
	group := max(1, min(s.count, groupEntries/r.count))
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
	sorted []entry
	start  []uint32 // bucket m-1 is sorted[start[m-1]:start[m]]
	sums   []P
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
	var slices []slice
	for w := range windows {
		windows[w] = window[P, J]{sorted: sorted[w].entries, start: sorted[w].start}
		windows[w].sums = make([]P, 1<<(s.bits-1))
		from := len(slices)
		slices = appendSlices(slices, w, sorted[w].start, j.curve.slice)
		windows[w].heavy = make([]part[P], len(slices)-from)
		for i := from; i < len(slices); i++ {
			slices[i].index = i - from
		}
	}
	err = par.Do(j.ctx, j.cfg.Threads, len(slices), func(worker, i int) error {
		j.fill(j.tree(worker), &windows[slices[i].window], slices[i])
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
func appendSlices(slices []slice, w int, start []uint32, size int) []slice {
	buckets := len(start) - 1
	for b := 0; b < buckets; {
		from := int(start[b])
		if to := int(start[b+1]); to-from > size {
			for ; from < to; from += size {
				slices = append(slices, slice{window: w, first: b, part: true, from: from, to: min(from+size, to)})
			}
			b++
			continue
		}
		first := b
		for b < buckets && int(start[b+1])-from <= size {
			b++
		}
		if int(start[b]) > from {
			slices = append(slices, slice{window: w, first: first, last: b})
		}
	}
	return slices
}

// fill sums the buckets of a slice.
func (j *job[P, J]) fill(t *tree[P, J], w *window[P, J], s slice) {
	t.spareSegs = t.spareSegs[:0]
	if s.part {
		t.spareSegs = append(t.spareSegs, segment{0, s.to - s.from, 0})
		t.sums(j.points, w.sorted[s.from:s.to], t.spareSegs, func(_ int, p *P) {
			w.heavy[s.index] = part[P]{s.first + 1, *p}
		})
		return
	}
	base := int(w.start[s.first])
	for b := s.first; b < s.last; b++ {
		if from, to := int(w.start[b]), int(w.start[b+1]); to > from {
			t.spareSegs = append(t.spareSegs, segment{from - base, to - from, b})
		}
	}
	t.sums(j.points, w.sorted[base:w.start[s.last]], t.spareSegs, func(b int, p *P) { w.sums[b] = *p })
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
		j.lines(j.tree(worker), windows[w].sums, k, rows, from, min(from+per, lines), marginals[w])
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
func (j *job[P, J]) lines(t *tree[P, J], sums []P, k, rows, from, to int, out []P) {
	entries := t.spare[:0]
	t.spareSegs = t.spareSegs[:0]
	for line := from; line < to; line++ {
		start := len(entries)
		m, step, count := line<<k, 1, 1<<k
		if line >= rows {
			m, step, count = line-rows, 1<<k, rows
		}
		for ; count > 0; count-- {
			if m >= 1 && m <= len(sums) && !j.curve.infinite(&sums[m-1]) {
				entries = append(entries, entry(m-1)<<1)
			}
			m += step
		}
		if len(entries) > start {
			t.spareSegs = append(t.spareSegs, segment{start, len(entries) - start, line})
		}
	}
	t.spare = entries
	t.sums(sums, entries, t.spareSegs, func(line int, p *P) { out[line] = *p })
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
