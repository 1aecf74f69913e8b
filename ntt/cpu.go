package ntt

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"

	"github.com/filgroth/filgroth/internal/par"
)

// Config chooses how transforms are computed, never their value. The zero value lets
// the engine choose.
type Config struct {
	Threads int // 0 means GOMAXPROCS
}

// Validate returns an error that is ErrConfig if a field is out of range.
func (c Config) Validate() error {
	if c.Threads < 0 {
		return fmt.Errorf("%w: Threads %d is negative", ErrConfig, c.Threads)
	}
	return nil
}

// String writes all fields as key=value parts.
func (c Config) String() string { return fmt.Sprintf("threads=%d", c.Threads) }

// CPU is the engine of the host processor.
type CPU struct{ cfg Config }

var _ Engine = (*CPU)(nil)

// NewCPU returns a CPU engine. The error is ErrConfig.
func NewCPU(cfg Config) (*CPU, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &CPU{cfg: cfg}, nil
}

func (e *CPU) tables(d Domain) *fft.Domain { return fft.NewDomain(d.Size(), fft.WithCache()) }

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
	fft.BitReverse(v)
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
	fft.BitReverse(a)
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
