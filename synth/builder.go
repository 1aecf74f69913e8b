package synth

import (
	"context"
	"fmt"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"
)

// Circuit is anything that can write itself to a Builder. Synthesize must allocate the same variables and enforce the
// same rows whatever the witness: its control flow may depend on the shape only.
type Circuit interface {
	Synthesize(b *Builder) error
}

// Mode is what a Builder does with what it is given.
type Mode uint8

const (
	// Shape records rows and ignores values: the result is a System.
	Shape Mode = iota
	// Assign keeps values and ignores rows: the result is an Assignment of a System compiled before.
	Assign
	// Direct does both at once, row by row, as the deployed prover does for each proof. It exists to be measured.
	Direct
)

func (m Mode) String() string {
	if m <= Direct {
		return [...]string{"shape", "assign", "direct"}[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// Builder receives a circuit's variables and constraints. It is used by one goroutine; Parallel makes children.
// Make one through Compile, AssignWitness or DirectSynthesize.
type Builder struct {
	mode   Mode
	ctx    context.Context
	inputs int
	aux    int
	fields int // aux variables that are not bits
	rows   int
	child  bool

	rec *recorder // Shape
	asg *writer   // Assign
	dir *direct   // Direct

	free []*LC
}

// Mode tells what the builder does.
func (b *Builder) Mode() Mode { return b.mode }

// WantRows says whether Enforce does anything. A gadget skips building linear combinations where it is false.
func (b *Builder) WantRows() bool { return b.mode != Assign }

// HasValues says whether the values given to the Alloc functions are used. In Shape mode they are ignored and gadgets
// should not spend time on computing them; zero values serve.
func (b *Builder) HasValues() bool { return b.mode != Shape }

// Err is the context's error once it is cancelled. Circuits ask between their pieces of work.
func (b *Builder) Err() error { return b.ctx.Err() }

// Counts are the inputs (One included), aux variables and rows so far.
func (b *Builder) Counts() (inputs, aux, rows int) { return b.inputs, b.aux, b.rows }

// Alloc allocates the next aux variable with value v (Montgomery).
func (b *Builder) Alloc(v fr.Element) Var {
	x := AuxVar(b.aux)
	b.aux++
	b.fields++
	switch b.mode {
	case Shape:
		b.rec.field()
	case Assign:
		b.asg.field(&v)
	case Direct:
		b.dir.field(&v)
	}
	return x
}

// AllocBit allocates the next aux variable, whose value the circuit makes 0 or 1 for every satisfying assignment. It
// is stored as a bit. It emits no constraint.
func (b *Builder) AllocBit(v bool) Var {
	var w uint64
	if v {
		w = 1
	}
	return b.AllocBits(w, 1)
}

// AllocBits allocates n <= 64 consecutive aux bits, bit 0 of word first, and returns the first. Bits of word at n and
// above must be zero.
func (b *Builder) AllocBits(word uint64, n int) Var {
	x := AuxVar(b.aux)
	b.aux += n
	switch b.mode {
	case Shape:
		b.rec.bits(n)
	case Assign:
		b.asg.bits(word, n)
	case Direct:
		b.dir.bits(word, n)
	}
	return x
}

// AllocInput allocates the next public input with value v (Montgomery).
func (b *Builder) AllocInput(v fr.Element) Var {
	x := InputVar(b.inputs)
	b.inputs++
	switch b.mode {
	case Assign:
		b.asg.input(&v)
	case Direct:
		b.dir.input(&v)
	}
	return x
}

// LC gives an empty linear combination whose storage returns to the builder when it is enforced. In Assign mode the
// result is usable but pointless: ask WantRows first.
func (b *Builder) LC() *LC {
	if b.mode == Direct && b.dir.freshLC() {
		return b.dir.newLC()
	}
	if n := len(b.free); n > 0 {
		l := b.free[n-1]
		b.free = b.free[:n-1]
		return l.Reset()
	}
	return &LC{pooled: true, terms: make([]Term, 0, 8)}
}

// Discard gives an LC back that will not be enforced.
func (b *Builder) Discard(l *LC) {
	if l != nil && l.pooled && len(b.free) < 256 {
		b.free = append(b.free, l)
	}
}

// Enforce adds the row x * y = z and takes the three back; nil is the empty combination. The same LC must not be given
// twice in one call. It does nothing but recycle in Assign mode.
func (b *Builder) Enforce(x, y, z *LC) {
	switch b.mode {
	case Shape:
		b.rec.row(x, y, z)
		b.rows++
	case Direct:
		b.dir.row(x, y, z)
		b.rows++
	}
	b.Discard(x)
	b.Discard(y)
	b.Discard(z)
}

// WireKind tells how a Wire relates to its variable.
type WireKind uint8

// A wire carries a variable, the negation of a bit variable, or a constant bit.
const (
	Plain WireKind = iota
	Negated
	ConstFalse
	ConstTrue
)

// Wire is what enters or leaves a Block.
type Wire struct {
	Var  Var
	Kind WireKind
}

// Block runs body, a piece of circuit that recurs: in Shape mode it is recorded once for each key as a template, and a
// later call with the same key only notes its wires. The key must determine everything that body does apart from which
// variables its wires are (constants and negations among its operands included). body may use the variables in wires,
// One, and what it allocates itself; it returns its results. A body that uses others, or allocates public inputs, or
// wires that repeat a variable, is recorded in place: correct, only larger. Blocks inside blocks are part of the outer.
//
// In the other modes Block is body().
func (b *Builder) Block(key any, wires []Var, body func() []Wire) []Wire {
	if b.mode != Shape {
		return body()
	}
	return b.rec.block(b, key, wires, body)
}

// Parallel runs n independent pieces, the i-th on the i-th child builder, with the result of running them in order.
// In Assign mode they run concurrently: no piece may use a value or variable made by another one. Calls inside a child
// run in order.
func (b *Builder) Parallel(n int, f func(i int, b *Builder) error) error {
	if b.mode == Assign && !b.child {
		return b.parallelAssign(n, f)
	}
	outer := b.child
	if b.mode == Shape && !outer {
		b.rec.group()
	}
	b.child = true
	defer func() { b.child = outer }()
	for i := 0; i < n; i++ {
		if err := b.Err(); err != nil {
			return err
		}
		if b.mode == Shape && !outer {
			b.rec.segment(b)
		}
		if err := f(i, b); err != nil {
			return err
		}
	}
	return nil
}

func (b *Builder) parallelAssign(n int, f func(i int, b *Builder) error) error {
	segs, err := b.asg.nextGroup(n, b)
	if err != nil {
		return err
	}
	b.asg.flush()
	g, ctx := errgroup.WithContext(b.ctx)
	g.SetLimit(b.asg.threads)
	var mu sync.Mutex
	var last *Builder
	for i := 0; i < n; i++ {
		s := segs[i]
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			c := &Builder{mode: Assign, ctx: ctx, child: true, inputs: int(s.Inputs), aux: int(s.Aux), fields: int(s.Fields)}
			c.asg = b.asg.at(c)
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := guard(func() error { return f(i, c) }); err != nil {
				return err
			}
			c.asg.flush()
			if i+1 < n {
				return checkSegment(i, c, segs[i+1])
			}
			mu.Lock()
			last = c
			mu.Unlock()
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if last != nil {
		b.inputs, b.aux, b.fields = last.inputs, last.aux, last.fields
		b.asg.seek(b)
	}
	return nil
}
