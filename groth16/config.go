package groth16

import (
	"fmt"

	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/pinning"
)

// Place says where a stage runs.
type Place uint8

const (
	// PlaceAuto lets the backend choose.
	PlaceAuto Place = iota
	// PlaceHost is the host processor, however the backend schedules it (Evaluate only).
	PlaceHost
	// PlaceSequential is the host processor, after the other sums (B2 only).
	PlaceSequential
	// PlaceParallel is the host processor, beside the other sums (B2 only).
	PlaceParallel
	// PlaceDevice is the backend's device.
	PlaceDevice
)

var placeNames = [...]string{"auto", "host", "sequential", "parallel", "device"}

func (p Place) String() string {
	if int(p) < len(placeNames) {
		return placeNames[p]
	}
	return fmt.Sprintf("Place(%d)", uint8(p))
}

// ParsePlace reads what String writes.
func ParsePlace(s string) (Place, error) {
	for i, n := range placeNames {
		if s == n {
			return Place(i), nil
		}
	}
	return 0, fmt.Errorf("%w: place %q", ErrConfig, s)
}

// Residence says where a bound key's points are kept.
type Residence uint8

const (
	// ResidenceAuto lets the backend choose by size and budget.
	ResidenceAuto Residence = iota
	// ResidenceResident keeps all points in the backend's own form as long as the session lives.
	ResidenceResident
	// ResidenceStreamed converts the points chunk by chunk at every call.
	ResidenceStreamed
)

var residenceNames = [...]string{"auto", "resident", "streamed"}

func (r Residence) String() string {
	if int(r) < len(residenceNames) {
		return residenceNames[r]
	}
	return fmt.Sprintf("Residence(%d)", uint8(r))
}

// Windows are the window sizes in bits of the five sums (knob D4); 0 = choose.
type Windows struct{ H, L, A, B1, B2 int }

// B2Config places the sum in G2 (knob A4).
type B2Config struct {
	Place   Place
	Threads int // 0 = choose
}

// KeyConfig says how a backend holds the key's points.
type KeyConfig struct {
	Residence Residence
	// ChunkPoints is how many points are converted at a time when streamed; 0 = choose.
	ChunkPoints int
	// CacheDir, if not empty, is where the CPU backend may keep a native copy of keys below 4 GiB. It is the backend's own:
	// copies beyond CacheBytes and what killed processes left are removed when a new one is written.
	CacheDir string
	// CacheBytes bounds the copies in CacheDir: those that have not been opened for longest go first, never the newest. 0 is
	// 16 GiB, negative no bound.
	CacheBytes int64
}

// Config are the options of a proof; they choose how it is computed, never what. The zero value lets the backend choose.
// A value that the backend or machine cannot run is ErrUnavailable at Bind.
type Config struct {
	Windows Windows
	B2      B2Config
	// CircuitsPerCall is how many circuits ProveBatch hands to one Sums call, sharing a pass over a streamed key; 0 = choose.
	CircuitsPerCall int
	// Evaluate is where a, b, c are computed.
	Evaluate Place
	Pinning  pinning.Config
	Key      KeyConfig
	// Threads bounds the host threads of each stage; 0 = GOMAXPROCS.
	Threads int
	// CheckSatisfied checks the assignment against the system before proving, at the cost of one more evaluation. Without
	// it an unsatisfied assignment is found by the self-check, after the work.
	CheckSatisfied bool
	// SkipSelfCheck returns proofs that were not verified.
	SkipSelfCheck bool
}

// maxCircuitsPerCall bounds what a Config or a session may ask for.
const maxCircuitsPerCall = 1 << 16

// Validate refuses values out of range with ErrConfig.
func (c Config) Validate() error {
	for _, w := range []struct {
		name string
		bits int
	}{{"H", c.Windows.H}, {"L", c.Windows.L}, {"A", c.Windows.A}, {"B1", c.Windows.B1}, {"B2", c.Windows.B2}} {
		if w.bits != 0 && (w.bits < msm.MinWindowBits || w.bits > msm.MaxWindowBits) {
			return fmt.Errorf("%w: Windows.%s = %d, want 0 or %d to %d", ErrConfig, w.name, w.bits, msm.MinWindowBits, msm.MaxWindowBits)
		}
	}
	switch {
	case int(c.B2.Place) >= len(placeNames) || c.B2.Place == PlaceHost:
		return fmt.Errorf("%w: B2.Place = %v", ErrConfig, c.B2.Place)
	case int(c.Evaluate) >= len(placeNames) || c.Evaluate == PlaceSequential || c.Evaluate == PlaceParallel:
		return fmt.Errorf("%w: Evaluate = %v", ErrConfig, c.Evaluate)
	case int(c.Key.Residence) >= len(residenceNames):
		return fmt.Errorf("%w: Key.Residence = %v", ErrConfig, c.Key.Residence)
	case c.Key.ChunkPoints < 0 || c.Key.ChunkPoints > 1<<31:
		return fmt.Errorf("%w: Key.ChunkPoints = %d", ErrConfig, c.Key.ChunkPoints)
	case c.B2.Threads < 0 || c.B2.Threads > 1<<16:
		return fmt.Errorf("%w: B2.Threads = %d", ErrConfig, c.B2.Threads)
	case c.Threads < 0 || c.Threads > 1<<16:
		return fmt.Errorf("%w: Threads = %d", ErrConfig, c.Threads)
	case c.CircuitsPerCall < 0 || c.CircuitsPerCall > maxCircuitsPerCall:
		return fmt.Errorf("%w: CircuitsPerCall = %d", ErrConfig, c.CircuitsPerCall)
	}
	if err := c.Pinning.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return nil
}

// String is what a benchmark line carries.
func (c Config) String() string {
	return fmt.Sprintf("windows=%d/%d/%d/%d/%d b2=%v/%d circuits=%d evaluate=%v pinning=%v key=%v/%d threads=%d satisfied=%t selfcheck=%t",
		c.Windows.H, c.Windows.L, c.Windows.A, c.Windows.B1, c.Windows.B2, c.B2.Place, c.B2.Threads, c.CircuitsPerCall,
		c.Evaluate, c.Pinning, c.Key.Residence, c.Key.ChunkPoints, c.Threads, c.CheckSatisfied, !c.SkipSelfCheck)
}
