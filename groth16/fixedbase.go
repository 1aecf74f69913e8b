package groth16

import (
	"context"
	"errors"
	"fmt"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/curveio"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/msm"
)

// hostFixedBase is the FixedBase of the host processor.
type hostFixedBase struct {
	g1      *msm.FixedG1
	g2      *msm.FixedG2
	p1      [hostChunk]bls12381.G1Affine
	p2      [hostChunk]bls12381.G2Affine
	threads int
}

// hostChunk is some tens of milliseconds of work.
const hostChunk = 1 << 14

// newHostFixedBase makes tables for some n1 and n2 products.
func newHostFixedBase(ctx context.Context, n1, n2, threads int) (*hostFixedBase, error) {
	e, err := msm.NewCPU(msm.Config{Threads: threads})
	if err != nil {
		return nil, err
	}
	_, _, g1, g2 := bls12381.Generators()
	h := &hostFixedBase{threads: threads}
	if h.g1, err = e.NewFixedG1(ctx, g1, n1, msm.Config{}); err != nil {
		return nil, err
	}
	if h.g2, err = e.NewFixedG2(ctx, g2, n2, msm.Config{}); err != nil {
		return nil, errors.Join(err, h.g1.Close())
	}
	return h, nil
}

func (h *hostFixedBase) close() error { return errors.Join(h.g1.Close(), h.g2.Close()) }

// Chunk implements FixedBase.
func (h *hostFixedBase) Chunk() int { return hostChunk }

// G1 implements FixedBase for at most Chunk scalars; one call at a time.
func (h *hostFixedBase) G1(ctx context.Context, k []fr.Element, dst []byte) error {
	if err := h.g1.Mul(ctx, h.p1[:len(k)], k); err != nil {
		return err
	}
	return par.Range(ctx, h.threads, len(k), setupPiece, func(_, lo, hi int) error {
		for i := lo; i < hi; i++ {
			curveio.PutG1(dst[96*i:], &h.p1[i])
		}
		return nil
	})
}

// G2 implements FixedBase likewise.
func (h *hostFixedBase) G2(ctx context.Context, k []fr.Element, dst []byte) error {
	if err := h.g2.Mul(ctx, h.p2[:len(k)], k); err != nil {
		return err
	}
	return par.Range(ctx, h.threads, len(k), setupPiece, func(_, lo, hi int) error {
		for i := lo; i < hi; i++ {
			curveio.PutG2(dst[192*i:], &h.p2[i])
		}
		return nil
	})
}

// UnconstrainedError: an aux variable that occurs in no row, for which there is no key.
type UnconstrainedError struct{ Aux int }

func (e *UnconstrainedError) Error() string {
	return fmt.Sprintf("groth16: setup: aux variable %d occurs in no constraint", e.Aux)
}
