package main

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
)

// deviceEngines are a device's engines with the host's part in them: the experiments A4 and B1 as they were done, with a, b, c on
// the host.
func deviceEngines(s Settings, m msm.Engine, n ntt.Engine, reg pinning.Registrar) (msm.Engine, *pinnedNTT, error) {
	switch s.Prove.Pinning.Policy {
	case pinning.PolicyAuto, pinning.PolicyNone, pinning.PolicyRegister, pinning.PolicyPool:
	default: // a, b, c are new in every call: there is nothing to keep registered
		return nil, nil, fmt.Errorf("%w: pin=%v with engines alone", groth16.ErrUnavailable, s.Prove.Pinning.Policy)
	}
	if s.Prove.Pinning.RingChunks != 0 {
		return nil, nil, fmt.Errorf("%w: pin-ring with engines alone", groth16.ErrUnavailable)
	}
	locker, err := pinning.NewLocker(reg, s.Prove.Pinning, nil)
	if err != nil {
		return nil, nil, err
	}
	p := &pinnedNTT{Engine: n, locker: locker, policy: s.Prove.Pinning.Policy}
	switch s.Prove.B2.Place {
	case groth16.PlaceSequential, groth16.PlaceParallel:
		host, err := msm.NewCPU(s.MSM)
		if err != nil {
			return nil, nil, err
		}
		m = splitMSM{m, host}
	}
	return m, p, nil
}

// splitMSM sums in G2 elsewhere.
type splitMSM struct {
	msm.Engine
	g2 msm.Engine
}

func (e splitMSM) G2(ctx context.Context, p []bls12381.G2Affine, k msm.Scalars, c msm.Config) (bls12381.G2Jac, error) {
	return e.g2.G2(ctx, p, k, c)
}

// pinnedNTT page-locks a, b, c around their quotient (register), or copies them through memory that stays locked (pool). What
// that takes is the span "pin".
type pinnedNTT struct {
	ntt.Engine
	locker *pinning.Locker
	policy pinning.Policy
}

// Quotient implements ntt.Engine.
func (e *pinnedNTT) Quotient(ctx context.Context, d ntt.Domain, a, b, c []fr.Element) (err error) {
	if e.policy != pinning.PolicyRegister && e.policy != pinning.PolicyPool {
		return e.Engine.Quotient(ctx, d, a, b, c)
	}
	var loans []*pinning.Loan
	defer func() {
		_, sp := span.Start(ctx, "pin")
		defer sp.End()
		for _, x := range loans {
			err = errors.Join(err, x.Return())
		}
	}()
	var at [3][]fr.Element
	for i, v := range [][]fr.Element{a, b, c} {
		x, err := e.use(ctx, rawElements(v))
		if err != nil {
			return err
		}
		loans = append(loans, x)
		at[i] = unsafe.Slice((*fr.Element)(unsafe.Pointer(unsafe.SliceData(x.Mem))), len(v))
	}
	if err := e.Engine.Quotient(ctx, d, at[0], at[1], at[2]); err != nil {
		return err
	}
	if e.policy == pinning.PolicyPool {
		_, sp := span.Start(ctx, "pin")
		defer sp.End()
		copy(a, at[0])
	}
	return nil
}

func (e *pinnedNTT) use(ctx context.Context, mem []byte) (*pinning.Loan, error) {
	_, sp := span.Start(ctx, "pin")
	defer sp.End()
	sp.AddBytes(int64(len(mem)))
	return e.locker.Use(ctx, mem)
}

// locks says what page-locking cost since the start.
func (e *pinnedNTT) locks() pinning.LockerStats { return e.locker.Stats() }

// close gives the pool back.
func (e *pinnedNTT) close() error { return e.locker.Close() }

func rawElements(v []fr.Element) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 32*len(v))
}
