package synth

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
)

// Presize is how direct synthesis makes room for its vectors (experiment A2).
type Presize uint8

const (
	// PresizeNone grows each vector as it fills, copying.
	PresizeNone Presize = iota
	// PresizeExact maps each vector at its final size at once.
	PresizeExact
	// PresizeChunked reserves address space for the final size and populates it chunk by chunk ahead of use.
	PresizeChunked
)

var presizeNames = [...]string{"none", "exact", "chunked"}

func (p Presize) String() string {
	if int(p) < len(presizeNames) {
		return presizeNames[p]
	}
	return fmt.Sprintf("Presize(%d)", uint8(p))
}

// ParsePresize is the inverse of String.
func ParsePresize(s string) (Presize, error) {
	for i, n := range presizeNames {
		if n == s {
			return Presize(i), nil
		}
	}
	return 0, fmt.Errorf("%w: Presize %q", ErrConfig, s)
}

// DirectConfig are the knobs of direct synthesis. The zero value is what the deployed prover does.
type DirectConfig struct {
	// InlineTerms is how many terms a linear combination holds before it needs a heap allocation (experiment A1): 0, 1, 2,
	// 4 or 8. With 0 every linear combination is a heap allocation of its own.
	InlineTerms int
	// Presize is described at its type.
	Presize Presize
	// ChunkBytes is the chunk of PresizeChunked; 0 is 64 MiB.
	ChunkBytes int
	// HugePages and Prefault apply to mapped vectors (PresizeExact, PresizeChunked).
	HugePages, Prefault bool
}

// Validate refuses values out of range.
func (c DirectConfig) Validate() error {
	switch c.InlineTerms {
	case 0, 1, 2, 4, 8:
	default:
		return fmt.Errorf("%w: InlineTerms = %d, not 0, 1, 2, 4 or 8", ErrConfig, c.InlineTerms)
	}
	if int(c.Presize) >= len(presizeNames) {
		return fmt.Errorf("%w: Presize = %d", ErrConfig, c.Presize)
	}
	if c.ChunkBytes < 0 || (c.ChunkBytes > 0 && c.ChunkBytes < 4096) {
		return fmt.Errorf("%w: ChunkBytes = %d", ErrConfig, c.ChunkBytes)
	}
	if c.Presize == PresizeNone && (c.HugePages || c.Prefault) {
		return fmt.Errorf("%w: HugePages and Prefault need Presize exact or chunked", ErrConfig)
	}
	return nil
}

func (c DirectConfig) String() string {
	return fmt.Sprintf("inline=%d/presize=%v/huge=%v/prefault=%v", c.InlineTerms, c.Presize, c.HugePages, c.Prefault)
}

// vec is a vector of field elements that grows as configured.
type vec struct {
	v      []fr.Element
	ahead  int // elements populated
	chunk  int // elements a chunk, 0 if not chunked
	mapped *pinning.Buffer
}

func newVec(n int, c DirectConfig, purpose string, a *Assignment) (*vec, error) {
	if c.Presize == PresizeNone {
		return &vec{}, nil
	}
	o := pinning.Options{HugePages: c.HugePages, Prefault: c.Prefault && c.Presize == PresizeExact}
	buf, err := pinning.AllocWith(n*32, purpose, o)
	if err != nil {
		return nil, err
	}
	a.AddBuffer(buf)
	w := &vec{v: pinning.Slice[fr.Element](buf, n)[:0], mapped: buf}
	if c.Presize == PresizeChunked && c.Prefault {
		w.chunk = c.ChunkBytes / 32
		if w.chunk == 0 {
			w.chunk = 64 << 20 / 32
		}
	}
	return w, nil
}

func (w *vec) push(e *fr.Element) {
	n := len(w.v)
	if w.mapped != nil && n == cap(w.v) {
		panic(shapePanic{"values"})
	}
	if w.chunk > 0 && n == w.ahead {
		w.ahead = min(n+w.chunk, cap(w.v))
		pinning.Prefault(bytesOf(w.v[n:w.ahead]))
	}
	w.v = append(w.v, *e)
}

func bytesOf(v []fr.Element) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*32)
}

// direct is the Direct mode's sink: every variable a field element, every row evaluated as it comes, densities marked.
type direct struct {
	cfg     DirectConfig
	in      []fr.Element
	auxv    *vec
	abc     [3]*vec
	density [2]bitset // of aux in A and B
	bInput  bitset

	slots []*LC
}

func (d *direct) field(v *fr.Element) { d.auxv.push(v) }
func (d *direct) input(v *fr.Element) { d.in = append(d.in, *v) }

