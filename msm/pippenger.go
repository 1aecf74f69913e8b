package msm

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/internal/par"
)

// Bounds of what exists at once, except that one window is always there in whole.
const (
	groupEntries = 1 << 24 // sorted entries, six bytes each
	groupSums    = 1 << 20 // sums of buckets, a point each
)

// groupSize is how many windows of c bits are worked on together, of n points.
func groupSize(windows, n, c int) int {
	return max(1, min(windows, groupEntries/n, groupSums/min(n, 1<<(c-1))))
}

// windows adds sum of r to the result, by Pippenger's method: a scalar is a number of
// signed digits d_w of c bits, the points with |d_w| = m make bucket m of window w, a
// window is worth the sum of m times bucket m, and the windows combine by Horner's rule.
// All work on points goes through trees of batched affine additions.
func (j *job[P, J]) windows(r *rest) (err error) {
	switch {
	case j.cfg.WindowBits == 0 && r.count <= few:
		return j.oneByOne(r)
	case j.cfg.WindowBits == 0 && r.count <= some:
		return j.together(r)
	}
	if r.count == 0 {
		return nil
	}
	c := j.cfg.WindowBits
	if c == 0 {
		c = chooseWindow(r.count)
	}
	s := newSorter(r, c, j.curve.slice)
	if err := s.bias(j.ctx, j.cfg.Threads); err != nil {
		return err
	}
	group := groupSize(s.count, r.count, c)
	var space scratch
	defer func() { err = errors.Join(err, space.close()) }()
	mem, err := newSortMemory(&space, group, r.count)
	if err != nil {
		return err
	}
	var total J
	for hi := s.count; hi > 0; hi -= group {
		lo := max(0, hi-group)
		values, err := j.group(s, lo, hi, mem)
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
	index := r.list()
	return par.Do(j.ctx, j.cfg.Threads, len(index), func(_, i int) error {
		e := r.at[index[i]]
		part := j.curve.mul(&j.points[e>>1], r.scalar[index[i]].big(e))
		j.add(&part)
		return nil
	})
}

// together is for a few more, by gnark-crypto's sum.
func (j *job[P, J]) together(r *rest) error {
	points, k := make([]P, r.count), make([]fr.Element, r.count)
	for n, i := range r.list() {
		points[n] = j.points[r.at[i]>>1]
		k[n].SetBigInt(r.scalar[i].big(r.at[i]))
	}
	var part J
	tasks := par.Workers(j.cfg.Threads, runtime.NumCPU())
	if _, err := j.curve.multiExp(&part, points, k, ecc.MultiExpConfig{NbTasks: tasks}); err != nil {
		return fmt.Errorf("msm: %w", err)
	}
	j.add(&part)
	return j.ctx.Err()
}

// window is the sums of the buckets of one window, in no order and with gaps: sums[i] is
// part or all of bucket digits[i], unless that is 0.
type window[P any] struct {
	binned
	digits []uint32
	sums   []P
}

// cut is a piece of a window's bin for one worker, and where its sums go.
type cut struct {
	window, bin int
	from, to    int // entries
	out, room   int // sums
}

// group computes the values of windows [lo, hi).
func (j *job[P, J]) group(s *sorter, lo, hi int, mem *sortMemory) (values []J, err error) {
	sorted, err := s.sort(j.ctx, j.cfg.Threads, lo, hi, mem)
	if err != nil {
		return nil, err
	}
	var space scratch
	defer func() { err = errors.Join(err, space.close()) }()
	windows := make([]window[P], hi-lo)
	var cuts []cut
	for w := range windows {
		var room int
		cuts, room = appendCuts(cuts, w, sorted[w].start, j.curve.slice, 1<<s.fine)
		windows[w] = window[P]{binned: sorted[w], digits: make([]uint32, room)}
		if windows[w].sums, err = take[P](&space, room); err != nil {
			return nil, err
		}
	}
	err = par.Do(j.ctx, j.cfg.Threads, len(cuts), func(worker, i int) error {
		j.fill(j.tree(worker), &windows[cuts[i].window], cuts[i], s.fine)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return j.weigh(windows, s.bits)
}

// appendCuts makes a cut of each bin of a window, several of a bin that is too large,
// and says how many sums they make at most.
func appendCuts(cuts []cut, w int, start []int, size, digits int) ([]cut, int) {
	room := 0
	for bin := range len(start) - 1 {
		from, end := start[bin], start[bin+1]
		for parts := (end - from + 2*size - 1) / (2 * size); parts > 0; parts-- {
			to := from + (end-from)/parts
			c := cut{window: w, bin: bin, from: from, to: to, out: room, room: min(to-from, digits)}
			cuts, room, from = append(cuts, c), room+c.room, to
		}
	}
	return cuts, room
}

// fill sums the buckets of a cut.
func (j *job[P, J]) fill(t *tree[P, J], w *window[P], c cut, fine int) {
	f := &t.fine
	f.sort(w.entries[c.from:c.to], w.binned.fine[c.from:c.to], fine)
	t.spareSegs = t.spareSegs[:0]
	from := 0
	for i, to := range f.ends {
		w.digits[c.out+i] = uint32(c.bin)<<fine + f.digits[i] + 1
		t.spareSegs = append(t.spareSegs, segment{from, to - from, c.out + i})
		from = to
	}
	t.sums(j.points, f.entries, t.spareSegs, func(i int, p *P) { w.sums[i] = *p })
}

// weigh returns, for each window, the sum over m of m times bucket m. With m written
// as hi·2^k + lo, that is 2^k times the weighed sum of the rows (same hi) plus the
// weighed sum of the columns (same lo): two additions a bucket, in trees, and then two
// sums that are short.
func (j *job[P, J]) weigh(windows []window[P], c int) ([]J, error) {
	k := (c - 1) / 2
	cols, rows := 1<<k, 1<<(c-1-k)+1
	lines := rows + cols
	sorted := make([]sortedLines, len(windows))
	marginals := make([][]P, len(windows))
	err := par.Do(j.ctx, j.cfg.Threads, len(windows), func(_, w int) error {
		sorted[w] = j.sortLines(&windows[w], k, rows, cols)
		marginals[w] = make([]P, lines)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var tasks []cut
	for w := range sorted {
		for from := 0; from < lines; {
			to := from + 1
			for to < lines && int(sorted[w].start[to+1]-sorted[w].start[from]) <= j.curve.slice {
				to++
			}
			tasks = append(tasks, cut{window: w, from: from, to: to})
			from = to
		}
	}
	err = par.Do(j.ctx, j.cfg.Threads, len(tasks), func(worker, i int) error {
		w, t := tasks[i].window, j.tree(worker)
		entries, segs := sorted[w].segments(tasks[i].from, tasks[i].to, t.spareSegs[:0])
		t.spareSegs = segs
		t.sums(windows[w].sums, entries, segs, func(line int, p *P) { marginals[w][line] = *p })
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
		values[w] = v
		return nil
	})
	return values, err
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
