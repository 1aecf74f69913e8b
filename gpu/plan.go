package gpu

import (
	"context"
	"errors"
	"fmt"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
)

// Ranges of a streamed key: points of G1 that are staged at a time, if Config leaves it open, and the least that is tried.
const (
	defaultChunk = 1 << 23
	goodChunk    = 1 << 20 // below it, fewer circuits a call are tried first
	leastChunk   = 1 << 12
	// streamedCircuits is how many circuits share a pass over a streamed key, if Config leaves it open.
	streamedCircuits = 10
	// passQuotients is how many quotients at most share a pass over section h: more do not make it faster, since the sums
	// over a range take longer than sending the next.
	passQuotients = 4
	// loadPoints is how many points of a resident key one call converts: what cancellation waits for.
	loadPoints = 1 << 20
	// fetchBytes is how much of a streamed key is read and sent at a time.
	fetchBytes = 128 << 20
)

// plan chooses how the session works from the bytes that are free, before anything is allocated. c is what all candidates
// have in common. For the device's thread.
func (s *session) plan(ctx context.Context, c sessionConfig) error {
	err := error(fmt.Errorf("%w: no plan", groth16.ErrUnavailable))
	for c := range s.candidates(c) {
		if s.d.choose != nil && !s.d.choose(&c) {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.bytes, err = s.d.fits(&c)
		if err == nil || !errors.Is(err, ErrOutOfDeviceMemory) {
			s.c = c
			return err
		}
	}
	return err
}

// shape is what all candidates have in common.
func (s *session) shape(lists *[groth16.NumSections]*sectionLists) sessionConfig {
	w := s.cfg.Windows
	system := s.cfg.Evaluate != groth16.PlaceHost
	c := sessionConfig{shape: shapeOf(s.sys, system), log: s.log, hasSystem: system,
		windows: [groth16.NumSections]int{w.H, w.L, w.A, w.B1, w.B2}}
	switch s.cfg.Pinning.Policy {
	case pinning.PolicyAuto, pinning.PolicyRing:
		c.ringPiece, c.ringPieces = s.cfg.Pinning.ChunkBytes, s.cfg.Pinning.RingChunks
	case pinning.PolicyNone:
		c.keyMemory, c.witnessMemory = fromPlace, fromPlace
	case pinning.PolicyRegister, pinning.PolicyRegisterOnce:
		c.witnessMemory = fromPlace
	case pinning.PolicyPool:
		c.witnessMemory = throughPool
	}
	for sec := range c.counts {
		c.counts[sec] = s.key.Len(groth16.Section(sec))
	}
	b := len(lists[groth16.SectionB1].valueAt)
	c.tails = [groth16.NumSections]int{c.counts[0], len(lists[groth16.SectionL].valueAt), len(lists[groth16.SectionA].valueAt), b, b}
	if s.hostB2() {
		c.counts[groth16.SectionB2], c.tails[groth16.SectionB2] = 0, 0
	}
	return c
}

// candidates yields the plans, the best first. A resident key before a streamed one, with room for the witness of the next
// call if possible. Of streamed ones those with many circuits a call, then as shared has it, and last the quotient in four
// vectors before two. Small ranges are worse than anything.
func (s *session) candidates(c sessionConfig) func(yield func(sessionConfig) bool) {
	low := [...]bool{false, true}
	return func(yield func(sessionConfig) bool) {
		if s.cfg.Key.Residence != groth16.ResidenceStreamed {
			c.resident, c.circuits, c.quotients = true, 1, 1
			for _, c.lowMemory = range low {
				for _, c.slots = range []int{2, 1} {
					if !yield(c) {
						return
					}
				}
			}
			if s.cfg.Key.Residence == groth16.ResidenceResident {
				return
			}
		}
		c.resident = false
		for _, chunks := range s.chunks() {
			for c.circuits = s.streamCircuits(); c.circuits >= 1; c.circuits /= 2 {
				c.slots = c.circuits
				for c := range shared(c, chunks) {
					for _, c.lowMemory = range low {
						if !yield(c) {
							return
						}
					}
				}
			}
		}
	}
}

// shared yields ranges and numbers of quotients that share a pass over section h. Large ranges come before many quotients,
// but two quotients before anything with one: then the pass waits for the key.
func shared(c sessionConfig, chunks [][groth16.NumSections]int) func(yield func(sessionConfig) bool) {
	most := min(c.circuits, passQuotients)
	return func(yield func(sessionConfig) bool) {
		for _, q := range [][2]int{{most, 2}, {1, 1}} {
			for _, c.chunks = range chunks {
				for c.quotients = q[0]; c.quotients >= q[1]; c.quotients-- {
					if !yield(c) {
						return
					}
				}
			}
		}
	}
}

func (s *session) streamCircuits() int {
	if n := s.cfg.CircuitsPerCall; n != 0 {
		return n
	}
	return streamedCircuits
}

// chunks are the points of a range for each section: the sizes to be tried, and those to be tried if none of them
// fits. Points of G2 are twice as large, so that half as many fill the same room.
func (s *session) chunks() [][][groth16.NumSections]int {
	all := func(g1, g2 int) [groth16.NumSections]int {
		return [groth16.NumSections]int{g1, g1, g1, g1, g2}
	}
	if n := s.cfg.Key.ChunkPoints; n != 0 {
		return [][][groth16.NumSections]int{{all(n, n)}}
	}
	var large, small [][groth16.NumSections]int
	for n := defaultChunk; n >= leastChunk; n /= 2 {
		if n >= goodChunk {
			large = append(large, all(n, n/2))
		} else {
			small = append(small, all(n, n/2))
		}
	}
	return [][][groth16.NumSections]int{large, small}
}

// fits says whether a session of this configuration has room, with enough left for the scratch memory of those that are
// open. For the device's thread.
func (d *Device) fits(c *sessionConfig) (sessionBytes, error) {
	b, r := d.lib.sessionPlan(d.h, c)
	if err := r.err(d.opts.Ordinal); err != nil {
		return b, err
	}
	promised := d.promised()
	need := b.held + b.circuit*uint64(c.slots) + max(b.leastArena, promised)
	if need <= b.available {
		return b, nil
	}
	what := "a streamed key"
	if c.resident {
		what = "a resident key"
	}
	if promised > b.leastArena {
		what += " beside those that are open"
	}
	return b, &OutOfDeviceMemoryError{int64(need), int64(b.available), fmt.Sprintf("a session with %s needs %d bytes, %d are available",
		what, need, b.available)}
}
