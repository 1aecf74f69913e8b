package synth

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// maxRun bounds the rows outside of blocks that become one template.
const maxRun = 1 << 14

// recorder keeps what a Shape-mode builder is given.
type recorder struct {
	coeffs  []fr.Element
	coefIdx map[fr.Element]uint32

	templates []Template
	byContent map[uint64][]uint32
	byKey     map[any]*block
	instances []Instance
	wires     []Var

	bools    bitset
	nAux     int
	segments []Segment
	groups   []uint32 // index of the first segment of each Parallel call

	run     run
	inBlock bool
	aux0    int // the block's or run's first aux
	stamp   map[Var]uint32
}

// run holds rows whose columns are still global variables.
type run struct {
	row0 int
	rows int
	ptr  [3][]uint32
	col  [3][]Var
	coef [3][]uint32
}

// block is what a repeated Block call needs.
type block struct {
	template uint32
	inPlace  bool
	aux      int
	fields   int
	rows     int
	bits     bitset // which of the new aux are bits
	out      []localWire
}

type localWire struct {
	from int // index of a wire, or -1
	off  int // else offset among the locals
	kind WireKind
	one  bool
}

// Segment is where one piece of a Parallel call starts.
type Segment struct{ Inputs, Aux, Fields, Rows uint32 }

func newRecorder() *recorder {
	r := &recorder{coefIdx: map[fr.Element]uint32{}, byContent: map[uint64][]uint32{}, byKey: map[any]*block{}, stamp: map[Var]uint32{}}
	r.coefficient(&frOne)
	r.coefficient(&frMinusOne)
	r.run.reset(0)
	return r
}

func (u *run) reset(row0 int) {
	u.row0, u.rows = row0, 0
	for k := range u.ptr {
		u.ptr[k] = append(u.ptr[k][:0], 0)
		u.col[k] = u.col[k][:0]
		u.coef[k] = u.coef[k][:0]
	}
}

func (r *recorder) coefficient(c *fr.Element) uint32 {
	if i, ok := r.coefIdx[*c]; ok {
		return i
	}
	i := uint32(len(r.coeffs))
	r.coeffs = append(r.coeffs, *c)
	r.coefIdx[*c] = i
	return i
}

func (r *recorder) field() {
	r.bools = appendRun(r.bools, r.nAux, 1, false)
	r.nAux++
}

func (r *recorder) bits(n int) {
	r.bools = appendRun(r.bools, r.nAux, n, true)
	r.nAux += n
}

func (r *recorder) row(x, y, z *LC) {
	u := &r.run
	for k, l := range [3]*LC{x, y, z} {
		if l != nil {
			for i := range l.terms {
				t := &l.terms[i]
				if t.Coeff.IsZero() {
					continue
				}
				u.col[k] = append(u.col[k], t.Var)
				u.coef[k] = append(u.coef[k], r.coefficient(&t.Coeff))
			}
		}
		u.ptr[k] = append(u.ptr[k], uint32(len(u.col[k])))
	}
	u.rows++
	if u.rows >= maxRun && !r.inBlock {
		r.closeRun(u.row0 + u.rows)
	}
}

// closeRun turns the rows gathered so far into an instance; nextRow is the row that follows.
func (r *recorder) closeRun(nextRow int) {
	if r.run.rows > 0 {
		t, wires, _ := r.localise(r.aux0, r.nAux, nil, false)
		r.instance(r.template(t), r.run.row0, r.aux0, wires)
	}
	r.aux0 = r.nAux
	r.run.reset(nextRow)
}

// localise makes a template of the current run. Variables in [aux0, aux1) become locals. With fixed wires any other
// variable is refused; otherwise wires are collected in order of appearance.
func (r *recorder) localise(aux0, aux1 int, wires []Var, fixed bool) (*Template, []Var, bool) {
	clear(r.stamp)
	for i, w := range wires {
		r.stamp[w] = uint32(i)
	}
	u := &r.run
	// locals' columns come after the wires', whose number is known only at the end: mark them first
	const local = 1 << 31
	t := &Template{Locals: aux1 - aux0, Rows: u.rows}
	for k := range u.col {
		m := &t.M[k]
		m.Ptr = append([]uint32(nil), u.ptr[k]...)
		m.Coef = append([]uint32(nil), u.coef[k]...)
		m.Col = make([]uint32, len(u.col[k]))
		for i, v := range u.col[k] {
			switch {
			case v == One:
				m.Col[i] = 0
			case !v.IsInput() && v.Index() >= aux0 && v.Index() < aux1:
				m.Col[i] = local | uint32(v.Index()-aux0)
			default:
				j, ok := r.stamp[v]
				if !ok {
					if fixed {
						return nil, nil, false
					}
					j = uint32(len(wires))
					wires = append(wires, v)
					r.stamp[v] = j
				}
				m.Col[i] = 1 + j
			}
		}
	}
	t.Wires = len(wires)
	for k := range t.M {
		for i, c := range t.M[k].Col {
			if c&local != 0 {
				t.M[k].Col[i] = uint32(1+t.Wires) + c&^local
			}
		}
	}
	bits := newBitset(t.Wires + t.Locals)
	for i, w := range wires {
		if r.isBit(w) {
			bits.set(i)
		}
	}
	for i := 0; i < t.Locals; i++ {
		if r.bools.get(aux0 + i) {
			bits.set(t.Wires + i)
		}
	}
	t.Bits = bits
	return t, wires, true
}

