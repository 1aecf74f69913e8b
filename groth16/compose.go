package groth16

import (
	"context"
	"errors"
	"fmt"

	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
)

// Compose makes a backend of two engines: with those of the host it is the CPU backend; with others, mixed ones. The
// constraint system is evaluated on the host. A key's points are decoded once and kept (resident), or decoded chunk by
// chunk at each call (streamed); by default they are kept where they take no more than half of the memory that the
// process may use. Pinning is ignored, as it changes nothing for engines that take host slices.
func Compose(m msm.Engine, n ntt.Engine) Backend { return &composed{m, n} }

type composed struct {
	m msm.Engine
	n ntt.Engine
}

func (c *composed) String() string { return fmt.Sprintf("compose(%T, %T)", c.m, c.n) }

// composedSession is bound to a system and a key.
type composedSession struct {
	lifecycle
	m      msm.Engine
	n      ntt.Engine
	sys    *synth.System
	key    *ProvingKey
	cfg    Config
	domain ntt.Domain
	native *native // nil when streamed
	l      *gather
	a      *gather
	b      *gather
}

// chunkPoints is how many points are decoded at a time where a key is streamed: 96 MiB of G1.
const chunkPoints = 1 << 20

// Bind implements Backend.
func (c *composed) Bind(ctx context.Context, sys *synth.System, key *ProvingKey, cfg Config) (Session, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Evaluate == PlaceDevice {
		return nil, fmt.Errorf("%w: %v has no device to evaluate on", ErrUnavailable, c)
	}
	if cfg.B2.Place == PlaceDevice {
		return nil, fmt.Errorf("%w: %v has no device for the sum in G2", ErrUnavailable, c)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := key.Retain(); err != nil {
		return nil, err
	}
	s := &composedSession{lifecycle: lifecycle{what: "session"}, m: c.m, n: c.n, sys: sys, key: key, cfg: cfg}
	if err := s.bind(ctx); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

func (s *composedSession) bind(ctx context.Context) (err error) {
	if err := s.key.CheckSystem(ctx, s.sys); err != nil {
		return err
	}
	if s.domain, err = ntt.NewDomain(uint64(s.sys.DomainSize())); err != nil {
		return err
	}
	if s.l, err = newGather(s.sys, nil, nil); err != nil {
		return err
	}
	if s.a, err = newGather(s.sys, upTo(s.sys.Inputs()), s.sys.ADensity()); err != nil {
		return err
	}
	if s.b, err = newGather(s.sys, members(s.sys.BInputDensity()), s.sys.BDensity()); err != nil {
		return err
	}
	if s.cfg.Key.Residence == ResidenceAuto {
		s.cfg.Key.Residence = chooseResidence(s.nativeBytes(), availableMemory())
	}
	if s.cfg.Key.Residence == ResidenceResident {
		s.native, err = s.key.acquireNative(ctx, s.cfg.Key, s.cfg.Threads)
	}
	if s.cfg.Key.ChunkPoints == 0 {
		s.cfg.Key.ChunkPoints = chunkPoints
	}
	s.cfg.Key.ChunkPoints = (s.cfg.Key.ChunkPoints + 63) &^ 63
	return err
}

// chooseResidence keeps points that fit into half of what is available; 0 means not known.
func chooseResidence(bytes, available int64) Residence {
	if available > 0 && bytes > available/2 {
		return ResidenceStreamed
	}
	return ResidenceResident
}

func (s *composedSession) nativeBytes() (n int64) {
	for sec := SectionH; sec < SectionB2; sec++ {
		n += int64(s.key.Len(sec)) * int64(nativeG1)
	}
	return n + int64(s.key.Len(SectionB2))*int64(nativeG2)
}

func upTo(n int) []uint32 {
	v := make([]uint32, n)
	for i := range v {
		v[i] = uint32(i)
	}
	return v
}

func members(set []uint64) (v []uint32) {
	for i := range len(set) * 64 {
		if set[i>>6]>>(i&63)&1 == 1 {
			v = append(v, uint32(i))
		}
	}
	return v
}

// release gives back what bind took.
func (s *composedSession) release() error {
	var errs []error
	for _, g := range []*gather{s.l, s.a, s.b} {
		if g != nil {
			errs = append(errs, g.close())
		}
	}
	if s.native != nil {
		errs = append(errs, s.key.releaseNative())
	}
	return errors.Join(append(errs, s.key.Release())...)
}

// Close implements Session.
func (s *composedSession) Close() error {
	if err := s.close(); err != nil {
		return err
	}
	return s.release()
}

// Footprint implements Session: a, b, c in the quotient or the quotients with the chunk of a streamed key in the sums
// (resident circuits are done one after the other), and the scalars of the other sums. What the engines take for
// themselves while they run is theirs to say.
func (s *composedSession) Footprint(circuits int) pinning.Footprint {
	vector := 32 * int64(s.domain.Size())
	if circuits <= 0 {
		return pinning.Footprint{}
	}
	scalars := s.a.bytes() + s.b.bytes()
	if s.native != nil {
		return pinning.Footprint{Host: 3*vector + scalars}
	}
	longest := 0
	for sec := SectionH; sec < SectionB2; sec++ {
		longest = max(longest, s.key.Len(sec))
	}
	chunk := int64(min(s.cfg.Key.ChunkPoints, longest))*int64(nativeG1) +
		int64(min(s.cfg.Key.ChunkPoints, s.key.Len(SectionB2)))*int64(nativeG2)
	return pinning.Footprint{Host: (int64(circuits)+2)*vector + int64(circuits)*scalars + chunk}
}

// Held is the memory of the resident points, where they were not mapped from a cache file.
func (s *composedSession) Held() pinning.Footprint {
	if s.native == nil {
		return pinning.Footprint{}
	}
	return pinning.Footprint{Host: s.native.host}
}

// CircuitsPerCall is what this session would like to be given at once: where the key is streamed, up to ten circuits
// share a pass, as many as half of the memory at hand has room for; where it is resident nothing is gained.
func (s *composedSession) CircuitsPerCall() int {
	n := 1
	if s.native == nil {
		for room := availableMemory() / 2; n < 10 && (room == 0 || s.Footprint(n+1).Host <= room); n++ {
		}
	}
	return n
}

// Sums implements Session.
func (s *composedSession) Sums(ctx context.Context, assignments []*synth.Assignment) ([]Sums, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	for i, a := range assignments {
		if err := checkAssignment(s.sys, a); err != nil {
			return nil, fmt.Errorf("circuit %d: %w", i, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]Sums, len(assignments))
	step := 1
	if s.native == nil {
		step = max(1, len(assignments))
	}
	for i := 0; i < len(assignments); i += step {
		j := min(i+step, len(assignments))
		if err := s.together(ctx, assignments[i:j], out[i:j]); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, err
		}
	}
	return out, nil
}

func checkAssignment(sys *synth.System, a *synth.Assignment) error {
	switch {
	case a == nil:
		return fmt.Errorf("%w: no assignment", synth.ErrShape)
	case a.System() != sys:
		return fmt.Errorf("%w: the assignment is of another system", synth.ErrShape)
	case len(a.Inputs) != sys.Inputs() || len(a.Bits) != (sys.Aux()+63)/64 || len(a.Fields) != sys.Fields():
		return fmt.Errorf("%w: the assignment is closed or has other lengths", synth.ErrShape)
	case !a.Inputs[0].IsOne():
		return fmt.Errorf("%w: the first input is not one", synth.ErrShape)
	}
	if e := a.Eval; e != nil {
		n := sys.Constraints()
		if len(e.A) != n || len(e.B) != n || len(e.C) != n {
			return fmt.Errorf("%w: evaluations of %d, %d, %d rows, expected %d", synth.ErrShape, len(e.A), len(e.B), len(e.C), n)
		}
	}
	return nil
}

// bytesSpan starts a stage's span with the bytes it reads.
func bytesSpan(ctx context.Context, name string, bytes int64) (context.Context, *span.Span) {
	ctx, sp := span.Start(ctx, name)
	sp.AddBytes(bytes)
	return ctx, sp
}
