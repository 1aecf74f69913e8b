package cli

import (
	"errors"
	"fmt"
	"sync"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/gpu"
)

// opened are the devices of this process, for Close.
var opened struct {
	mu sync.Mutex
	ds []*gpu.Device
}

// cuda opens the first device. Without one it is an error if it must be there, else the reason is told and the CPU serves.
func cuda(must bool) ([]filgroth.NamedBackend, string, error) {
	d, err := gpu.Open(gpu.Options{})
	if err != nil {
		if must {
			return nil, "", fmt.Errorf("-backend cuda: %w", err)
		}
		if errors.Is(err, gpu.ErrNoLibrary) { // most machines; where it was looked for is told by gpu-info and -backend cuda
			return nil, "cpu (no CUDA library built here; examples/gpu-info tells more)", nil
		}
		return nil, fmt.Sprintf("cpu (no GPU: %v)", err), nil
	}
	opened.mu.Lock()
	defer opened.mu.Unlock()
	opened.ds = append(opened.ds, d)
	return []filgroth.NamedBackend{{Name: d.String(), Backend: d}}, fmt.Sprintf("cuda (%s: %s)", d, d.Info().Name), nil
}

// closeDevices gives the devices back once the engine is closed.
func closeDevices() {
	opened.mu.Lock()
	defer opened.mu.Unlock()
	for _, d := range opened.ds {
		_ = d.Close()
	}
	opened.ds = nil
}
