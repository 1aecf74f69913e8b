package filgroth

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
)

// Config are the options of an Engine. The zero value of each field means "choose for me"; Parameters (or
// DevelopmentKeys) is needed to prove or verify anything.
type Config struct {
	// Parameters is the directory of the deployed parameter files (v28-*.params, v28-*.vk).
	Parameters string
	// DevelopmentKeys makes the engine use keys from a published trapdoor, made at first use and kept under CacheDir, for
	// proving and verifying alike. Anyone can forge proofs under them. Never set it in production.
	DevelopmentKeys bool
	// CacheDir is where development keys are kept, and native copies of keys unless Prover.Key.CacheDir names another place;
	// empty is filgroth in the user's cache directory. Where there is none either, nothing is kept, and development keys are an error.
	CacheDir string
	// NoNativeKeys turns the copies off that the CPU backend keeps of keys up to 4 GiB, in its own form, under CacheDir: a key
	// of 1.1 GB opens in a quarter of a second instead of some four core-seconds. Prover.Key.CacheBytes bounds them.
	NoNativeKeys bool
	// SetupDevice, if set, makes the points of development keys: on a CPU those of 32 GiB sectors take an hour.
	SetupDevice groth16.FixedBase
	// CheckPoints makes every point of a parameter file be checked when it is opened (curve and subgroup).
	CheckPoints bool

	// Backends compute the sums, each a device with a queue of its own; none is the CPU.
	Backends []NamedBackend
	// Retries is how often a partition that failed on a backend by a fault that may pass goes back to it before it is left
	// to the others: a device that lost one kernel does the work again in a second, the CPU needs minutes for it. 0 is once,
	// negative never, 100 the most. Wrong results, panics and what the backend cannot run (groth16.ErrUnavailable and the like) are not tried
	// again there; an error with a method Transient() bool says so itself.
	Retries int
	// NoFallback makes a failure of all Backends an error instead of a run on the CPU.
	NoFallback bool
	// Prover is handed to every session.
	Prover groth16.Config

	// WorkersPerBackend is how many calls a backend gets at the same time. 0 lets each backend choose by a method CallsInFlight()
	// int (a GPU takes two: while one computes, the other's witness is sent and its proof assembled and verified); without it, 1.
	WorkersPerBackend int
	// PartitionsInFlight bounds the partitions that have a witness but no proof yet; 0 is one call more than the workers take
	// at a time, which grows when a backend is bound that shares a pass over a streamed key among many. Work of PriorityHigh and above
	// has as many places of its own.
	PartitionsInFlight int
	// HostMemory is the byte budget of witnesses and host buffers; 0 is four fifths of what the machine or its control
	// group allows. A partition that does not fit into it is an error at once. What the CPU takes where it stands in for a
	// failed device is compared with it, not reserved.
	HostMemory int64
	// WitnessIdle is how long the memory of a witness is kept after its use for the next one of the same circuit, within
	// HostMemory; 0 is a minute, negative keeps none.
	WitnessIdle time.Duration
	// KeyMemory bounds the bytes of keys and systems kept loaded while idle; 0 is half of HostMemory.
	KeyMemory int64
	// AgeingStep is the waiting time that raises a job's urgency by one priority; 0 is 30 s.
	AgeingStep time.Duration
	// Threads bounds the threads of witness generation; 0 is GOMAXPROCS.
	Threads int

	// Logger receives events; nil is silence.
	Logger *slog.Logger
	// Progress, if set, is called from several goroutines as work proceeds. It must return quickly.
	Progress func(Progress)

	// grows: PartitionsInFlight was left open.
	grows bool
	// forgeable lets Parameters hold development keys: the golden proofs of our tests are under such keys.
	forgeable bool
}

// NamedBackend is a backend with the name that reports and errors give it.
type NamedBackend struct {
	Name    string
	Backend groth16.Backend
}

