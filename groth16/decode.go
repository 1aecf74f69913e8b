package groth16

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/filgroth/filgroth/internal/curveio"
	"github.com/filgroth/filgroth/internal/par"
)

// decodeChunk is how many points a worker decodes between looks at the context: some milliseconds.
const decodeChunk = 4096

// DecodeG1 decodes len(dst) points of a G1 section from index from on into native form, on threads goroutines
// (0 = GOMAXPROCS). A point off the curve or at infinity is a *KeyError with its index. Subgroups are not checked.
func (k *ProvingKey) DecodeG1(ctx context.Context, s Section, from int, dst []bls12381.G1Affine, threads int) error {
	if s.PointSize() != curveio.G1Size {
		return fmt.Errorf("%w: section %v is not in G1", ErrKey, s)
	}
	return decodeSection(ctx, k, s, from, dst, threads, curveio.G1)
}

// DecodeG2 is DecodeG1 for the section in G2.
func (k *ProvingKey) DecodeG2(ctx context.Context, s Section, from int, dst []bls12381.G2Affine, threads int) error {
	if s.PointSize() != curveio.G2Size {
		return fmt.Errorf("%w: section %v is not in G2", ErrKey, s)
	}
	return decodeSection(ctx, k, s, from, dst, threads, curveio.G2)
}

func decodeSection[P any](ctx context.Context, k *ProvingKey, s Section, from int, dst []P, threads int, get func(*P, []byte) error) error {
	if err := k.hold(); err != nil {
		return err
	}
	size := s.PointSize()
	err := par.Range(ctx, threads, len(dst), decodeChunk, func(_, lo, hi int) error {
		b, err := k.raw(s, from+lo, hi-lo)
		if err != nil {
			return err
		}
		for i := range dst[lo:hi] {
			if err := get(&dst[lo+i], b[i*size:(i+1)*size]); err != nil {
				return &KeyError{k.path, s.String(), from + lo + i, err}
			}
		}
		return nil
	})
	return errors.Join(err, k.Release())
}

// CheckPoints decodes every point of every section and, with subgroups, tests that it is in the prime-order subgroup;
// the first bad one found is a *KeyError. That reads the whole key: minutes of processor time for the large ones.
func (k *ProvingKey) CheckPoints(ctx context.Context, subgroups bool, threads int) error {
	if err := k.hold(); err != nil {
		return err
	}
	var err error
	for s := SectionH; s < NumSections && err == nil; s++ {
		if s == SectionB2 {
			err = checkSection(ctx, k, s, threads, pick(subgroups, curveio.G2Checked, curveio.G2))
		} else {
			err = checkSection(ctx, k, s, threads, pick(subgroups, curveio.G1Checked, curveio.G1))
		}
	}
	return errors.Join(err, k.Release())
}

func pick[T any](c bool, a, b T) T {
	if c {
		return a
	}
	return b
}

func checkSection[P any](ctx context.Context, k *ProvingKey, s Section, threads int, get func(*P, []byte) error) error {
	size := s.PointSize()
	return par.Range(ctx, threads, k.lens[s], 256, func(_, lo, hi int) error {
		b, err := k.raw(s, lo, hi-lo)
		if err != nil {
			return err
		}
		var p P
		for i := lo; i < hi; i++ {
			if err := get(&p, b[(i-lo)*size:(i-lo+1)*size]); err != nil {
				return &KeyError{k.path, s.String(), i, err}
			}
		}
		return nil
	})
}

func popcount(words []uint64) int {
	n := 0
	for _, w := range words {
		n += bits.OnesCount64(w)
	}
	return n
}
