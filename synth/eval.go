package synth

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/poseidon"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"golang.org/x/sync/errgroup"
)

// program is a template prepared for evaluation. Terms over bits with small coefficients are summed as integers; the
// rest as field elements. fieldOf numbers the columns that hold field elements.
type program struct {
	m       [3]progMatrix
	fieldOf []int32 // column -> index among the field columns, or -1
	wireF   []int   // the wires that are field elements, in order
	localsF int     // field columns among the locals
}

type progMatrix struct {
	ptr  []uint32 // row -> first small term
	term []smallTerm
	optr []uint32 // row -> first other term; nil if there are none
	oth  []otherTerm
	// products: a field column times a coefficient that is neither 1 nor -1, the coefficients side by side
	mptr   []uint32 // row -> first product; nil if there are none
	mfield []int32
	mcoef  []fr.Element
}

type smallTerm struct {
	col uint32
	k   int32
}

// otherTerm is plus (coef 0) or minus (coef 1) a field column, or coefficient coef times a bit column (field < 0).
type otherTerm struct {
	col   uint32
	coef  uint32
	field int32
}

const smallLimit = 1 << 16

func (s *System) programs() []program {
	s.progOnce.Do(func() {
		s.small = make([]int32, len(s.coeffs))
		for i := range s.coeffs {
			s.small[i] = smallCoeff(&s.coeffs[i])
		}
		s.progs = make([]program, len(s.templates))
		for i := range s.templates {
			s.progs[i] = s.compileProgram(&s.templates[i])
		}
	})
	return s.progs
}

// smallCoeff is the coefficient as a small signed integer, or 0 if it is not one.
func smallCoeff(c *fr.Element) int32 {
	if b := c.Bits(); b[1]|b[2]|b[3] == 0 && b[0] < smallLimit {
		return int32(b[0])
	}
	var n fr.Element
	n.Neg(c)
	if b := n.Bits(); b[1]|b[2]|b[3] == 0 && b[0] < smallLimit {
		return -int32(b[0])
	}
	return 0
}

func (s *System) compileProgram(t *Template) program {
	p := program{fieldOf: make([]int32, t.Columns())}
	nf := int32(0)
	for c := range p.fieldOf {
		p.fieldOf[c] = -1
		if t.IsBit(c) {
			continue
		}
		p.fieldOf[c] = nf
		nf++
		if c <= t.Wires {
			p.wireF = append(p.wireF, c-1)
		} else {
			p.localsF++
		}
	}
	for k := range t.M {
		m, q := &t.M[k], &p.m[k]
		q.ptr = make([]uint32, t.Rows+1)
		optr, mptr := make([]uint32, t.Rows+1), make([]uint32, t.Rows+1)
		for r := 0; r < t.Rows; r++ {
			for j := m.Ptr[r]; j < m.Ptr[r+1]; j++ {
				c, coef := m.Col[j], m.Coef[j]
				switch f := p.fieldOf[c]; {
				case f >= 0 && coef > 1:
					q.mfield = append(q.mfield, f)
					q.mcoef = append(q.mcoef, s.coeffs[coef])
				case f >= 0 || s.small[coef] == 0:
					q.oth = append(q.oth, otherTerm{c, coef, f})
				default:
					q.term = append(q.term, smallTerm{c, s.small[coef]})
				}
			}
			q.ptr[r+1], optr[r+1], mptr[r+1] = uint32(len(q.term)), uint32(len(q.oth)), uint32(len(q.mfield))
		}
		if len(q.mfield) > 0 {
			q.mptr = mptr
		}
		if len(q.oth) > 0 {
			q.optr = optr
		}
	}
	return p
}

// scratch is one worker's view of an instance: its bit columns as bytes, its field columns gathered.
type scratch struct {
	bit   []byte
	field []fr.Element
	row   [poseidon.MaxDot]fr.Element // the field columns of a row's products
}

var scratchPool = sync.Pool{New: func() any { return new(scratch) }}

func (x *scratch) load(s *System, a *Assignment, t *Template, p *program, in *Instance) {
	n := t.Columns()
	if cap(x.bit) < n+8 {
		x.bit = make([]byte, n+8)
	}
	x.bit = x.bit[:n+8]
	x.bit[0] = 1
	bits := bitset(a.Bits)
	for i := 0; i < t.Wires; i++ {
		v := s.wires[int(in.Wire)+i]
		x.bit[1+i] = 0
		if !v.IsInput() {
			x.bit[1+i] = byte(bits[v.Index()>>6] >> (v.Index() & 63) & 1)
		}
	}
	for i := 0; i < t.Locals; i += 8 {
		w := byte(bits.word(int(in.Aux) + i))
		*(*[8]byte)(x.bit[1+t.Wires+i:]) = spreadByte[w]
	}
	x.field = x.field[:0]
	for _, w := range p.wireF {
		x.field = append(x.field, a.Value(s.wires[int(in.Wire)+w]))
	}
	if p.localsF > 0 {
		f := s.FieldsBefore(int(in.Aux))
		x.field = append(x.field, a.Fields[f:f+p.localsF]...)
	}
}

