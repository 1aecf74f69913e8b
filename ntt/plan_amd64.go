//go:build amd64 && !purego

package ntt

import (
	"context"
	"errors"
	"math/big"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/pinning"
)

// A plan splits a transform of m = R·C points into transforms of R and of C points, by
// the four-step method (Bailey, "FFTs in external or hierarchical memory"): a vector is a
// matrix of R rows, and eight of its columns, or eight rows, are transformed at once in
// the lanes of a buffer that fits the second-level cache. A whole transform is two passes
// over the vector.
//
// Going "out", natural order becomes scrambled: element k1 + R·k2 at row rev(k1), column
// rev(k2), rev reversing bits. Going "back" is the other way. Neither needs a permutation,
// and what scales by powers (cosets, 1/m) is in the twiddles between the two steps.
type plan struct {
	domain     Domain
	threads    int
	rows, cols int
	revRows    []uint32 // offsets in bytes of vector rev(i) of a buffer
	revCols    []uint32
	buffers    []*buffer
}

// minPlanLog is the smallest domain whose rows and columns fill eight lanes.
const minPlanLog = 6

func newPlan(d Domain, threads int) *plan {
	r := (d.Log() + 1) / 2
	p := &plan{domain: d, threads: threads, rows: 1 << r, cols: 1 << (d.Log() - r)}
	p.revRows, p.revCols = reversal(p.rows), reversal(p.cols)
	p.buffers = make([]*buffer, par.Workers(threads, 1<<30))
	return p
}

func reverse(i, n int) int {
	return int(bits.Reverse32(uint32(i)) >> (33 - bits.Len(uint(n))))
}

func reversal(n int) []uint32 {
	t := make([]uint32, n)
	for i := range t {
		t[i] = uint32(reverse(i, n) * vecWords * 8)
	}
	return t
}

func (p *plan) buffer(worker int) *buffer {
	if p.buffers[worker] == nil {
		p.buffers[worker] = newBuffer(max(p.rows, p.cols))
	}
	return p.buffers[worker]
}

// root is the domain's root of unity for the direction.
func (p *plan) root(dir Direction) fr.Element {
	w := p.domain.root
	if dir == Inverse {
		w.Inverse(&w)
	}
	return w
}

func power(x fr.Element, n int) fr.Element {
	var y fr.Element
	return *y.Exp(x, big.NewInt(int64(n)))
}

// powers returns 1, x, x^2, ..., n of them.
func powers(x fr.Element, n int) []fr.Element {
	v := make([]fr.Element, n)
	v[0].SetOne()
	for i := 1; i < n; i++ {
		v[i].Mul(&v[i-1], &x)
	}
	return v
}

// levels are the twiddles of a transform of n points over the coset of the given shift,
// one table a level.
type levels struct {
	n      int
	within bool // twiddles vary within a block: reversed order in, natural out
	plain  bool // no shift: the first level's twiddle is 1
	tables [][]uint64
}

// outLevels transform natural order to reversed: X^2h - c^2 splits into X^h - c and
// X^h + c, c being the twiddle of a block.
func outLevels(root, shift fr.Element, n int) *levels {
	l := &levels{n: n, plain: shift.IsOne()}
	w := powers(root, n/2)
	for half, blocks := n/2, 1; half >= 1; half, blocks = half/2, blocks*2 {
		t := make([]fr.Element, blocks)
		s := power(shift, half)
		for b := range t {
			t[b].Mul(&w[reverse(b, blocks)*half], &s)
		}
		l.tables = append(l.tables, broadcastTable(t))
	}
	return l
}

// backLevels transform reversed order to natural, by decimation in time.
func backLevels(root, shift fr.Element, n int) *levels {
	l := &levels{n: n, within: true, plain: shift.IsOne()}
	w := powers(root, n/2)
	for half := 1; half < n; half *= 2 {
		t := make([]fr.Element, half)
		s := power(shift, n/(2*half))
		for j := range t {
			t[j].Mul(&w[j*(n/(2*half))], &s)
		}
		l.tables = append(l.tables, broadcastTable(t))
	}
	return l
}

// run transforms the first n vectors of the buffer, below 2r. The results are below
// (2 + 2·log n)·r, 34 r for the largest rows, and 35 r is where five limbs end.
func (l *levels) run(b *buffer) {
	for i, t := range l.tables {
		half := l.n >> (i + 1)
		if l.within {
			half = 1 << i
		}
		blocks := l.n / (2 * half)
		kernel := nttBlocks
		switch {
		case i == 0 && l.plain:
			kernel = nttFirst
		case l.within:
			kernel = nttWithin
		}
		kernel(b.k, &b.data[0], &t[0], uintptr(half), uintptr(blocks))
	}
}

