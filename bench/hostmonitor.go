package main

import (
	"time"

	"github.com/filgroth/filgroth/gpu"
)

// hostMonitor samples what counts as host memory: anonymous pages, and what the library page-locked, which the
// driver may keep elsewhere. Mapped key files are page cache and do not count, nor do those in a tmpfs, which the system calls shared memory.
type hostMonitor struct {
	stop chan struct{}
	peak chan int64
}

func startHostMonitor(ds []*gpu.Device) *hostMonitor {
	m := &hostMonitor{stop: make(chan struct{}), peak: make(chan int64, 1)}
	go func() {
		t := time.NewTicker(50 * time.Millisecond)
		defer t.Stop()
		var peak int64
		for {
			n := procStatus("RssAnon:")
			if len(ds) > 0 { // of the process, whichever device is asked
				n += ds[0].Held().Pinned
			}
			peak = max(peak, n)
			select {
			case <-t.C:
			case <-m.stop:
				m.peak <- peak
				return
			}
		}
	}()
	return m
}

func (m *hostMonitor) end() int64 {
	close(m.stop)
	return <-m.peak
}
