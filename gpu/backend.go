package gpu

import (
	"context"
	"errors"
	"fmt"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

var _ groth16.Backend = (*Device)(nil)

// Limits of the ring that host memory goes through.
const (
	maxRingPieces = 1024
	maxRingPiece  = 1 << 30
)

// Bind implements groth16.Backend: the system's tables, and the key if it fits the device and its budget, stay there as
// long as the session is open. Everything of Sums runs on the device, but the sum in G2 where Config.B2 says otherwise; what
// the device has no room for is an *OutOfDeviceMemoryError. Room that sessions which are open need for their calls is not
// taken, and sessions are bound one after the other. How host memory gets to the device is Config.Pinning's to say: with
// PolicyAuto and PolicyRing through a small ring of page-locked pieces; with PolicyNone through the driver's own staging; with
// PolicyRegister the witness of each circuit, and the evaluations that it brings, are page-locked while they are sent; with
// PolicyRegisterOnce memory of package pinning stays page-locked from its first use until it is given back or the last session
// of any device that used it is closed, other memory is treated as with PolicyRegister; with PolicyPool it is copied whole into
// page-locked memory that the session keeps.
func (d *Device) Bind(ctx context.Context, sys *synth.System, key *groth16.ProvingKey, cfg groth16.Config) (groth16.Session, error) {
	if err := d.checkConfig(cfg); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &session{d: d, sys: sys, key: key, cfg: cfg}
	if err := d.enter(s); err != nil {
		return nil, err
	}
	if err := key.Retain(); err != nil {
		d.leave(s)
		return nil, err
	}
	if err := s.bind(ctx); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

func (d *Device) checkConfig(cfg groth16.Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	p := cfg.Pinning
	ring := p.Policy == pinning.PolicyAuto || p.Policy == pinning.PolicyRing
	switch {
	case p.RingChunks > maxRingPieces || ring && p.ChunkBytes > maxRingPiece:
		return fmt.Errorf("%w: %v: a ring of %d pieces of %d bytes", groth16.ErrUnavailable, d, p.RingChunks, p.ChunkBytes)
	case p.Node != pinning.AnyNode:
		return fmt.Errorf("%w: %v: page-locked memory of a chosen node", groth16.ErrUnavailable, d)
	}
	return nil
}

// bind makes the lists of variables, and plans, opens and fills the library's session.
func (s *session) bind(ctx context.Context) (err error) {
	if err := s.key.CheckSystem(ctx, s.sys); err != nil {
		return err
	}
	dom, err := ntt.NewDomain(uint64(s.sys.DomainSize()))
	if err != nil {
		return err
	}
	if err := checkLog(dom); err != nil {
		return fmt.Errorf("%w: %w", groth16.ErrUnavailable, err)
	}
	s.log = dom.Log()
	var lists [groth16.NumSections]*sectionLists
	defer func() {
		for _, l := range lists {
			if l != nil {
				err = errors.Join(err, l.close())
			}
		}
	}()
	for _, sec := range []groth16.Section{groth16.SectionL, groth16.SectionA, groth16.SectionB1} {
		if lists[sec], err = listsFor(ctx, s.sys, sec); err != nil {
			return err
		}
		if n := lists[sec].points(); n != s.key.Len(sec) {
			return &groth16.DimensionError{Section: sec.String(), Expected: n, Found: s.key.Len(sec)}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if err := s.fill(ctx, &lists); err != nil || !s.hostB2() {
		return err
	}
	b := lists[groth16.SectionB1]
	lists[groth16.SectionB1] = nil
	s.b2, err = s.newHostB2(ctx, b)
	return err
}

// fill plans, opens the library's session and sends it the system, the lists and, if it stays there, the key. Calls of
// other sessions come between the parts of the key only: their scratch memory gives way to it, but to nothing else.
func (s *session) fill(ctx context.Context, lists *[groth16.NumSections]*sectionLists) error {
	done, err := s.d.bindAlone(ctx)
	if err != nil {
		return err
	}
	defer done()
	c := s.shape(lists)
	err = s.d.submit(ctx, func(*int32) error {
		if err := s.plan(ctx, c); err != nil {
			return err
		}
		s.d.promise(s, s.bytes.leastArena)
		return s.open(ctx, lists)
	})
	if err != nil {
		return err
	}
	s.slots = newSlots(s.c.slots)
	if !s.c.resident {
		return nil
	}
	for sec := groth16.SectionH; sec < groth16.NumSections; sec++ {
		for at := 0; at < s.c.counts[sec]; at += loadPoints {
			if err := s.load(ctx, sec, at, min(loadPoints, s.c.counts[sec]-at)); err != nil {
				return err
			}
		}
	}
	return nil
}

// open opens the library's session, and sends the system and the lists. For the device's thread.
func (s *session) open(ctx context.Context, lists *[groth16.NumSections]*sectionLists) error {
	lib := s.d.lib
	step := func(f func() result) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := f()
		return r.err(s.d.opts.Ordinal)
	}
	err := step(func() (r result) {
		s.h, r = lib.sessionOpen(s.d.h, &s.c)
		return r
	})
	if err != nil {
		return err
	}
	if s.c.hasSystem {
		if err := step(func() result { return lib.sessionSystem(s.h, s.sys) }); err != nil {
			return err
		}
		ts := s.sys.Templates()
		for i := range ts {
			if err := step(func() result { return lib.sessionTemplate(s.h, &ts[i]) }); err != nil {
				return err
			}
		}
		if err := step(func() result { return lib.sessionSystemDone(s.h) }); err != nil {
			return err
		}
	}
	for sec := groth16.SectionL; sec < groth16.NumSections; sec++ {
		l := lists[min(sec, groth16.SectionB1)] // b_g2 shares the lists of b_g1
		if err := step(func() result { return lib.sessionSection(s.h, int(sec), l) }); err != nil {
			return err
		}
	}
	return nil
}