var spreadByte = func() (t [256][8]byte) {
	for i := range t {
		for j := range t[i] {
			t[i][j] = byte(i >> j & 1)
		}
	}
	return
}()

const smallValues = 64

var smallElement = func() (t [2*smallValues + 1]fr.Element) {
	for i := range t {
		t[i].SetInt64(int64(i - smallValues))
	}
	return
}()

// rows evaluates rows [r0, r1) of an instance for matrix k into dst.
func (x *scratch) rows(s *System, q *progMatrix, r0, r1 int, dst []fr.Element) {
	for r := r0; r < r1; r++ {
		acc := int64(0)
		for _, t := range q.term[q.ptr[r]:q.ptr[r+1]] {
			acc += int64(t.k) * int64(x.bit[t.col])
		}
		d := &dst[r-r0]
		if acc >= -smallValues && acc <= smallValues {
			*d = smallElement[acc+smallValues]
		} else {
			d.SetInt64(acc)
		}
		if q.mptr != nil && q.mptr[r] < q.mptr[r+1] {
			x.products(q, int(q.mptr[r]), int(q.mptr[r+1]), d)
		}
		if q.optr == nil {
			continue
		}
		for _, o := range q.oth[q.optr[r]:q.optr[r+1]] {
			switch {
			case o.field < 0:
				if x.bit[o.col] != 0 {
					d.Add(d, &s.coeffs[o.coef])
				}
			case o.coef == 0:
				d.Add(d, &x.field[o.field])
			default:
				d.Sub(d, &x.field[o.field])
			}
		}
	}
}

// products adds the products [lo, hi) to d, with one reduction for as many as possible.
func (x *scratch) products(q *progMatrix, lo, hi int, d *fr.Element) {
	for lo < hi {
		n := min(hi-lo, poseidon.MaxDot)
		for j, f := range q.mfield[lo : lo+n] {
			x.row[j] = x.field[f]
		}
		v := poseidon.Dot(x.row[:n], q.mcoef[lo:lo+n])
		d.Add(d, &v)
		lo += n
	}
}

func (s *System) check(a *Assignment) error {
	if s.closed {
		return ErrClosed
	}
	if a == nil || len(a.Inputs) != s.inputs || len(a.Bits) != (s.aux+63)/64 || len(a.Fields) != s.fields {
		return fmt.Errorf("%w: the assignment is of another system or closed", ErrShape)
	}
	return nil
}