func (r *recorder) isBit(v Var) bool { return !v.IsInput() && r.bools.get(v.Index()) }

// template stores t once.
func (r *recorder) template(t *Template) uint32 {
	h := hashTemplate(t)
	for _, id := range r.byContent[h] {
		if equalTemplate(&r.templates[id], t) {
			return id
		}
	}
	id := uint32(len(r.templates))
	r.templates = append(r.templates, *t)
	r.byContent[h] = append(r.byContent[h], id)
	return id
}

func (r *recorder) instance(t uint32, row, aux int, wires []Var) {
	r.instances = append(r.instances, Instance{Template: t, Row: uint32(row), Aux: uint32(aux), Wire: uint32(len(r.wires))})
	r.wires = append(r.wires, wires...)
}

func (r *recorder) group() { r.groups = append(r.groups, uint32(len(r.segments))) }

func (r *recorder) segment(b *Builder) {
	r.segments = append(r.segments, Segment{uint32(b.inputs), uint32(b.aux), uint32(b.fields), uint32(b.rows)})
}

// block implements Builder.Block in Shape mode.
func (r *recorder) block(b *Builder, key any, wires []Var, body func() []Wire) []Wire {
	if r.inBlock || !r.distinct(wires) {
		return body()
	}
	if k, ok := r.byKey[key]; ok {
		if k.inPlace || !r.sameKinds(&r.templates[k.template], wires) {
			return body()
		}
		return r.replay(b, k, wires)
	}
	r.closeRun(b.rows)
	inputs, aux, fields, rows := b.inputs, b.aux, b.fields, b.rows
	r.inBlock = true
	out := body()
	r.inBlock = false
	k := &block{aux: b.aux - aux, fields: b.fields - fields, rows: b.rows - rows}
	r.byKey[key] = k
	t, _, ok := r.localise(aux, r.nAux, wires, true)
	if ok {
		k.out, ok = localOut(out, wires, aux, b.aux)
	}
	if !ok || b.inputs != inputs || k.rows == 0 {
		k.inPlace = true // the rows stay in the open run
		return out
	}
	k.template = r.template(t)
	k.bits = newBitset(k.aux)
	for i := 0; i < k.aux; i++ {
		if r.bools.get(aux + i) {
			k.bits.set(i)
		}
	}
	r.instance(k.template, rows, aux, wires)
	r.aux0 = r.nAux
	r.run.reset(b.rows)
	return out
}

func localOut(out []Wire, wires []Var, aux0, aux1 int) ([]localWire, bool) {
	res := make([]localWire, len(out))
	for i, w := range out {
		l := localWire{from: -1, kind: w.Kind}
		switch {
		case w.Kind == ConstFalse || w.Kind == ConstTrue:
		case w.Var == One:
			l.one = true
		case !w.Var.IsInput() && w.Var.Index() >= aux0 && w.Var.Index() < aux1:
			l.off = w.Var.Index() - aux0
		default:
			for j, v := range wires {
				if v == w.Var {
					l.from = j
				}
			}
			if l.from < 0 {
				return nil, false
			}
		}
		res[i] = l
	}
	return res, true
}

// replay notes one more instance of a block recorded before.
func (r *recorder) replay(b *Builder, k *block, wires []Var) []Wire {
	r.closeRun(b.rows)
	aux := b.aux
	r.instance(k.template, b.rows, aux, wires)
	for len(r.bools)*64 < aux+k.aux {
		r.bools = append(r.bools, 0)
	}
	r.bools.orAt(aux, k.bits, k.aux)
	r.nAux += k.aux
	b.aux += k.aux
	b.fields += k.fields
	b.rows += k.rows
	r.aux0 = r.nAux
	r.run.reset(b.rows)
	out := make([]Wire, len(k.out))
	for i, l := range k.out {
		out[i].Kind = l.kind
		switch {
		case l.kind == ConstFalse || l.kind == ConstTrue:
		case l.one:
			out[i].Var = One
		case l.from >= 0:
			out[i].Var = wires[l.from]
		default:
			out[i].Var = AuxVar(aux + l.off)
		}
	}
	return out
}

// distinct says whether the wires can be columns of their own.
func (r *recorder) distinct(wires []Var) bool {
	clear(r.stamp)
	for _, w := range wires {
		if _, dup := r.stamp[w]; dup || w == One {
			return false
		}
		r.stamp[w] = 0
	}
	return true
}

func (r *recorder) sameKinds(t *Template, wires []Var) bool {
	if len(wires) != t.Wires {
		return false
	}
	for i, w := range wires {
		if t.IsBit(1+i) != r.isBit(w) {
			return false
		}
	}
	return true
}

func (r *recorder) finish(b *Builder) (*System, error) {
	r.closeRun(b.rows)
	if b.aux >= MaxVars || b.inputs >= MaxVars || b.rows >= 1<<32-1 {
		return nil, fmt.Errorf("%w: %d inputs, %d aux, %d rows", ErrTooLarge, b.inputs, b.aux, b.rows)
	}
	s := &System{inputs: b.inputs, aux: b.aux, rows: b.rows, coeffs: r.coeffs, templates: r.templates,
		instances: r.instances, wires: r.wires, bools: r.bools, segments: r.segments, groups: r.groups}
	for len(s.bools) < (s.aux+63)/64 {
		s.bools = append(s.bools, 0)
	}
	s.finish()
	return s, nil
}
