package main

import (
	"errors"
	"fmt"
	"sync"

	"github.com/filgroth/filgroth/gpu"
	"github.com/filgroth/filgroth/groth16"
)

// devices are the GPUs that a workload has opened, one for each memory budget. They stay open until the workload ends.
type devices struct {
	mu   sync.Mutex
	open map[int64]*gpu.Device
}

// get opens a device. What this machine lacks is groth16.ErrUnavailable.
func (d *devices) get(budget int64) (*gpu.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if dev := d.open[budget]; dev != nil {
		return dev, nil
	}
	dev, err := gpu.Open(gpu.Options{MemoryBudget: budget})
	if m := missing(err); m != nil {
		return nil, fmt.Errorf("%w: %w", groth16.ErrUnavailable, m)
	}
	if err != nil {
		return nil, err
	}
	if d.open == nil {
		d.open = map[int64]*gpu.Device{}
	}
	d.open[budget] = dev
	return dev, nil
}

// missing is what the machine lacks, without the paths where it was looked for, or nil if err is about something else.
func missing(err error) error {
	for _, m := range []error{gpu.ErrNoLibrary, gpu.ErrNoDriver, gpu.ErrNoDevice, gpu.ErrUnsupportedArch} {
		if errors.Is(err, m) {
			return m
		}
	}
	return nil
}

// held adds up what the devices hold.
func (d *devices) held() (h gpu.BytesHeld) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dev := range d.open {
		x := dev.Held()
		h.Device, h.DevicePeak, h.Pinned = max(h.Device, x.Device), max(h.DevicePeak, x.DevicePeak), max(h.Pinned, x.Pinned)
	}
	return h
}

func (d *devices) resetPeaks() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, dev := range d.open {
		dev.ResetPeak()
	}
}

func (d *devices) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, dev := range d.open {
		errs = append(errs, dev.Close())
	}
	d.open = nil
	return errors.Join(errs...)
}

// gpuEnvironment says which device and library there are.
func gpuEnvironment(e *Environment) {
	e.CUDALibrary = gpu.SourceDigest() + " (sources of this program)"
	r := gpu.Probe(gpu.Options{})
	if r.Err != nil {
		e.GPU = unavailable
		if m := missing(r.Err); m != nil {
			e.GPU += ": " + m.Error()
		}
		return
	}
	names := ""
	for _, x := range r.Devices {
		names += fmt.Sprintf("; %s, sm_%d%d, %s", x.Name, x.Major, x.Minor, bytesString(x.MemoryTotal))
	}
	e.GPU = names[min(2, len(names)):]
	if e.Driver == unavailable {
		e.Driver = fmt.Sprintf("CUDA %d.%d", r.Driver/1000, r.Driver%1000/10)
	}
	e.CUDALibrary = gpu.SourceDigest() + " (the library's sources, equal to the program's)"
}