// Progress is a step of a job.
type Progress struct {
	Kind  Kind
	Stage string // "key", "witness", "prove"
	// Done and Total count points for "key", partitions for the others.
	Done, Total int64
}

// Validate refuses values out of range with ErrConfig.
func (c Config) Validate() error {
	bad := func(field string, v any) error { return fmt.Errorf("%w: %s = %v", ErrConfig, field, v) }
	switch {
	case c.WorkersPerBackend < 0 || c.WorkersPerBackend > maxWorkers:
		return bad("WorkersPerBackend", c.WorkersPerBackend)
	case c.PartitionsInFlight < 0 || c.PartitionsInFlight > 1<<16:
		return bad("PartitionsInFlight", c.PartitionsInFlight)
	case c.HostMemory < 0:
		return bad("HostMemory", c.HostMemory)
	case c.KeyMemory < 0:
		return bad("KeyMemory", c.KeyMemory)
	case c.AgeingStep < 0:
		return bad("AgeingStep", c.AgeingStep)
	case c.Threads < 0 || c.Threads > 1<<16:
		return bad("Threads", c.Threads)
	case c.Retries > maxRetries:
		return bad("Retries", c.Retries)
	case c.NoFallback && len(c.Backends) == 0:
		return fmt.Errorf("%w: NoFallback without Backends", ErrConfig)
	}
	seen := map[string]bool{}
	for i, b := range c.Backends {
		if b.Backend == nil || b.Name == "" || b.Name == cpuName || seen[b.Name] {
			return fmt.Errorf("%w: Backends[%d]: needs a backend and a name of its own, not %q", ErrConfig, i, b.Name)
		}
		seen[b.Name] = true
	}
	if err := c.Prover.Validate(); err != nil {
		return fmt.Errorf("%w: Prover: %w", ErrConfig, err)
	}
	return nil
}

// cpuName is the name of the backend that needs no device.
const cpuName = "cpu"

// workers is how many calls b gets at the same time.
func (c *Config) workers(b groth16.Backend) int {
	if c.WorkersPerBackend > 0 {
		return c.WorkersPerBackend
	}
	if x, ok := b.(interface{ CallsInFlight() int }); ok {
		return min(max(1, x.CallsInFlight()), maxWorkers)
	}
	return 1
}

// maxWorkers and maxRetries bound what a Config, or a backend, may ask for.
const (
	maxWorkers = 64
	maxRetries = 100
)

// withDefaults fills in what was left open.
func (c Config) withDefaults() (Config, error) {
	if err := c.Validate(); err != nil {
		return c, err
	}
	if c.CacheDir == "" {
		dir, err := os.UserCacheDir()
		switch { // a folder of the system's for all users is no place for keys
		case err == nil:
			c.CacheDir = filepath.Join(dir, "filgroth")
		case c.DevelopmentKeys:
			return c, fmt.Errorf("%w: CacheDir is empty, and %w", ErrConfig, err)
		default:
			c.NoNativeKeys = true
		}
	}
	if c.PartitionsInFlight == 0 {
		workers := 0
		for _, b := range c.Backends {
			workers += c.workers(b.Backend)
		}
		c.PartitionsInFlight = max(1, c.WorkersPerBackend, workers)*max(1, c.Prover.CircuitsPerCall) + 1
		c.grows = true
	}
	if c.HostMemory == 0 {
		c.HostMemory = pinning.SystemMemory() / 5 * 4
		if c.HostMemory == 0 {
			c.HostMemory = 16 << 30
		}
	}
	if c.KeyMemory == 0 {
		c.KeyMemory = c.HostMemory / 2
	}
	if c.WitnessIdle == 0 {
		c.WitnessIdle = time.Minute
	}
	if c.Retries == 0 {
		c.Retries = 1
	}
	if c.AgeingStep == 0 {
		c.AgeingStep = 30 * time.Second
	}
	if c.Threads == 0 {
		c.Threads = runtime.GOMAXPROCS(0)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
