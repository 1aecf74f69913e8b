package ntt

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	"github.com/consensys/gnark-crypto/utils"

	"github.com/filgroth/filgroth/internal/par"
)

// Kernel names an implementation of the transforms.
type Kernel uint8

const (
	KernelAuto    Kernel = iota // the fastest that the machine has
	KernelGeneric               // gnark-crypto's transforms, any machine
	KernelIFMA                  // eight lanes of AVX-512 IFMA, amd64 only
)

var kernelNames = [...]string{"auto", "generic", "ifma"}

func (k Kernel) String() string {
	if int(k) < len(kernelNames) {
		return kernelNames[k]
	}
	return fmt.Sprintf("Kernel(%d)", int(k))
}

// Config chooses how transforms are computed, never their value. The zero value lets
// the engine choose.
type Config struct {
	Threads int    // 0 means GOMAXPROCS
	Kernel  Kernel // KernelAuto unless two implementations are to be compared
	// NoTables makes the generic kernel compute twiddles as it goes instead of keeping
	// tables of some four times the domain. The IFMA kernel keeps no tables anyway.
	NoTables bool
}

// Validate returns an error that is ErrConfig if a field is out of range.
func (c Config) Validate() error {
	switch {
	case c.Threads < 0:
		return fmt.Errorf("%w: Threads %d is negative", ErrConfig, c.Threads)
	case int(c.Kernel) >= len(kernelNames):
		return fmt.Errorf("%w: %v", ErrConfig, c.Kernel)
	}
	return nil
}

// String writes all fields as key=value parts.
func (c Config) String() string {
	return fmt.Sprintf("threads=%d,kernel=%v,notables=%t", c.Threads, c.Kernel, c.NoTables)
}

// CPU is the engine of the host processor.
type CPU struct{ cfg Config }

var _ Engine = (*CPU)(nil)

// NewCPU returns a CPU engine. The error is ErrConfig, or ErrUnavailable for a kernel
// that this processor lacks.
func NewCPU(cfg Config) (*CPU, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Kernel == KernelIFMA && !haveIFMA() {
		return nil, fmt.Errorf("%w: kernel=ifma needs amd64 with AVX-512 IFMA", ErrUnavailable)
	}
	return &CPU{cfg: cfg}, nil
}

// ifma says whether a domain is transformed by the IFMA kernel.
func (e *CPU) ifma(d Domain) bool {
	return e.cfg.Kernel != KernelGeneric && d.Log() >= minPlanLog && haveIFMA()
}

func (e *CPU) tables(d Domain) *fft.Domain {
	if e.cfg.NoTables {
		return fft.NewDomain(d.Size(), fft.WithoutPrecompute())
	}
	return fft.NewDomain(d.Size(), fft.WithCache())
}

// Transform implements [Engine].
func (e *CPU) Transform(ctx context.Context, d Domain, v []fr.Element, dir Direction, coset Coset) error {
	if err := d.Check("v", v); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.Size() == 1 {
		return nil
	}
	if e.ifma(d) {
		return newPlan(d, e.cfg.Threads).transform(ctx, v, dir, coset)
	}
	t := e.tables(d)
	opts := []fft.Option{fft.WithNbTasks(par.Workers(e.cfg.Threads, 512))}
	if coset == Shifted {
		opts = append(opts, fft.OnCoset())
	}
	if dir == Inverse {
		t.FFTInverse(v, fft.DIF, opts...)
	} else {
		t.FFT(v, fft.DIF, opts...)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	utils.BitReverse(v)
	return ctx.Err()
}

// Quotient implements [Engine]. Six transforms are enough: the values of C on the coset
// are not needed, since its coefficients can be subtracted after the return from it.
func (e *CPU) Quotient(ctx context.Context, d Domain, a, b, c []fr.Element) error {
	if err := d.CheckQuotient(a, b, c); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.ifma(d) {
		return newPlan(d, e.cfg.Threads).quotient(ctx, a, b, c)
	}
	return e.quotient(ctx, d, a, b, c)
}

func (e *CPU) quotient(ctx context.Context, d Domain, a, b, c []fr.Element) error {
	if d.Size() > 1 {
		t := e.tables(d)
		tasks := fft.WithNbTasks(par.Workers(e.cfg.Threads, 512))
		steps := []func(){
			func() { t.FFTInverse(a, fft.DIF, tasks) },
			func() { t.FFT(a, fft.DIT, fft.OnCoset(), tasks) },
			func() { t.FFTInverse(b, fft.DIF, tasks) },
			func() { t.FFT(b, fft.DIT, fft.OnCoset(), tasks) },
			func() { t.FFTInverse(c, fft.DIF, tasks) },
		}
		for _, step := range steps {
			step()
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	err := e.pointwise(ctx, len(a), func(i int) { a[i].Mul(&a[i], &b[i]) })
	if err != nil {
		return err
	}
	if d.Size() > 1 {
		e.tables(d).FFTInverse(a, fft.DIF, fft.OnCoset(), fft.WithNbTasks(par.Workers(e.cfg.Threads, 512)))
	}
	z := d.vanishing()
	z.Inverse(&z)
	err = e.pointwise(ctx, len(a), func(i int) {
		a[i].Sub(&a[i], &c[i])
		a[i].Mul(&a[i], &z)
	})
	if err != nil {
		return err
	}
	utils.BitReverse(a)
	return ctx.Err()
}

// vanishing is the value of X^m - 1 on the coset, 7^m - 1.
func (d Domain) vanishing() fr.Element {
	z := d.Shift()
	for range d.log {
		z.Square(&z)
	}
	one := fr.One()
	z.Sub(&z, &one)
	return z
}

func (e *CPU) pointwise(ctx context.Context, n int, fn func(i int)) error {
	return par.Range(ctx, e.cfg.Threads, n, 1<<14, func(_, from, to int) error {
		for i := from; i < to; i++ {
			fn(i)
		}
		return nil
	})
}
