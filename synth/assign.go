package synth

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
)

// Assignment is the compact witness of one circuit: public inputs, one bit for every aux variable, and the field elements
// of those that are not bits. Everything but Inputs lives outside the Go heap; Close gives it back.
type Assignment struct {
	// Inputs are the public inputs, One first, Montgomery.
	Inputs []fr.Element
	// Bits has one bit for each aux variable, LSB first; it is zero where the variable is not a bit.
	Bits []uint64
	// Fields are the values of the aux variables that are not bits, in order of index, Montgomery.
	Fields []fr.Element
	// Eval, if set, are ready values of a, b, c; a backend then does not evaluate. They belong to the assignment.
	Eval *Evaluations

	sys  *System
	bufs []*pinning.Buffer
}

// Evaluations are the row values a = A·z, b = B·z, c = C·z of System.Constraints rows each (appended input rows
// included, padding to the domain not), Montgomery, in row order.
type Evaluations struct {
	A, B, C []fr.Element
}

// System is the system that the assignment was made for.
func (a *Assignment) System() *System { return a.sys }

// Public are the public inputs without the leading one: what a verifier is given.
func (a *Assignment) Public() []fr.Element { return a.Inputs[1:] }

// Aux gives the value of aux variable i.
func (a *Assignment) Aux(i int) fr.Element {
	if a.sys.bools.get(i) {
		if bitset(a.Bits).get(i) {
			return frOne
		}
		return fr.Element{}
	}
	return a.Fields[a.sys.FieldsBefore(i)]
}

// Value gives the value of v.
func (a *Assignment) Value(v Var) fr.Element {
	if v.IsInput() {
		return a.Inputs[v.Index()]
	}
	return a.Aux(v.Index())
}

// AddBuffer makes b be closed with the assignment.
func (a *Assignment) AddBuffer(b *pinning.Buffer) { a.bufs = append(a.bufs, b) }

// Close gives all memory back. The slices must not be used after it.
func (a *Assignment) Close() error {
	var first error
	for _, b := range a.bufs {
		if err := b.Close(); err != nil && first == nil {
			first = err
		}
	}
	a.bufs, a.Bits, a.Fields, a.Eval = nil, nil, nil, nil
	return first
}

// NewAssignment makes an all-zero assignment of s (with Inputs[0] = 1) to be filled by the caller.
func NewAssignment(s *System) (*Assignment, error) { return newAssignment(s, PagesAuto) }

func newAssignment(s *System, pages Pages) (*Assignment, error) {
	if s.closed {
		return nil, ErrClosed
	}
	a := &Assignment{sys: s, Inputs: make([]fr.Element, s.inputs)}
	a.Inputs[0] = frOne
	words := (s.aux + 63) / 64
	bb, err := pinning.Alloc(words*8, "witness bits")
	if err != nil {
		return nil, err
	}
	a.AddBuffer(bb)
	fb, err := pinning.AllocWith(s.fields*32, "witness fields", pinning.Options{HugePages: pages == PagesHuge})
	if err != nil {
		return nil, errorsJoin(err, a.Close())
	}
	a.AddBuffer(fb)
	a.Bits = pinning.Slice[uint64](bb, words)
	a.Fields = pinning.Slice[fr.Element](fb, s.fields)
	return a, nil
}

// AssignConfig are the options of AssignWitness; the zero value is the recommendation.
type AssignConfig struct {
	// Threads bounds the pieces assigned at the same time; 0 is GOMAXPROCS.
	Threads int
	// Pages is the kind of memory pages under the field elements of the witness.
	Pages Pages
	// Into, if set, is an assignment of the same system whose memory the new one takes: no page fault then, which for a 4 GB
	// WindowPoSt witness is a good part of the work. Its values are lost, and it is itself what AssignWitness returns. After an
	// error it is still the caller's to close, with values of no meaning.
	Into *Assignment
}

// Pages says which memory pages are asked for.
type Pages uint8

