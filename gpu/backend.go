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

// Chunks of a streamed key: points that are staged at a time, if Config leaves it open, and the least that is tried.
const (
	defaultChunk = 1 << 22
	leastChunk   = 1 << 12
	// streamedCircuits is how many circuits share a pass over a streamed key, if Config leaves it open.
	streamedCircuits = 10
	// loadPoints is how many points one call converts: what cancellation waits for.
	loadPoints = 1 << 20
)

// Bind implements groth16.Backend: the system's tables, and the key if it fits the device and its budget, stay there as
// long as the session is open. Everything of Sums runs on the device; a sum in G2 elsewhere and the Pinning policies
// register-once and pool are groth16.ErrUnavailable, what the device has no room for is an *OutOfDeviceMemoryError. Host
// memory goes through a small ring of page-locked chunks; with PolicyNone through the driver's own staging, and with
// PolicyRegister the witness (and evaluations) of each circuit are page-locked while they are sent.
func (d *Device) Bind(ctx context.Context, sys *synth.System, key *groth16.ProvingKey, cfg groth16.Config) (groth16.Session, error) {
	if err := d.checkConfig(cfg); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := key.Retain(); err != nil {
		return nil, err
	}
	s := &session{d: d, sys: sys, key: key, cfg: cfg}
	d.sessions.Add(1)
	if err := s.bind(ctx); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

func (d *Device) checkConfig(cfg groth16.Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	unavailable := func(what string) error {
		return fmt.Errorf("%w: %v: %s", groth16.ErrUnavailable, d, what)
	}
	if p := cfg.B2.Place; p != groth16.PlaceAuto && p != groth16.PlaceDevice {
		return unavailable("the sum in G2 runs on the device")
	}
	switch cfg.Pinning.Policy {
	case pinning.PolicyAuto, pinning.PolicyRing, pinning.PolicyNone, pinning.PolicyRegister:
	default:
		return unavailable("pinning " + cfg.Pinning.Policy.String())
	}
	if cfg.Pinning.RingChunks != 0 {
		return unavailable("a ring of another length")
	}
	return nil
}

// bind plans, opens and fills the library's session.
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
	if s.c, err = s.plan(ctx, &lists); err != nil {
		return err
	}
	return s.fill(ctx, &lists)
}

// plan chooses between a resident and a streamed key, before anything is allocated.
func (s *session) plan(ctx context.Context, lists *[groth16.NumSections]*sectionLists) (sessionConfig, error) {
	w := s.cfg.Windows
	c := sessionConfig{sys: s.sys, log: s.log, hasSystem: s.cfg.Evaluate != groth16.PlaceHost, circuits: 1,
		direct:  s.cfg.Pinning.Policy == pinning.PolicyNone || s.cfg.Pinning.Policy == pinning.PolicyRegister,
		windows: [groth16.NumSections]int{w.H, w.L, w.A, w.B1, w.B2}}
	for sec := range c.counts {
		c.counts[sec] = s.key.Len(groth16.Section(sec))
	}
	c.tails = [groth16.NumSections]int{c.counts[0], len(lists[groth16.SectionL].valueAt), len(lists[groth16.SectionA].valueAt),
		len(lists[groth16.SectionB1].valueAt), len(lists[groth16.SectionB1].valueAt)}
	var last error
	if s.cfg.Key.Residence != groth16.ResidenceStreamed {
		c.resident = true
		if last = s.fits(ctx, c); last == nil {
			return c, nil
		}
		if !errors.Is(last, ErrOutOfDeviceMemory) || s.cfg.Key.Residence == groth16.ResidenceResident {
			return c, last
		}
		c.resident = false
	}
	circuits := s.cfg.CircuitsPerCall
	if circuits == 0 {
		circuits = streamedCircuits
	}
	chunks := []int{s.cfg.Key.ChunkPoints}
	if s.cfg.Key.ChunkPoints == 0 {
		chunks = nil
		for n := defaultChunk; n >= leastChunk; n /= 4 {
			chunks = append(chunks, n)
		}
	}
	for _, c.chunk = range chunks {
		for c.circuits = circuits; c.circuits >= 1; c.circuits /= 2 {
			if last = s.fits(ctx, c); last == nil || !errors.Is(last, ErrOutOfDeviceMemory) {
				return c, last
			}
		}
	}
	return c, last
}

// fits says whether a session of this configuration has room.
func (s *session) fits(ctx context.Context, c sessionConfig) error {
	return s.d.submit(ctx, func(*int32) error {
		b, r := s.d.lib.sessionPlan(s.d.h, &c)
		if err := r.err(s.d.opts.Ordinal); err != nil {
			return err
		}
		need := b.held + b.circuit*uint64(c.circuits) + b.leastArena
		if need > b.available {
			return &OutOfDeviceMemoryError{int64(need), int64(b.available), fmt.Sprintf("a session with %s needs %d bytes, %d are available",
				residence(c.resident), need, b.available)}
		}
		s.bytes = b
		return nil
	})
}

func residence(resident bool) string {
	if resident {
		return "a resident key"
	}
	return "a streamed key"
}

// fill opens the library's session and sends it the system, the lists and, if it stays there, the key.
func (s *session) fill(ctx context.Context, lists *[groth16.NumSections]*sectionLists) error {
	err := s.d.do(ctx, func(*int32) (r result) {
		s.h, r = s.d.lib.sessionOpen(s.d.h, &s.c)
		return r
	})
	if err != nil {
		return err
	}
	if s.c.hasSystem {
		if err := s.sendSystem(ctx); err != nil {
			return err
		}
	}
	lists[groth16.SectionB2] = lists[groth16.SectionB1]
	defer func() { lists[groth16.SectionB2] = nil }()
	for sec := groth16.SectionL; sec < groth16.NumSections; sec++ {
		if err := s.call(ctx, func(*int32) result { return s.d.lib.sessionSection(s.h, int(sec), lists[sec]) }); err != nil {
			return err
		}
	}
	if !s.c.resident {
		return nil
	}
	for sec := groth16.SectionH; sec < groth16.NumSections; sec++ {
		for at := 0; at < s.key.Len(sec); at += loadPoints {
			if err := s.load(ctx, sec, at, min(loadPoints, s.key.Len(sec)-at)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) sendSystem(ctx context.Context) error {
	if err := s.call(ctx, func(*int32) result { return s.d.lib.sessionSystem(s.h, s.sys) }); err != nil {
		return err
	}
	ts := s.sys.Templates()
	for i := range ts {
		if err := s.call(ctx, func(*int32) result { return s.d.lib.sessionTemplate(s.h, &ts[i]) }); err != nil {
			return err
		}
	}
	return s.call(ctx, func(*int32) result { return s.d.lib.sessionSystemDone(s.h) })
}
