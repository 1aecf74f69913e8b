package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/filgroth/filgroth/pinning"
)

// Cost is what a phase took. Core-seconds are those of the whole process.
type Cost struct {
	Wall     float64 `json:"wall_s"`
	User     float64 `json:"user_core_s"`
	System   float64 `json:"system_core_s"`
	Minor    int64   `json:"minor_faults"`
	Major    int64   `json:"major_faults"`
	PeakRSS  int64   `json:"peak_rss_bytes"` // during the phase, mapped file pages counted; 0 if the system does not tell
	Counters Counts  `json:"counters"`
}

// Core is user and system together.
func (c Cost) Core() float64 { return c.User + c.System }

func (c Cost) String() string {
	return fmt.Sprintf("%8.3f s wall  %8.3f core-s (%.3f user, %.3f system)  %8d minor %d major faults  peak RSS %s",
		c.Wall, c.Core(), c.User, c.System, c.Minor, c.Major, bytesString(c.PeakRSS))
}

// measure runs f and says what it cost.
func measure(f func() error) (Cost, error) {
	resetPeak()
	counters := openCounters()
	before, start := pinning.ReadUsage(), time.Now()
	err := f()
	wall, after := time.Since(start), pinning.ReadUsage()
	return Cost{
		Wall: wall.Seconds(), User: float64(after.UserNanos-before.UserNanos) / 1e9,
		System: float64(after.SystemNanos-before.SystemNanos) / 1e9,
		Minor:  after.MinorFaults - before.MinorFaults, Major: after.MajorFaults - before.MajorFaults,
		PeakRSS: peakRSS(), Counters: counters.stop(),
	}, err
}

// resetPeak makes the system forget the peak resident size. Where it cannot, peaks are those since the start.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peakRSS is the peak since resetPeak.
func peakRSS() int64 {
	if v := procStatus("VmHWM:"); v > 0 {
		return v
	}
	return pinning.ReadUsage().PeakRSS
}

// residentBytes is the resident size now, 0 where unknown.
func residentBytes() int64 { return procStatus("VmRSS:") }

func procStatus(key string) int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, key); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest + " 0")[0], 10, 64)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}

// Sample is the resident size at a time since the monitor's start.
type Sample struct {
	Seconds float64 `json:"s"`
	RSS     int64   `json:"rss_bytes"`
}

// monitor samples memory while a run goes on.
type monitor struct {
	start   time.Time
	stop    chan struct{}
	done    sync.WaitGroup
	mu      sync.Mutex
	samples []Sample
}

// maxSamples bounds a record: then every second sample is dropped and the interval doubled.
const maxSamples = 512

func startMonitor(every time.Duration) *monitor {
	m := &monitor{start: time.Now(), stop: make(chan struct{})}
	m.done.Add(1)
	go func() {
		defer m.done.Done()
		timer := time.NewTimer(0)
		defer timer.Stop()
		for {
			select {
			case <-m.stop:
				return
			case <-timer.C:
			}
			m.mu.Lock()
			m.samples = append(m.samples, Sample{time.Since(m.start).Seconds(), residentBytes()})
			if len(m.samples) >= maxSamples {
				for i := range m.samples[:maxSamples/2] {
					m.samples[i] = m.samples[2*i]
				}
				m.samples = m.samples[:maxSamples/2]
				every *= 2
			}
			m.mu.Unlock()
			timer.Reset(every)
		}
	}()
	return m
}

// end stops the monitor and gives its samples.
func (m *monitor) end() []Sample {
	close(m.stop)
	m.done.Wait()
	return m.samples
}

func bytesString(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
