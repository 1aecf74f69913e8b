package pinning

import (
	"errors"
	"fmt"
)

// ErrConfig: a Config has a value out of range.
var ErrConfig = errors.New("pinning: bad config")

// Policy says which host memory is page-locked for a device, and when (knob B1). Host-only backends ignore it.
type Policy uint8

const (
	// PolicyAuto lets the backend choose.
	PolicyAuto Policy = iota
	// PolicyNone locks nothing: transfers go through the driver's own staging.
	PolicyNone
	// PolicyRegister locks the buffers of each proof and unlocks them after it, as the deployed prover's B1 did.
	PolicyRegister
	// PolicyRegisterOnce locks long-lived buffers at their first use and keeps them locked.
	PolicyRegisterOnce
	// PolicyPool takes the buffers of a proof from a pool of memory that is locked already.
	PolicyPool
	// PolicyRing locks a small ring of chunks that everything is copied through.
	PolicyRing
)

var policyNames = [...]string{"auto", "none", "register", "register-once", "pool", "ring"}

func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}

// ParsePolicy reads what String writes.
func ParsePolicy(s string) (Policy, error) {
	for i, n := range policyNames {
		if s == n {
			return Policy(i), nil
		}
	}
	return 0, fmt.Errorf("%w: policy %q", ErrConfig, s)
}

// Config are the options of page-locking; the zero value lets the backend choose.
type Config struct {
	Policy Policy
	// ChunkBytes bounds one registration, or is the size of a ring's chunk; 0 = choose.
	ChunkBytes int64
	// RingChunks is the number of chunks of a ring; 0 = choose.
	RingChunks int
	// Node is the memory node of a pool or ring: best that of the device's PCI slot (NodeOfPCI).
	Node Node
}

// Validate refuses values out of range.
func (c Config) Validate() error {
	switch {
	case int(c.Policy) >= len(policyNames):
		return fmt.Errorf("%w: Policy = %d", ErrConfig, c.Policy)
	case c.ChunkBytes < 0:
		return fmt.Errorf("%w: ChunkBytes = %d", ErrConfig, c.ChunkBytes)
	case c.RingChunks < 0 || c.RingChunks > 1<<16:
		return fmt.Errorf("%w: RingChunks = %d", ErrConfig, c.RingChunks)
	case c.Node > maxNode+1:
		return fmt.Errorf("%w: Node = %d", ErrConfig, c.Node)
	}
	return nil
}

func (c Config) String() string {
	return fmt.Sprintf("%v,chunk=%d,ring=%d,node=%v", c.Policy, c.ChunkBytes, c.RingChunks, c.Node)
}

// Footprint is the memory that a piece of work takes while it runs, in bytes.
type Footprint struct {
	Host   int64 // pageable host memory, mapped files not counted
	Pinned int64 // page-locked host memory
	Device int64
}

// Plus adds two footprints.
func (f Footprint) Plus(g Footprint) Footprint {
	return Footprint{f.Host + g.Host, f.Pinned + g.Pinned, f.Device + g.Device}
}

func (f Footprint) String() string {
	return fmt.Sprintf("host %d, pinned %d, device %d bytes", f.Host, f.Pinned, f.Device)
}
