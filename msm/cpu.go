package msm

import (
	"context"
	"fmt"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
)

// CPU is the engine of the host processor: Pippenger's method with signed windows, whose
// buckets are filled by trees of batched affine additions (one field inversion for a
// thousand of them), and on amd64 with AVX-512 IFMA eight additions at a time.
type CPU struct {
	base Config
}

var _ Engine = (*CPU)(nil)

// NewCPU returns a CPU engine. Where a call leaves a field of its Config zero, base
// decides. The error is ErrConfig, or ErrUnavailable for a kernel that this processor
// lacks.
func NewCPU(base Config) (*CPU, error) {
	if err := checkCPU(base); err != nil {
		return nil, err
	}
	return &CPU{base: base}, nil
}

func checkCPU(c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Kernel == KernelIFMA && !haveIFMA() {
		return fmt.Errorf("%w: kernel=ifma needs amd64 with AVX-512 IFMA", ErrUnavailable)
	}
	return nil
}

// merge fills the zero fields of c from the engine's base.
func (e *CPU) merge(c Config) (Config, error) {
	if c.WindowBits == 0 {
		c.WindowBits = e.base.WindowBits
	}
	if c.Threads == 0 {
		c.Threads = e.base.Threads
	}
	if c.PassPoints == 0 {
		c.PassPoints = e.base.PassPoints
	}
	if c.Kernel == KernelAuto {
		c.Kernel = e.base.Kernel
	}
	return c, checkCPU(c)
}

// G1 implements [Engine].
func (e *CPU) G1(ctx context.Context, points []bls12381.G1Affine, k Scalars, cfg Config) (bls12381.G1Jac, error) {
	cfg, err := e.merge(cfg)
	if err != nil {
		return bls12381.G1Jac{}, err
	}
	return sum(ctx, choose(g1Curves, cfg.Kernel), points, k, cfg)
}

// G2 implements [Engine].
func (e *CPU) G2(ctx context.Context, points []bls12381.G2Affine, k Scalars, cfg Config) (bls12381.G2Jac, error) {
	cfg, err := e.merge(cfg)
	if err != nil {
		return bls12381.G2Jac{}, err
	}
	return sum(ctx, choose(g2Curves, cfg.Kernel), points, k, cfg)
}
