package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
)

// registrar page-locks memory for a device.
type registrar interface {
	Register(mem []byte, chunk int) error
	Unregister(mem []byte, chunk int) error
}

// deviceEngines are a device's engines with the host's part in them: the experiments A4 and B1 as they were done, with a, b, c on
// the host.
func deviceEngines(s Settings, m msm.Engine, n ntt.Engine, reg registrar) (msm.Engine, *pinnedNTT, error) {
	p := &pinnedNTT{Engine: n, reg: reg, policy: s.Prove.Pinning.Policy, chunk: int(s.Prove.Pinning.ChunkBytes)}
	switch p.policy {
	case pinning.PolicyAuto, pinning.PolicyNone, pinning.PolicyRegister, pinning.PolicyPool:
	default: // a, b, c are new in every call: there is nothing to keep registered
		return nil, nil, fmt.Errorf("%w: pin=%v with engines alone", groth16.ErrUnavailable, p.policy)
	}
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
	reg    registrar
	policy pinning.Policy
	chunk  int

	mu   sync.Mutex
	pool *pinning.Buffer // three vectors
}

// Quotient implements ntt.Engine.
func (e *pinnedNTT) Quotient(ctx context.Context, d ntt.Domain, a, b, c []fr.Element) error {
	switch e.policy {
	case pinning.PolicyRegister:
		return e.registered(ctx, d, a, b, c)
	case pinning.PolicyPool:
		return e.pooled(ctx, d, a, b, c)
	}
	return e.Engine.Quotient(ctx, d, a, b, c)
}

func (e *pinnedNTT) registered(ctx context.Context, d ntt.Domain, vs ...[]fr.Element) (err error) {
	for i, v := range vs {
		if err := e.lock(ctx, rawElements(v)); err != nil {
			return errors.Join(err, e.unlock(ctx, vs[:i]))
		}
	}
	err = e.Engine.Quotient(ctx, d, vs[0], vs[1], vs[2])
	return errors.Join(err, e.unlock(ctx, vs))
}

func (e *pinnedNTT) lock(ctx context.Context, mem []byte) error {
	_, sp := span.Start(ctx, "pin")
	defer sp.End()
	sp.AddBytes(int64(len(mem)))
	return e.reg.Register(mem, e.chunk)
}

func (e *pinnedNTT) unlock(ctx context.Context, vs [][]fr.Element) (err error) {
	_, sp := span.Start(ctx, "pin")
	defer sp.End()
	for _, v := range vs {
		err = errors.Join(err, e.reg.Unregister(rawElements(v), e.chunk))
	}
	return err
}

// pooled is for one call at a time; others wait.
func (e *pinnedNTT) pooled(ctx context.Context, d ntt.Domain, a, b, c []fr.Element) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(a)
	if e.pool == nil || e.pool.Len() != 96*n {
		if err := e.close(); err != nil {
			return err
		}
		buf, err := pinning.AllocWith(96*n, "page-locked pool", pinning.Options{HugePages: true})
		if err != nil {
			return err
		}
		if err := e.lock(ctx, buf.Bytes()); err != nil {
			return errors.Join(err, buf.Close())
		}
		e.pool = buf
	}
	v := pinning.Slice[fr.Element](e.pool, 3*n)
	_, sp := span.Start(ctx, "pin")
	copy(v, a)
	copy(v[n:], b)
	copy(v[2*n:], c)
	sp.AddBytes(int64(96 * n))
	sp.End()
	if err := e.Engine.Quotient(ctx, d, v[:n:n], v[n:2*n:2*n], v[2*n:]); err != nil {
		return err
	}
	_, sp = span.Start(ctx, "pin")
	defer sp.End()
	copy(a, v[:n])
	return nil
}

// close gives the pool back.
func (e *pinnedNTT) close() error {
	if e.pool == nil {
		return nil
	}
	err := e.reg.Unregister(e.pool.Bytes(), e.chunk)
	err = errors.Join(err, e.pool.Close())
	e.pool = nil
	return err
}

func rawElements(v []fr.Element) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 32*len(v))
}