// twists are the factors between the steps: constant·(shift·root^j2)^k1·lane^j2 for
// column j2 and row index k1.
type twists struct {
	root, shift, constant, lane fr.Element
}

func (p *plan) plainTwists(root fr.Element) twists {
	one := fr.One()
	return twists{root: root, shift: one, constant: one, lane: one}
}

// at returns the factors of eight columns from j2 on.
func (t *twists) at(j2 int) (start, base [lanes]fr.Element) {
	base[0], start[0] = power(t.root, j2), power(t.lane, j2)
	base[0].Mul(&base[0], &t.shift)
	start[0].Mul(&start[0], &t.constant)
	for l := 1; l < lanes; l++ {
		base[l].Mul(&base[l-1], &t.root)
		start[l].Mul(&start[l-1], &t.lane)
	}
	return start, base
}

func (p *plan) twist(b *buffer, t *twists, j2 int) {
	start, base := t.at(j2)
	b.twist(p.revRows, &start, &base, p.rows)
}

// column is the tile of eight columns from j2 on, row the tile of eight rows.
func (p *plan) column(v []fr.Element, j2 int) tile {
	return tile{v: v, first: j2, lane: 1, step: p.cols, n: p.rows}
}

func (p *plan) row(v []fr.Element, i1 int) tile {
	return tile{v: v, first: i1 * p.cols, lane: p.cols, step: 1, n: p.cols}
}

// spreadRows is the tile of the eight rows that hold row indices k1 = 8i to 8i+7 in
// scrambled order, lane l having 8i + rev(l).
func (p *plan) spreadRows(v []fr.Element, i int) tile {
	return tile{v: v, first: reverse(lanes*i, p.rows) * p.cols, lane: p.rows / lanes * p.cols, step: 1, n: p.cols}
}

// naturalRows is where such rows go in natural order: element k2 of row k1 at k1 + R·k2.
func (p *plan) naturalRows(v []fr.Element, i int) tile {
	return tile{v: v, first: lanes * i, lane: 1, step: p.rows, n: p.cols}
}

// columns runs fn for every tile of columns of each vector, rowTiles for rows.
func (p *plan) columns(ctx context.Context, vectors int, fn func(b *buffer, v, j2 int)) error {
	tiles := p.cols / lanes
	return par.Do(ctx, p.threads, vectors*tiles, func(worker, i int) error {
		fn(p.buffer(worker), i/tiles, i%tiles*lanes)
		return nil
	})
}

func (p *plan) rowTiles(ctx context.Context, vectors int, fn func(b *buffer, v, i int)) error {
	tiles := p.rows / lanes
	return par.Do(ctx, p.threads, vectors*tiles, func(worker, i int) error {
		fn(p.buffer(worker), i/tiles, i%tiles)
		return nil
	})
}

// inverseOfSize is 1/m.
func (p *plan) inverseOfSize() fr.Element {
	var e fr.Element
	e.SetUint64(p.domain.Size())
	return *e.Inverse(&e)
}

// transform goes out and puts the result in order, by way of a vector of scratch.
func (p *plan) transform(ctx context.Context, v []fr.Element, dir Direction, coset Coset) (err error) {
	root, shift, one := p.root(dir), fr.One(), fr.One()
	t := p.plainTwists(root)
	var after []uint64 // factors of the results, by column
	switch {
	case dir == Inverse:
		t.constant = p.inverseOfSize()
		if coset == Shifted {
			inv := p.domain.Shift()
			inv.Inverse(&inv)
			t.shift = inv
			after = p.columnPowers(power(inv, p.rows))
		}
	case coset == Shifted:
		// Element j1·C + j2 is to be multiplied by 7^j1C in the columns and by 7^j2 after.
		t.lane = p.domain.Shift()
		shift = power(t.lane, p.cols)
	}
	first := outLevels(power(root, p.cols), shift, p.rows)
	second := outLevels(power(root, p.rows), one, p.cols)
	err = p.columns(ctx, 1, func(b *buffer, _, j2 int) {
		b.load(p.column(v, j2))
		first.run(b)
		p.twist(b, &t, j2)
		b.store(p.column(v, j2))
	})
	if err != nil {
		return err
	}
	space, err := pinning.AllocWith(len(v)*fr.Bytes, "ntt scratch", pinning.Options{HugePages: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, space.Close()) }()
	sorted := pinning.Slice[fr.Element](space, len(v))
	err = p.rowTiles(ctx, 1, func(b *buffer, _, i int) {
		b.load(p.spreadRows(v, i))
		second.run(b)
		if after != nil {
			b.scale(after, p.cols)
		}
		b.storeReversed(p.naturalRows(sorted, i), p.revCols)
	})
	if err != nil {
		return err
	}
	return par.Range(ctx, p.threads, len(v), 1<<15, func(_, from, to int) error {
		copy(v[from:to], sorted[from:to])
		return nil
	})
}

