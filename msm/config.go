package msm

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Limits of Config's fields.
const (
	MinWindowBits = 2
	MaxWindowBits = 22
	MaxPassPoints = 1 << 26
)

// ErrConfig is what errors about a [Config] value are.
var ErrConfig = errors.New("msm: bad config")

// ErrUnavailable is what errors about a [Config] that this machine cannot run are.
var ErrUnavailable = errors.New("msm: unavailable on this machine")

// Kernel names an implementation of the point additions.
type Kernel uint8

const (
	KernelAuto    Kernel = iota // the fastest that the machine has
	KernelGeneric               // gnark-crypto's field arithmetic, any machine
	KernelIFMA                  // eight lanes of AVX-512 IFMA, amd64 only
)

var kernelNames = [...]string{"auto", "generic", "ifma"}

func (k Kernel) String() string {
	if int(k) < len(kernelNames) {
		return kernelNames[k]
	}
	return "Kernel(" + strconv.Itoa(int(k)) + ")"
}

// Config chooses how a sum is computed, never its value. The zero value lets the
// engine choose everything. An engine that has no use for a field ignores it.
type Config struct {
	// WindowBits is the size of Pippenger's signed windows (knob D4). Only scalars other
	// than 0 and 1 go through windows.
	WindowBits int
	// Threads bounds the goroutines at work; 0 means GOMAXPROCS. CPU engines only.
	Threads int
	// PassPoints bounds how many points with scalars go through the windows together;
	// scratch memory is some 70 bytes for each. CPU engines only.
	PassPoints int
	// Kernel is KernelAuto unless two implementations are to be compared. CPU engines only.
	Kernel Kernel
}

// Validate returns an error that is ErrConfig if a field is out of range.
func (c Config) Validate() error {
	switch {
	case c.WindowBits != 0 && (c.WindowBits < MinWindowBits || c.WindowBits > MaxWindowBits):
		return fmt.Errorf("%w: WindowBits %d: want 0 or %d to %d", ErrConfig, c.WindowBits, MinWindowBits, MaxWindowBits)
	case c.Threads < 0:
		return fmt.Errorf("%w: Threads %d is negative", ErrConfig, c.Threads)
	case c.PassPoints < 0 || c.PassPoints > MaxPassPoints:
		return fmt.Errorf("%w: PassPoints %d: want 0 to %d", ErrConfig, c.PassPoints, MaxPassPoints)
	case int(c.Kernel) >= len(kernelNames):
		return fmt.Errorf("%w: %v", ErrConfig, c.Kernel)
	}
	return nil
}

// String writes c as Parse reads it: key=value parts joined by commas, all fields.
func (c Config) String() string {
	return fmt.Sprintf("window=%d,threads=%d,pass=%d,kernel=%v", c.WindowBits, c.Threads, c.PassPoints, c.Kernel)
}

// Parse reads what String writes; parts may be missing. The result is validated.
func Parse(s string) (Config, error) {
	var c Config
	for _, part := range strings.Split(s, ",") {
		if part == "" {
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "window":
			c.WindowBits, err = strconv.Atoi(value)
		case "threads":
			c.Threads, err = strconv.Atoi(value)
		case "pass":
			c.PassPoints, err = strconv.Atoi(value)
		case "kernel":
			c.Kernel, err = parseKernel(value)
		default:
			err = errors.New("no such key")
		}
		if err != nil {
			return Config{}, fmt.Errorf("%w: %q: %w", ErrConfig, part, err)
		}
	}
	return c, c.Validate()
}

func parseKernel(s string) (Kernel, error) {
	for i, name := range kernelNames {
		if s == name {
			return Kernel(i), nil
		}
	}
	return 0, errors.New("want auto, generic or ifma")
}

// scalarBits is enough for the absolute value of any scalar taken in (-r/2, r/2].
const scalarBits = 254

// windowCount is how many signed windows of c bits cover a scalar: one spare bit takes
// the last carry.
func windowCount(c int) int { return (scalarBits + c) / c }

// chooseWindow minimises the number of additions: n in each window, and some two a
// bucket to weigh the buckets, with a fixed cost for each window.
func chooseWindow(n int) int {
	best, bestCost := MinWindowBits, 0.0
	for c := MinWindowBits; c <= 18; c++ {
		buckets := float64(uint64(1) << (c - 1))
		cost := float64(windowCount(c)) * (float64(n) + 2.2*buckets + 8*float64(bits.Len(uint(n))))
		if c == MinWindowBits || cost < bestCost {
			best, bestCost = c, cost
		}
	}
	return best
}