// EvaluateRows computes rows [lo, hi) of a = A·z, b = B·z, c = C·z, where hi may be up to Constraints: the appended input
// rows have a = the input, b = c = 0. The destinations have hi-lo elements each. One goroutine; call it for several
// ranges at once for more.
func (s *System) EvaluateRows(ctx context.Context, asg *Assignment, lo, hi int, a, b, c []fr.Element) error {
	if err := s.check(asg); err != nil {
		return err
	}
	if lo < 0 || hi > s.Constraints() || lo > hi || len(a) != hi-lo || len(b) != hi-lo || len(c) != hi-lo {
		return fmt.Errorf("%w: rows [%d,%d) of %d into %d, %d, %d elements", ErrLength, lo, hi, s.Constraints(), len(a), len(b), len(c))
	}
	progs := s.programs()
	x := scratchPool.Get().(*scratch)
	defer scratchPool.Put(x)
	dst := [3][]fr.Element{a, b, c}
	for i := s.findInstance(lo); i < len(s.instances); i++ {
		in := &s.instances[i]
		first := int(in.Row)
		if first >= hi {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		t, p := &s.templates[in.Template], &progs[in.Template]
		r0, r1 := max(0, lo-first), min(t.Rows, hi-first)
		if r0 >= r1 {
			continue
		}
		x.load(s, asg, t, p, in)
		for k := range dst {
			x.rows(s, &p.m[k], r0, r1, dst[k][first+r0-lo:])
		}
	}
	for r := max(lo, s.rows); r < hi; r++ {
		a[r-lo] = asg.Inputs[r-s.rows]
		b[r-lo], c[r-lo] = fr.Element{}, fr.Element{}
	}
	return nil
}

// evalChunk is the number of rows that a worker takes at a time.
const evalChunk = 1 << 15

// Evaluate computes all rows into a, b, c, whose length is at least Constraints (the domain size, usually); what follows
// is set to zero. threads = 0 is GOMAXPROCS.
func (s *System) Evaluate(ctx context.Context, asg *Assignment, a, b, c []fr.Element, threads int) error {
	n := s.Constraints()
	if len(a) < n || len(b) < n || len(c) < n {
		return fmt.Errorf("%w: %d rows into %d, %d, %d elements", ErrLength, n, len(a), len(b), len(c))
	}
	ctx, sp := span.Start(ctx, "synth.eval")
	defer sp.End()
	err := s.parallelRows(ctx, threads, func(ctx context.Context, lo, hi int) error {
		return s.EvaluateRows(ctx, asg, lo, hi, a[lo:hi], b[lo:hi], c[lo:hi])
	})
	for _, v := range [][]fr.Element{a, b, c} {
		clear(v[n:])
	}
	sp.AddBytes(int64(n) * 96)
	return err
}

func (s *System) parallelRows(ctx context.Context, threads int, f func(ctx context.Context, lo, hi int) error) error {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	n := s.Constraints()
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for i := 0; i < threads; i++ {
		g.Go(func() error {
			for {
				lo := int(next.Add(evalChunk)) - evalChunk
				if lo >= n {
					return nil
				}
				if err := f(ctx, lo, min(lo+evalChunk, n)); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}

// EvaluateStream computes the rows chunk by chunk, in order, and hands each to f, whose slices are valid during the call
// only: no more than two chunks of memory are used. The next chunk is computed while f runs.
func (s *System) EvaluateStream(ctx context.Context, asg *Assignment, chunk, threads int, f func(lo int, a, b, c []fr.Element) error) error {
	if chunk <= 0 {
		return fmt.Errorf("%w: chunk of %d rows", ErrLength, chunk)
	}
	if err := s.check(asg); err != nil {
		return err
	}
	n := s.Constraints()
	chunk = min(chunk, n)
	buf, err := pinning.Alloc(6*chunk*32, "evaluation chunks")
	if err != nil {
		return err
	}
	defer buf.Close()
	all := pinning.Slice[fr.Element](buf, 6*chunk)
	part := func(side, k, n int) []fr.Element { return all[(side*3+k)*chunk:][:n] }
	fill := func(ctx context.Context, side, lo int) error {
		m := min(chunk, n-lo)
		return s.evaluateInto(ctx, asg, lo, threads, part(side, 0, m), part(side, 1, m), part(side, 2, m))
	}
	if err := fill(ctx, 0, 0); err != nil {
		return err
	}
	for lo, side := 0, 0; lo < n; lo, side = lo+chunk, 1-side {
		g, gctx := errgroup.WithContext(ctx)
		if lo+chunk < n {
			g.Go(func() error { return fill(gctx, 1-side, lo+chunk) })
		}
		m := min(chunk, n-lo)
		ferr := f(lo, part(side, 0, m), part(side, 1, m), part(side, 2, m))
		if err := errorsJoin(ferr, g.Wait()); err != nil {
			return err
		}
	}
	return nil
}

func (s *System) evaluateInto(ctx context.Context, asg *Assignment, lo, threads int, a, b, c []fr.Element) error {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(threads)
	for i := 0; i < len(a); i += evalChunk {
		j := min(i+evalChunk, len(a))
		g.Go(func() error { return s.EvaluateRows(ctx, asg, lo+i, lo+j, a[i:j], b[i:j], c[i:j]) })
	}
	return g.Wait()
}

// Satisfied checks every row and gives *UnsatisfiedError for the first that fails. threads = 0 is GOMAXPROCS.
func (s *System) Satisfied(ctx context.Context, asg *Assignment, threads int) error {
	if err := s.check(asg); err != nil {
		return err
	}
	var mu sync.Mutex
	var worst *UnsatisfiedError
	err := s.parallelRows(ctx, threads, func(ctx context.Context, lo, hi int) error {
		var bufs [3][]fr.Element
		for k := range bufs {
			bufs[k] = make([]fr.Element, hi-lo)
		}
		if err := s.EvaluateRows(ctx, asg, lo, hi, bufs[0], bufs[1], bufs[2]); err != nil {
			return err
		}
		for i := 0; i < min(hi, s.rows)-lo; i++ {
			var p fr.Element
			if p.Mul(&bufs[0][i], &bufs[1][i]); p.Equal(&bufs[2][i]) {
				continue
			}
			mu.Lock()
			if worst == nil || lo+i < worst.Row {
				worst = &UnsatisfiedError{lo + i, bufs[0][i].String(), bufs[1][i].String(), bufs[2][i].String()}
			}
			mu.Unlock()
			break
		}
		return nil
	})
	if err != nil {
		return err
	}
	if worst != nil {
		return worst
	}
	return nil
}