const (
	// PagesAuto is PagesBase: the million page faults of a 4 GB WindowPoSt witness cost a core-second, half a one more than
	// those of huge pages where the memory is at hand, and six less on a virtual machine that has given free memory back to its
	// host: large pages are cut from the blocks that were given back, small ones mostly are not. With Into there are no faults
	// either way.
	PagesAuto Pages = iota
	// PagesBase takes the system's default pages.
	PagesBase
	// PagesHuge asks for transparent huge pages: a 4 GB WindowPoSt witness is a million page faults without them.
	PagesHuge
)

var pagesNames = [...]string{"auto", "base", "huge"}

func (p Pages) String() string {
	if int(p) < len(pagesNames) {
		return pagesNames[p]
	}
	return fmt.Sprintf("Pages(%d)", uint8(p))
}

// ParsePages is the inverse of String.
func ParsePages(s string) (Pages, error) {
	for i, n := range pagesNames {
		if n == s {
			return Pages(i), nil
		}
	}
	return 0, fmt.Errorf("%w: Pages %q", ErrConfig, s)
}

// Validate refuses values out of range.
func (c AssignConfig) Validate() error {
	if c.Threads < 0 || c.Threads > 1<<16 {
		return fmt.Errorf("%w: Threads = %d", ErrConfig, c.Threads)
	}
	if int(c.Pages) >= len(pagesNames) {
		return fmt.Errorf("%w: Pages = %d", ErrConfig, c.Pages)
	}
	return nil
}

func (c AssignConfig) String() string {
	return fmt.Sprintf("threads=%d/pages=%v/reuse=%t", c.Threads, c.Pages, c.Into != nil)
}

// target is the assignment to fill.
func (c AssignConfig) target(s *System) (*Assignment, error) {
	a := c.Into
	if a == nil {
		return newAssignment(s, c.Pages)
	}
	if a.sys != s {
		return nil, fmt.Errorf("%w: Into is an assignment of another system", ErrShape)
	}
	if err := s.check(a); err != nil {
		return nil, err
	}
	clear(a.Bits)
	a.Eval = nil
	return a, nil
}

// AssignWitness runs c in Assign mode for s, which must be the compiled form of a circuit of the same shape; another
// shape gives ErrShape. It does not check that the assignment satisfies the system: see System.Satisfied.
func AssignWitness(ctx context.Context, c Circuit, s *System, cfg AssignConfig) (*Assignment, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	ctx, sp := span.Start(ctx, "synth.witness")
	defer sp.End()
	a, err := cfg.target(s)
	if err != nil {
		return nil, err
	}
	threads := cfg.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	b := &Builder{mode: Assign, ctx: ctx, inputs: 1}
	b.asg = &writer{a: a, s: s, threads: threads, group: new(int)}
	b.asg.seek(b)
	err = guard(func() error { return c.Synthesize(b) })
	if err == nil {
		b.asg.flush()
		if b.inputs != s.inputs || b.aux != s.aux || b.fields != s.fields {
			err = fmt.Errorf("%w: assigned %d inputs, %d aux, %d fields; the system has %d, %d, %d", ErrShape,
				b.inputs, b.aux, b.fields, s.inputs, s.aux, s.fields)
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil && cfg.Into == nil {
		err = errorsJoin(err, a.Close())
	}
	if err != nil {
		return nil, err
	}
	sp.AddBytes(int64(len(a.Bits)*8 + len(a.Fields)*32))
	return a, nil
}

// shapePanic is how a writer that ran out of its system unwinds the circuit; guard turns it into ErrShape.
type shapePanic struct{ what string }

// guard makes a panic an error.
func guard(f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case shapePanic:
			err = fmt.Errorf("%w: more %s than the system has", ErrShape, p.what)
		default: // it may be on a goroutine that no caller can recover on
			err = &PanicError{p, debug.Stack()}
		}
	}()
	return f()
}

