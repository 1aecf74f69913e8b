package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// hostSide is what a backend of ours holds beside its sessions; nil is nothing.
type hostSide interface {
	close() error
	locks() pinning.LockerStats
}

// newBackend makes the backend that the settings name: cpu; gpu, a device as a whole; or gpu-engines, where only transforms and
// sums run on the device and everything between them on the host.
func newBackend(s *Settings, d *devices) (groth16.Backend, hostSide, error) {
	if s.Backend == "cpu" {
		b, err := cpuBackend(*s)
		return b, nil, err
	}
	dev, err := d.get(s.DeviceMemory)
	if err != nil {
		return nil, nil, err
	}
	if s.Backend == "gpu" {
		if s.Prove.Pinning.Node != pinning.AnyNode {
			return nil, nil, fmt.Errorf("%w: pin-node on a whole device, whose library allocates", groth16.ErrUnavailable)
		}
		if s.Bits == "dense" {
			return nil, nil, fmt.Errorf("%w: bits=dense on a whole device", groth16.ErrUnavailable)
		}
		return dev, nil, nil
	}
	m, p, err := deviceEngines(*s, dev, dev, dev)
	if err != nil {
		return nil, nil, err
	}
	if s.Bits == "dense" {
		m = denseEngine{m}
	}
	if s.Prove.B2.Place == groth16.PlaceDevice {
		s.Prove.B2.Place = groth16.PlaceAuto // it is where all sums are
	}
	return groth16.Compose(m, p), p, nil
}

func cpuBackend(s Settings) (groth16.Backend, error) {
	switch s.Prove.Pinning.Policy {
	case pinning.PolicyAuto, pinning.PolicyNone:
	default:
		return nil, fmt.Errorf("%w: pin=%v without a device", groth16.ErrUnavailable, s.Prove.Pinning.Policy)
	}
	if s.Prove.Pinning.Node != pinning.AnyNode {
		return nil, fmt.Errorf("%w: pin-node without a device", groth16.ErrUnavailable)
	}
	m, err := msm.NewCPU(s.MSM)
	if err != nil {
		return nil, err
	}
	n, err := ntt.NewCPU(s.NTT)
	if err != nil {
		return nil, err
	}
	if s.Bits == "dense" {
		return groth16.Compose(denseEngine{m}, n), nil
	}
	return groth16.Compose(m, n), nil
}

// denseEngine hides from an engine that most scalars are bits.
type denseEngine struct{ msm.Engine }

func (e denseEngine) G1(ctx context.Context, p []bls12381.G1Affine, k msm.Scalars, c msm.Config) (bls12381.G1Jac, error) {
	return e.Engine.G1(ctx, p, dense(k, len(p)), c)
}

func (e denseEngine) G2(ctx context.Context, p []bls12381.G2Affine, k msm.Scalars, c msm.Config) (bls12381.G2Jac, error) {
	return e.Engine.G2(ctx, p, dense(k, len(p)), c)
}

func dense(k msm.Scalars, n int) msm.Scalars {
	if k.Dense != nil || k.Check(n) != nil {
		return k
	}
	v := make([]fr.Element, n)
	for i := range v {
		if k.Bits[i>>6]>>(i&63)&1 == 1 {
			v[i].SetOne()
		}
	}
	for j, at := range k.TailAt {
		v[at] = k.Tail[j]
	}
	return msm.Scalars{Dense: v}
}

// sumsSeen is a backend that remembers what its sessions summed up since the last reset: proofs are blinded, sums compare.
type sumsSeen struct {
	groth16.Backend
	mu  sync.Mutex
	all map[*synth.Assignment][32]byte // nil: nothing is remembered
}

// Bind implements groth16.Backend.
func (b *sumsSeen) Bind(ctx context.Context, sys *synth.System, key *groth16.ProvingKey, cfg groth16.Config) (groth16.Session, error) {
	s, err := b.Backend.Bind(ctx, sys, key, cfg)
	if err != nil {
		return nil, err
	}
	return &seenSession{s, b}, nil
}

func (b *sumsSeen) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = map[*synth.Assignment][32]byte{}
}

// take gives the hashes of the sums of these assignments and remembers nothing any more.
func (b *sumsSeen) take(as []*synth.Assignment) [][32]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out [][32]byte
	for _, a := range as {
		out = append(out, b.all[a])
	}
	b.all = nil
	return out
}

type seenSession struct {
	groth16.Session
	b *sumsSeen
}

// CircuitsPerCall passes the session's wish on.
func (s *seenSession) CircuitsPerCall() int {
	if c, ok := s.Session.(interface{ CircuitsPerCall() int }); ok {
		return c.CircuitsPerCall()
	}
	return 1
}

// Sums implements groth16.Session.
func (s *seenSession) Sums(ctx context.Context, as []*synth.Assignment) ([]groth16.Sums, error) {
	sums, err := s.Session.Sums(ctx, as)
	if err != nil {
		return nil, err
	}
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	for i := range sums {
		if s.b.all == nil {
			break
		}
		var raw []byte
		for _, p := range []*bls12381.G1Jac{&sums[i].H, &sums[i].L, &sums[i].A, &sums[i].B1} {
			b := new(bls12381.G1Affine).FromJacobian(p).RawBytes()
			raw = append(raw, b[:]...)
		}
		b := new(bls12381.G2Affine).FromJacobian(&sums[i].B2).RawBytes()
		s.b.all[as[i]] = sha256.Sum256(append(raw, b[:]...))
	}
	return sums, nil
}
