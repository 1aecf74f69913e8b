package gpu

import "fmt"

// Options choose a device and bound its use. The zero value is the first device, with the library where [Open] finds it.
type Options struct {
	// Library is the path of libfilgroth_cuda.so. Empty: beside the executable, else gpu/cuda/build in the module's
	// source tree above the working directory, else where the system's loader looks.
	Library string
	// Ordinal is the device's number as CUDA counts.
	Ordinal int
	// MemoryBudget bounds the bytes that are held on the device at any time, so that a small card can be imitated on a
	// big one; 0 is what is free.
	MemoryBudget int64
}

// Validate refuses values out of range with ErrConfig.
func (o Options) Validate() error {
	switch {
	case o.Ordinal < 0 || o.Ordinal >= maxDevices:
		return fmt.Errorf("%w: Ordinal = %d", ErrConfig, o.Ordinal)
	case o.MemoryBudget < 0:
		return fmt.Errorf("%w: MemoryBudget = %d", ErrConfig, o.MemoryBudget)
	}
	return nil
}

// String is what a benchmark line carries.
func (o Options) String() string {
	return fmt.Sprintf("device=%d,budget=%d", o.Ordinal, o.MemoryBudget)
}

const maxDevices = 64
