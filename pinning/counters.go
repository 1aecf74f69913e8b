package pinning

import (
	"fmt"
	"sync"
	"time"
)

// Counters add up what calls of one kind cost.
type Counters struct {
	Calls       int64         `json:"calls"`
	Failed      int64         `json:"failed"`
	Bytes       int64         `json:"bytes"` // of the calls that succeeded
	Time        time.Duration `json:"time_ns"`
	MinorFaults int64         `json:"minor_faults"` // of the whole process meanwhile, where the system tells
}

func (c Counters) String() string {
	return fmt.Sprintf("%d calls (%d failed), %d bytes, %v, %d minor faults", c.Calls, c.Failed, c.Bytes, c.Time.Round(time.Microsecond), c.MinorFaults)
}

// meter counts calls.
type meter struct {
	mu sync.Mutex
	c  Counters
}

func (m *meter) measure(bytes int, f func() error) error {
	before, start := ReadUsage().MinorFaults, time.Now()
	err := f()
	took, faults := time.Since(start), ReadUsage().MinorFaults-before
	m.mu.Lock()
	defer m.mu.Unlock()
	m.c.Calls++
	m.c.Time += took
	m.c.MinorFaults += faults
	if err != nil {
		m.c.Failed++
		return err
	}
	m.c.Bytes += int64(bytes)
	return nil
}

func (m *meter) read() Counters {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.c
}

// allocs counts the buffers that AllocWith gave.
var allocs meter

// AllocCounters says what all calls of AllocWith cost since the start of the process: mapping, advice and, where it was asked for,
// touching every page. First touches later are not in them.
func AllocCounters() Counters { return allocs.read() }
