package msm

// tree sums segments of points by halving: each level adds neighbours in pairs, all
// pairs of all segments in one batch, until one point a segment is left. It is the
// scratch of one worker and grows to what it is asked for.
type tree[P, J any] struct {
	curve *curve[P, J]
	adder adder[P]
	level [2][]P
	a, b  []entry
	out   []uint32
	// spare is where callers build their entries and segments.
	spare     []entry
	spareSegs []segment
	fine      fineSorter
}

// segment is a run of entries that add up to the result of that id.
type segment struct {
	start, len int
	id         int
}

func newTree[P, J any](c *curve[P, J]) *tree[P, J] {
	return &tree[P, J]{curve: c, adder: c.newAdder()}
}

// signedPoint stores ±src[e] in dst.
func (t *tree[P, J]) signedPoint(dst *P, src []P, e entry) {
	if e&1 != 0 {
		t.curve.neg(dst, &src[e>>1])
		return
	}
	*dst = src[e>>1]
}

// sums calls result(id, P) with the sum of each segment of entries, which name finite
// points of src. Segments are not empty and lie in entries in order. P is valid during
// the call only and may be infinity. segs is used up.
func (t *tree[P, J]) sums(src []P, entries []entry, segs []segment, result func(id int, p *P)) {
	clean := true
	for depth := 0; len(segs) > 0; depth++ {
		dst := t.plan(src, entries, segs, depth)
		clean = t.adder.add(dst, src, t.a, t.b, t.out, clean) && clean
		// Odd ones out are copied after the additions, results of one point handed over.
		keep, filled := segs[:0], 0
		for _, s := range segs {
			half := (s.len + 1) / 2
			if s.len%2 != 0 {
				t.signedPoint(&dst[filled+half-1], src, at(entries, s.start+s.len-1))
			}
			if half == 1 {
				t.adder.canonical(&dst[filled])
				result(s.id, &dst[filled])
			} else {
				keep = append(keep, segment{filled, half, s.id})
			}
			filled += half
		}
		segs, src, entries = keep, dst, nil
	}
}

// at is entry i of a list, where nil stands for all points in order.
func at(entries []entry, i int) entry {
	if entries == nil {
		return entry(i) << 1
	}
	return entries[i]
}

// plan lists the pairs of a level and returns where their sums go.
func (t *tree[P, J]) plan(src []P, entries []entry, segs []segment, depth int) []P {
	t.a, t.b, t.out = t.a[:0], t.b[:0], t.out[:0]
	filled := 0
	for _, s := range segs {
		for i := s.start; i+1 < s.start+s.len; i += 2 {
			t.a = append(t.a, at(entries, i))
			t.b = append(t.b, at(entries, i+1))
			t.out = append(t.out, uint32(filled))
			filled++
		}
		filled += s.len % 2
	}
	buf := &t.level[depth%2]
	if cap(*buf) < filled {
		*buf = make([]P, filled+filled/4)
	}
	return (*buf)[:filled]
}
