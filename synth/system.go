package synth

import (
	"context"
	"fmt"
	"sort"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// System is a compiled rank-one constraint system: rows a_i * b_i = c_i over public inputs and aux variables. It is
// immutable and safe for concurrent use. Its rows are those of the circuit; the rows "input * 0 = 0" that the proof
// system appends for every input are counted in Constraints and evaluated, but not stored.
type System struct {
	inputs, aux, rows int

	coeffs    []fr.Element // 0 is one, 1 is minus one
	templates []Template
	instances []Instance
	wires     []Var
	bools     bitset
	segments  []Segment
	groups    []uint32

	aAux, bAux, bInput bitset
	boolRank           rank
	fields             int

	progOnce sync.Once
	progs    []program
	small    []int32

	digest digestCell
	close  func() error
	closed bool
}

// Inputs is the number of public inputs, the constant one included.
func (s *System) Inputs() int { return s.inputs }

// Aux is the number of private variables.
func (s *System) Aux() int { return s.aux }

// Rows is the number of rows of the circuit.
func (s *System) Rows() int { return s.rows }

// Constraints is Rows plus one row for each input: what the evaluation domain must hold (spec: n).
func (s *System) Constraints() int { return s.rows + s.inputs }

// DomainSize is the smallest power of two that is at least Constraints.
func (s *System) DomainSize() int {
	m := 1
	for m < s.Constraints() {
		m <<= 1
	}
	return m
}

// Bits is the packed set of aux variables that are bits (bit i%64 of word i/64 is aux i). Read only.
func (s *System) Bits() []uint64 { return s.bools }

// Fields is the number of aux variables that are not bits.
func (s *System) Fields() int { return s.fields }

// FieldsBefore is the number of non-bit aux variables among the first i.
func (s *System) FieldsBefore(i int) int { return i - s.boolRank.before(i) }

// ADensity says which aux variables occur in some A with a non-zero coefficient; BDensity and BInputDensity which aux
// and inputs do so in B. Packed, read only. (Every input occurs in A, through the appended rows.)
func (s *System) ADensity() []uint64 { return s.aAux }

// BDensity is described at ADensity.
func (s *System) BDensity() []uint64 { return s.bAux }

// BInputDensity is described at ADensity.
func (s *System) BInputDensity() []uint64 { return s.bInput }

// Coeffs is the coefficient table (Montgomery) that Matrix.Coef indexes; entry 0 is one, entry 1 minus one. Read only.
func (s *System) Coeffs() []fr.Element { return s.coeffs }

// Templates, Instances and Wires are the stored form, for backends that evaluate on a device. Read only. Instances are
// in row order and cover every row; the wires of an instance are Wires()[Wire:Wire+template.Wires].
func (s *System) Templates() []Template { return s.templates }

// Instances is described at Templates.
func (s *System) Instances() []Instance { return s.instances }

// Wires is described at Templates.
func (s *System) Wires() []Var { return s.wires }

// Bytes is the size of the stored form in memory (or mapped).
func (s *System) Bytes() int64 {
	n := int64(len(s.coeffs))*32 + int64(len(s.instances))*16 + int64(len(s.wires))*4 +
		int64(len(s.bools)+len(s.aAux)+len(s.bAux)+len(s.bInput))*8
	for i := range s.templates {
		t := &s.templates[i]
		n += int64(len(t.Bits)) * 8
		for k := range t.M {
			n += int64(len(t.M[k].Ptr)+len(t.M[k].Col)+len(t.M[k].Coef)) * 4
		}
	}
	return n
}

// Nonzeros counts the terms of A, B and C, appended input rows not included.
func (s *System) Nonzeros() (a, b, c int64) {
	var n [3]int64
	for i := range s.instances {
		t := &s.templates[s.instances[i].Template]
		for k := range n {
			n[k] += int64(len(t.M[k].Col))
		}
	}
	return n[0], n[1], n[2]
}

// Close unmaps a system that was opened from a file; what is asked of it afterwards is ErrClosed. Assignments and sessions
// that use it must be closed before. A compiled system holds nothing but Go memory, and Close leaves it as it is.
func (s *System) Close() error {
	if s.close == nil {
		return nil
	}
	c := s.close
	s.close = nil
	s.closed = true
	s.coeffs, s.templates, s.instances, s.wires, s.segments, s.groups = nil, nil, nil, nil, nil, nil
	s.bools, s.aAux, s.bAux, s.bInput, s.boolRank = nil, nil, nil, nil, rank{}
	return c()
}

// String gives the counts.
func (s *System) String() string {
	return fmt.Sprintf("%d constraints, %d inputs, %d aux (%d bits), %d templates, %d instances",
		s.Constraints(), s.inputs, s.aux, s.aux-s.fields, len(s.templates), len(s.instances))
}

// finish derives densities and rank directories.
func (s *System) finish() {
	s.deriveDensities()
	s.derive()
}

func (s *System) derive() {
	s.boolRank = newRank(s.bools)
	s.fields = s.aux - s.boolRank.before(s.aux)
}

func (s *System) deriveDensities() {
	s.aAux, s.bAux, s.bInput = newBitset(s.aux), newBitset(s.aux), newBitset(s.inputs)
	type use struct {
		locals [2]bitset
		wires  [2][]int
		one    bool
	}
	uses := make([]*use, len(s.templates))
	of := func(id uint32) *use {
		if uses[id] != nil {
			return uses[id]
		}
		t := &s.templates[id]
		u := &use{}
		for k := 0; k < 2; k++ {
			u.locals[k] = newBitset(t.Locals)
			wires := newBitset(t.Wires)
			for _, c := range t.M[k].Col {
				switch {
				case c == 0:
					u.one = u.one || k == 1
				case int(c) <= t.Wires:
					wires.set(int(c) - 1)
				default:
					u.locals[k].set(int(c) - 1 - t.Wires)
				}
			}
			for i := 0; i < t.Wires; i++ {
				if wires.get(i) {
					u.wires[k] = append(u.wires[k], i)
				}
			}
		}
		uses[id] = u
		return u
	}
	for i := range s.instances {
		in := &s.instances[i]
		t, u := &s.templates[in.Template], of(in.Template)
		if u.one {
			s.bInput.set(0)
		}
		for k, d := range [2]bitset{s.aAux, s.bAux} {
			d.orAt(int(in.Aux), u.locals[k], t.Locals)
			for _, w := range u.wires[k] {
				v := s.wires[int(in.Wire)+w]
				if !v.IsInput() {
					d.set(v.Index())
				} else if k == 1 {
					s.bInput.set(v.Index())
				}
			}
		}
	}
}

// global maps a local column of an instance to the variable.
func (s *System) global(t *Template, in *Instance, c uint32) Var {
	switch {
	case c == 0:
		return One
	case int(c) <= t.Wires:
		return s.wires[in.Wire+c-1]
	}
	return AuxVar(int(in.Aux) + int(c) - 1 - t.Wires)
}

// RowTerm is a term of a stored row; Coef indexes Coeffs.
type RowTerm struct {
	Var  Var
	Coef uint32
}

// EachRow calls f for the rows lo <= i < hi in order with the terms of A, B and C in canonical order (inputs, then aux,
// ascending). The slices are reused. It stops at f's first error or at cancellation.
func (s *System) EachRow(ctx context.Context, lo, hi int, f func(row int, abc [3][]RowTerm) error) error {
	if s.closed {
		return ErrClosed
	}
	if lo < 0 || hi > s.rows || lo > hi {
		return fmt.Errorf("%w: rows [%d,%d) of %d", ErrLength, lo, hi, s.rows)
	}
	var buf [3][]RowTerm
	for i := s.findInstance(lo); i < len(s.instances); i++ {
		in := &s.instances[i]
		if int(in.Row) >= hi {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		t := &s.templates[in.Template]
		for r := max(0, lo-int(in.Row)); r < t.Rows && int(in.Row)+r < hi; r++ {
			if r&(1<<12-1) == 1<<12-1 { // a system without repetition is one instance
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			for k := range buf {
				buf[k] = s.appendRow(buf[k][:0], t, in, &t.M[k], r)
			}
			if err := f(int(in.Row)+r, buf); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *System) appendRow(dst []RowTerm, t *Template, in *Instance, m *Matrix, r int) []RowTerm {
	sorted := true
	last := uint32(0)
	for j := m.Ptr[r]; j < m.Ptr[r+1]; j++ {
		v := s.global(t, in, m.Col[j])
		if o := v.order(); o < last {
			sorted = false
		} else {
			last = o
		}
		dst = append(dst, RowTerm{v, m.Coef[j]})
	}
	if !sorted {
		sort.Slice(dst, func(a, b int) bool { return dst[a].Var.order() < dst[b].Var.order() })
	}
	return dst
}

// findInstance is the instance that holds row r, or the number of instances.
func (s *System) findInstance(r int) int {
	i := sort.Search(len(s.instances), func(i int) bool { return int(s.instances[i].Row) > r })
	if i > 0 {
		i--
	}
	return i
}
