package msm

// sortedLines lists the sums of a window twice: by row, and by column. Line i, a row or
// after those a column, is entries[start[i]:start[i+1]].
type sortedLines struct {
	entries []entry
	start   []uint32
}

// sortLines sorts by counting, and leaves out gaps and infinities.
func (j *job[P, J]) sortLines(w *window[P], k, rows, cols int) sortedLines {
	l := sortedLines{start: make([]uint32, rows+cols+2)}
	next := l.start[1:] // counts are one line late, so that placing leaves starts behind
	mask := uint32(1)<<k - 1
	for i, m := range w.digits {
		if m != 0 && j.curve.infinite(&w.sums[i]) {
			w.digits[i] = 0
		}
		if m = w.digits[i]; m != 0 {
			next[m>>k+1]++
			next[uint32(rows)+m&mask+1]++
		}
	}
	total := uint32(0)
	for i := range next {
		total += next[i]
		next[i] = total
	}
	l.entries = make([]entry, total)
	for i, m := range w.digits {
		if m == 0 {
			continue
		}
		for _, line := range [2]uint32{m >> k, uint32(rows) + m&mask} {
			l.entries[next[line]] = entry(i) << 1
			next[line]++
		}
	}
	return l
}

// segments returns the entries of lines [from, to), and appends to segs a segment for
// each line that is not empty.
func (l *sortedLines) segments(from, to int, segs []segment) ([]entry, []segment) {
	base := int(l.start[from])
	for line := from; line < to; line++ {
		if n := int(l.start[line+1] - l.start[line]); n > 0 {
			segs = append(segs, segment{int(l.start[line]) - base, n, line})
		}
	}
	return l.entries[base:l.start[to]], segs
}