func (d *direct) bits(word uint64, n int) {
	for i := 0; i < n; i++ {
		if word>>i&1 == 1 {
			d.auxv.push(&frOne)
		} else {
			d.auxv.push(&fr.Element{})
		}
	}
}

func (d *direct) freshLC() bool { return true }

// newLC gives an LC with the configured inline storage. Slots are reused in turn, more of them than a gadget holds at once;
// an LC that outgrows its slot moves to the heap and leaves the slot free.
func (d *direct) newLC() *LC {
	k := d.cfg.InlineTerms
	if k == 0 {
		return &LC{}
	}
	if len(d.slots) == 0 {
		return &LC{terms: make([]Term, 0, k)}
	}
	l := d.slots[len(d.slots)-1]
	d.slots = d.slots[:len(d.slots)-1]
	return l
}

func (d *direct) recycle(l *LC) {
	k := d.cfg.InlineTerms
	if l == nil || k == 0 || cap(l.terms) != k {
		return // spilled or heap: garbage, as there
	}
	l.terms = l.terms[:0]
	d.slots = append(d.slots, l)
}

func (d *direct) row(x, y, z *LC) {
	for k, l := range [3]*LC{x, y, z} {
		var sum fr.Element
		if l != nil {
			d.eval(k, l, &sum)
		}
		d.abc[k].push(&sum)
		d.recycle(l)
	}
}

func (d *direct) eval(k int, l *LC, sum *fr.Element) {
	for i := range l.terms {
		t := &l.terms[i]
		if t.Coeff.IsZero() {
			continue
		}
		var v *fr.Element
		j := t.Var.Index()
		if t.Var.IsInput() {
			v = &d.in[j]
			if k == 1 {
				d.bInput = appendRun(d.bInput, j, 1, true)
			}
		} else {
			v = &d.auxv.v[j]
			if k < 2 {
				d.density[k] = appendRun(d.density[k], j, 1, true)
			}
		}
		switch {
		case t.Coeff == frOne:
			sum.Add(sum, v)
		default:
			var m fr.Element
			m.Mul(&t.Coeff, v)
			sum.Add(sum, &m)
		}
	}
}

// DirectSynthesize runs c as the deployed prover does: every linear combination is built and evaluated at once, every
// variable is a field element. The result equals AssignWitness followed by Evaluate (Eval is set); it exists to measure
// what that costs, with the knobs of DirectConfig. s is the compiled system of the same shape.
func DirectSynthesize(ctx context.Context, c Circuit, s *System, cfg DirectConfig) (*Assignment, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	ctx, sp := span.Start(ctx, "synth.direct")
	defer sp.End()
	a, err := NewAssignment(s)
	if err != nil {
		return nil, err
	}
	d := &direct{cfg: cfg, in: []fr.Element{frOne}}
	err = d.alloc(s, a)
	if err == nil {
		b := &Builder{mode: Direct, ctx: ctx, inputs: 1, dir: d}
		err = guard(func() error { return c.Synthesize(b) })
		if err == nil && (b.inputs != s.inputs || b.aux != s.aux || b.rows != s.rows) {
			err = fmt.Errorf("%w: direct synthesis made %d inputs, %d aux, %d rows; the system has %d, %d, %d", ErrShape,
				b.inputs, b.aux, b.rows, s.inputs, s.aux, s.rows)
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = d.finish(s, a)
	}
	if err != nil {
		return nil, errorsJoin(err, a.Close())
	}
	return a, nil
}

func (d *direct) alloc(s *System, a *Assignment) (err error) {
	if d.auxv, err = newVec(s.aux, d.cfg, "direct aux", a); err != nil {
		return err
	}
	for k := range d.abc {
		if d.abc[k], err = newVec(s.Constraints(), d.cfg, "direct a, b, c", a); err != nil {
			return err
		}
	}
	return nil
}

// finish appends the input rows and packs the witness.
func (d *direct) finish(s *System, a *Assignment) error {
	for i := range d.in {
		d.abc[0].push(&d.in[i])
		d.abc[1].push(&fr.Element{})
		d.abc[2].push(&fr.Element{})
	}
	a.Inputs = d.in
	nf := 0
	for i := range d.auxv.v {
		v := &d.auxv.v[i]
		if !s.bools.get(i) {
			a.Fields[nf] = *v
			nf++
			continue
		}
		if v.IsOne() {
			bitset(a.Bits).set(i)
		} else if !v.IsZero() {
			return fmt.Errorf("%w: aux %d is not a bit", ErrShape, i)
		}
	}
	a.Eval = &Evaluations{A: d.abc[0].v, B: d.abc[1].v, C: d.abc[2].v}
	return nil
}
