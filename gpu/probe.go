package gpu

import (
	"fmt"
	"strings"
)

// Report is what Probe finds, stage by stage.
type Report struct {
	// Library is the file, Architectures what it was compiled for.
	Library       string
	Architectures string
	// Driver and Runtime are CUDA versions, 1000*major + 10*minor.
	Driver, Runtime int
	Devices         []DeviceInfo
	// Err says why no device can be used; nil means that one can.
	Err error
}

// Usable says whether Open would succeed for some device.
func (r *Report) Usable() bool { return r.Err == nil }

// String tells a person what there is and why the GPU is or is not used.
func (r *Report) String() string {
	var b strings.Builder
	if r.Library != "" {
		fmt.Fprintf(&b, "library %s (built for %s)\n", r.Library, r.Architectures)
	}
	if r.Driver != 0 {
		fmt.Fprintf(&b, "driver CUDA %d.%d, runtime %d.%d\n", r.Driver/1000, r.Driver%1000/10, r.Runtime/1000, r.Runtime%1000/10)
	}
	for _, d := range r.Devices {
		fmt.Fprintf(&b, "device %d: %s, sm_%d%d, %d processors, %.1f of %.1f GiB free", d.Ordinal, d.Name, d.Major, d.Minor,
			d.Processors, gib(d.MemoryFree), gib(d.MemoryTotal))
		if !d.Supported {
			b.WriteString(", not supported by the library")
		}
		b.WriteByte('\n')
	}
	if r.Err != nil {
		fmt.Fprintf(&b, "GPU not used: %v", r.Err)
	} else {
		b.WriteString("GPU usable")
	}
	return b.String()
}

func gib(n int64) float64 { return float64(n) / (1 << 30) }

// Probe looks for the library, the driver and devices, in this order, and reports how far it came. It creates a CUDA
// context on each device while it asks for the memory.
func Probe(o Options) *Report {
	r := &Report{}
	if r.Err = o.Validate(); r.Err != nil {
		return r
	}
	path, _ := findLibrary(o.Library)
	lib, err := open(o.Library)
	if err != nil {
		r.Err = err
		return r
	}
	r.Library, r.Architectures = path, lib.architectures()
	r.Err = r.look(lib)
	return r
}

func (r *Report) look(lib native) error {
	driver, runtime, n, res := lib.versions()
	if err := res.err(-1); err != nil {
		return err
	}
	r.Driver, r.Runtime = driver, runtime
	var unsupported error
	usable := false
	for i := 0; i < n; i++ {
		info, res := lib.query(i)
		if err := res.err(i); err != nil {
			return err
		}
		r.Devices = append(r.Devices, info)
		if info.Supported {
			usable = true
		} else if unsupported == nil {
			unsupported = unsupportedArch(&info, r.Architectures)
		}
	}
	if !usable {
		return unsupported
	}
	return nil
}

func unsupportedArch(d *DeviceInfo, built string) error {
	return &DeviceError{ErrUnsupportedArch, d.Ordinal, fmt.Sprintf("%s is sm_%d%d, the library was built for %s: "+
		"make -C gpu/cuda ARCHS=\"%d%d\"", d.Name, d.Major, d.Minor, built, d.Major, d.Minor)}
}
