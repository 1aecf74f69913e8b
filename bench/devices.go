package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/gpu"
)

// openDevices opens the first n CUDA devices, each with a memory budget (0: what is free).
func openDevices(n int, memory int64) ([]*gpu.Device, error) {
	var out []*gpu.Device
	for i := range n {
		d, err := gpu.Open(gpu.Options{Ordinal: i, MemoryBudget: memory})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("device %d: %w", i, err), closeDevices(out))
		}
		out = append(out, d)
	}
	return out, nil
}

func closeDevices(ds []*gpu.Device) error {
	var errs []error
	for _, d := range ds {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

func named(ds []*gpu.Device) []filgroth.NamedBackend {
	var out []filgroth.NamedBackend
	for _, d := range ds {
		out = append(out, filgroth.NamedBackend{Name: d.String(), Backend: d})
	}
	return out
}

// byteSize is a flag such as 24GiB.
type byteSize int64

func (b *byteSize) String() string { return bytesString(int64(*b)) }

func (b *byteSize) Set(s string) error {
	unit := int64(1)
	for suffix, u := range map[string]int64{"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = rest, u
			break
		}
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v < 0 || v > (1<<62)/unit {
		return fmt.Errorf("%q is no size: want a number of bytes, or of KiB, MiB, GiB", s)
	}
	*b = byteSize(v * unit)
	return nil
}
