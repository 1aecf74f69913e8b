package gpu

import (
	"context"
	"errors"
	"math/bits"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// sectionLists says which variables multiply the points of a section, in file order: a mask of the points of the tail
// (public inputs and field elements), the aux variable of each point of a bit, and the value of each point of the tail,
// counted over the inputs and then the fields. They live outside the Go heap, and only until they are on the device.
type sectionLists struct {
	mask    []uint64
	bitAt   []uint32
	valueAt []uint32
	bufs    []*pinning.Buffer
}

func (l *sectionLists) close() error {
	var errs []error
	for _, b := range l.bufs {
		errs = append(errs, b.Close())
	}
	l.bufs = nil
	return errors.Join(errs...)
}

func (l *sectionLists) bytes() (n int64) {
	for _, b := range l.bufs {
		n += int64(b.Len())
	}
	return n
}

func (l *sectionLists) points() int { return len(l.bitAt) + len(l.valueAt) }

// listsFor makes the lists of section l, a or b.
func listsFor(ctx context.Context, sys *synth.System, s groth16.Section) (*sectionLists, error) {
	switch s {
	case groth16.SectionL:
		return newLists(ctx, sys, nil, 0, nil)
	case groth16.SectionA:
		return newLists(ctx, sys, nil, sys.Inputs(), sys.ADensity())
	default:
		return newLists(ctx, sys, sys.BInputDensity(), sys.Inputs(), sys.BDensity())
	}
}

// newLists: the section has a point for each of the first inputs that is in inputSet (nil: all), then for each aux
// variable in density (nil: all).
func newLists(ctx context.Context, sys *synth.System, inputSet []uint64, inputs int, density []uint64) (_ *sectionLists, err error) {
	isBit := sys.Bits()
	word := func(w int) uint64 {
		if density != nil {
			return density[w]
		}
		if left := sys.Aux() - w*64; left < 64 {
			return 1<<left - 1
		}
		return ^uint64(0)
	}
	front, bitPoints, tail := 0, 0, 0
	has := func(i int) bool { return inputSet == nil || inputSet[i>>6]>>(i&63)&1 == 1 }
	for i := range inputs {
		if has(i) {
			front++
		}
	}
	for w, b := range isBit {
		d := word(w)
		bitPoints += bits.OnesCount64(d & b)
		tail += bits.OnesCount64(d &^ b)
	}
	l := &sectionLists{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	n := front + bitPoints + tail
	if l.mask, err = listAlloc[uint64](l, (n+63)/64, 8); err != nil {
		return nil, err
	}
	if l.bitAt, err = listAlloc[uint32](l, bitPoints, 4); err != nil {
		return nil, err
	}
	if l.valueAt, err = listAlloc[uint32](l, front+tail, 4); err != nil {
		return nil, err
	}
	return l, l.fill(ctx, sys, has, inputs, word)
}

func listAlloc[T any](l *sectionLists, n, size int) ([]T, error) {
	b, err := pinning.Alloc(n*size, "variables of key points")
	if err != nil {
		return nil, err
	}
	l.bufs = append(l.bufs, b)
	return pinning.Slice[T](b, n), nil
}

func (l *sectionLists) fill(ctx context.Context, sys *synth.System, has func(int) bool, inputs int, word func(int) uint64) error {
	at, nb, nv := 0, 0, 0
	tail := func(value int) {
		l.mask[at>>6] |= 1 << (at & 63)
		l.valueAt[nv] = uint32(value)
		nv++
		at++
	}
	for i := range inputs {
		if has(i) {
			tail(i)
		}
	}
	field := sys.Inputs()
	for w, isBit := range sys.Bits() {
		if w&(1<<14-1) == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		d := word(w)
		if left := sys.Aux() - w*64; left < 64 {
			isBit |= ^uint64(0) << left // no variable
		}
		for todo := d | ^isBit; todo != 0; todo &= todo - 1 {
			i := bits.TrailingZeros64(todo)
			in := d>>i&1 == 1
			switch {
			case isBit>>i&1 == 0:
				if in {
					tail(field)
				}
				field++
			case in:
				l.bitAt[nb] = uint32(w*64 + i)
				nb++
				at++
			}
		}
	}
	return nil
}