// columnPowers is the table of x^k2 for a buffer of rows in reversed order.
func (p *plan) columnPowers(x fr.Element) []uint64 {
	pow := powers(x, p.cols)
	rev := make([]fr.Element, p.cols)
	for i := range rev {
		rev[i] = pow[reverse(i, p.cols)]
	}
	return broadcastTable(rev)
}

// quotient is Engine.Quotient. Six transforms, in nine passes over a vector:
//
//	a, b, c: columns, first half of the inverse transform
//	a, b:    rows, its second half and the first half of the transform to the coset
//	a:       columns, the second half
//	b:       columns likewise, times a, and the first half of the way back
//	b, c:    rows of both, their difference in natural order to a
func (p *plan) quotient(ctx context.Context, a, b, c []fr.Element) error {
	q := p.newQuotient()
	err := p.columns(ctx, 3, func(buf *buffer, v, j2 int) {
		x, t := [][]fr.Element{a, b, c}[v], &q.interpolate
		if v == 2 {
			t = &q.interpolateC
		}
		buf.load(p.column(x, j2))
		q.columnsOut.run(buf)
		p.twist(buf, t, j2)
		buf.store(p.column(x, j2))
	})
	if err != nil {
		return err
	}
	err = p.rowTiles(ctx, 2, func(buf *buffer, v, i int) {
		x := p.row([][]fr.Element{a, b}[v], i*lanes)
		buf.load(x)
		q.rowsOut.run(buf)
		buf.reduce(p.cols)
		q.rowsBack.run(buf)
		buf.store(x)
	})
	if err != nil {
		return err
	}
	err = p.columns(ctx, 1, func(buf *buffer, _, j2 int) {
		buf.load(p.column(a, j2))
		p.twist(buf, &q.evaluate, j2)
		q.columnsBack.run(buf)
		buf.store(p.column(a, j2))
	})
	if err != nil {
		return err
	}
	err = p.columns(ctx, 1, func(buf *buffer, _, j2 int) {
		buf.load(p.column(b, j2))
		p.twist(buf, &q.evaluate, j2)
		q.columnsBack.run(buf)
		buf.mul(p.column(a, j2))
		q.columnsOut.run(buf)
		p.twist(buf, &q.divide, j2)
		buf.store(p.column(b, j2))
	})
	if err != nil {
		return err
	}
	return p.rowTiles(ctx, 1, func(buf *buffer, _, i int) {
		buf.load(p.spreadRows(c, i))
		q.rowsOut.run(buf)
		buf.store(p.spreadRows(c, i))
		buf.load(p.spreadRows(b, i))
		q.rowsOut.run(buf)
		buf.scale(q.unshift, p.cols)
		buf.sub(p.spreadRows(c, i))
		buf.storeReversed(p.naturalRows(a, i), p.revCols)
	})
}

// quotientTables are the twiddles of a quotient.
type quotientTables struct {
	columnsOut, rowsOut   *levels // to coefficients
	columnsBack, rowsBack *levels // to the coset
	interpolate           twists
	interpolateC          twists
	evaluate              twists
	divide                twists
	unshift               []uint64
}

func (p *plan) newQuotient() *quotientTables {
	one, seven, z := fr.One(), p.domain.Shift(), p.domain.vanishing()
	seventh := seven
	seventh.Inverse(&seventh)
	z.Inverse(&z)
	root, inv := p.root(Forward), p.root(Inverse)
	q := &quotientTables{
		columnsOut:   outLevels(power(inv, p.cols), one, p.rows),
		rowsOut:      outLevels(power(inv, p.rows), one, p.cols),
		columnsBack:  backLevels(power(root, p.cols), one, p.rows),
		rowsBack:     backLevels(power(root, p.rows), power(seven, p.rows), p.cols),
		interpolate:  p.plainTwists(inv),
		interpolateC: p.plainTwists(inv),
		evaluate:     p.plainTwists(root),
		divide:       p.plainTwists(inv),
		unshift:      p.columnPowers(power(seventh, p.rows)),
	}
	q.interpolate.constant = p.inverseOfSize()
	q.interpolateC.constant.Mul(&q.interpolate.constant, &z)
	q.evaluate.shift = seven
	q.divide.shift = seventh
	// The product of two data came out times 2^-4.
	sixteen := fr.NewElement(16)
	q.divide.constant.Mul(&q.interpolateC.constant, &sixteen)
	return q
}
