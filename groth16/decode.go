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
		return k.mapped(s, func() error {
			for i := range dst[lo:hi] {
				if err := get(&dst[lo+i], b[i*size:(i+1)*size]); err != nil {
					return &KeyError{k.path, s.String(), from + lo + i, err}
				}
			}
			return nil
		})
	})
	return errors.Join(err, k.Release())
}

func popcount(words []uint64) int {
	n := 0
	for _, w := range words {
		n += bits.OnesCount64(w)
	}
	return n
}