// writer is the Assign mode's sink. Pieces that run concurrently share border words of Bits, hence the atomic flush.
type writer struct {
	a       *Assignment
	s       *System
	threads int
	group   *int

	acc   uint64
	word  int
	first int // the word that may be shared with the piece before
	aux   int
	nf    int
	ni    int
}

func (w *writer) at(b *Builder) *writer {
	n := &writer{a: w.a, s: w.s, threads: w.threads, group: w.group}
	n.seek(b)
	return n
}

func (w *writer) seek(b *Builder) {
	w.aux, w.nf, w.ni = b.aux, b.fields, b.inputs
	w.word, w.acc = b.aux>>6, 0
	w.first = w.word
}

func (w *writer) bits(v uint64, n int) {
	if w.aux+n > w.s.aux {
		panic(shapePanic{"aux variables"})
	}
	sh := w.aux & 63
	w.acc |= v << sh
	w.aux += n
	if sh+n >= 64 {
		w.store()
		w.acc = v >> (63 - sh) >> 1
	}
}

func (w *writer) store() {
	if w.word == w.first {
		atomic.OrUint64(&w.a.Bits[w.word], w.acc)
	} else {
		w.a.Bits[w.word] = w.acc
	}
	w.word++
}

// flush writes the partly filled last word.
func (w *writer) flush() {
	if w.aux&63 != 0 && w.acc != 0 {
		atomic.OrUint64(&w.a.Bits[w.word], w.acc)
	}
	w.first = w.word
	w.acc = 0
}

func (w *writer) field(v *fr.Element) {
	if w.nf >= len(w.a.Fields) {
		panic(shapePanic{"field elements"})
	}
	w.a.Fields[w.nf] = *v
	w.nf++
	w.bits(0, 1)
}

func (w *writer) input(v *fr.Element) {
	if w.ni >= len(w.a.Inputs) {
		panic(shapePanic{"public inputs"})
	}
	w.a.Inputs[w.ni] = *v
	w.ni++
}

// nextGroup gives the segments of the next Parallel call.
func (w *writer) nextGroup(n int, b *Builder) ([]Segment, error) {
	g := *w.group
	*w.group++
	if g >= len(w.s.groups) {
		return nil, fmt.Errorf("%w: more parallel parts than the system has", ErrShape)
	}
	lo, hi := int(w.s.groups[g]), len(w.s.segments)
	if g+1 < len(w.s.groups) {
		hi = int(w.s.groups[g+1])
	}
	if hi-lo != n {
		return nil, fmt.Errorf("%w: %d parallel pieces, the system has %d", ErrShape, n, hi-lo)
	}
	segs := w.s.segments[lo:hi]
	if n > 0 {
		if err := checkSegment(-1, b, segs[0]); err != nil {
			return nil, err
		}
	}
	return segs, nil
}

func checkSegment(i int, b *Builder, s Segment) error {
	if b.inputs != int(s.Inputs) || b.aux != int(s.Aux) || b.fields != int(s.Fields) {
		return fmt.Errorf("%w: after parallel piece %d at %d inputs, %d aux, %d fields, expected %d, %d, %d", ErrShape, i,
			b.inputs, b.aux, b.fields, s.Inputs, s.Aux, s.Fields)
	}
	return nil
}

// WitnessBytes calls f with the 32-byte little-endian canonical values of all inputs, then all aux: the order of the
// witness digest of the golden files.
func (a *Assignment) WitnessBytes(f func(v *[32]byte)) {
	put := func(e *fr.Element) {
		b := e.Bytes()
		slices.Reverse(b[:])
		f(&b)
	}
	for i := range a.Inputs {
		put(&a.Inputs[i])
	}
	var bit [2][32]byte
	bit[1][0] = 1
	nf := 0
	for i := 0; i < a.sys.aux; i++ {
		if a.sys.bools.get(i) {
			f(&bit[a.Bits[i>>6]>>(i&63)&1])
			continue
		}
		put(&a.Fields[nf])
		nf++
	}
}

const _ = uint(unsafe.Sizeof(fr.Element{}) - 32) // fields are 32 bytes
