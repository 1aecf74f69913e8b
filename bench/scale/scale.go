// Package scale simulates many proving hosts under a node's scheduler: discrete events over measured stage times, to see where the
// next bottleneck is before the machines are bought.
package scale

import (
	"container/heap"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
)

// Stage times are seconds, measured on one host; see docs/scale.md for where they come from.
type Model struct {
	Hosts          int
	DevicesPerHost int
	CoresPerHost   int

	Partitions  int     // of one sector
	DecodeCPU   float64 // core-seconds to decode and check one sector's vanilla proof
	WitnessCPU  float64 // core-seconds to make the witness of one partition
	DeviceTime  float64 // device seconds for the sums of one partition
	FinishCPU   float64 // core-seconds to assemble and verify one partition's proof
	InputBytes  float64 // vanilla proof of one sector
	HostNetwork float64 // bytes a second that a host can receive
	Storage     float64 // bytes a second that all hosts together can fetch
	Poll        float64 // seconds between a host's looks at the scheduler's queue
	HostQueue   int     // sectors that a host takes at a time, the running ones included

	KeyBytes float64 // parameter file, fetched once by each host before it starts, from Storage

	SectorsPerDay float64 // arrivals, evenly spaced with jitter
	Horizon       float64 // seconds simulated
	Seed          uint64
}

// maxPerDay bounds what is simulated: a hundred times what the network seals.
const maxPerDay = 1e9

// Validate refuses models that mean nothing.
func (m *Model) Validate() error {
	for _, v := range []float64{m.DecodeCPU, m.WitnessCPU, m.DeviceTime, m.FinishCPU, m.Poll, m.InputBytes, m.KeyBytes, m.HostNetwork, m.Storage,
		m.SectorsPerDay, m.Horizon} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("scale: %v is no time, size or rate", v)
		}
	}
	switch {
	case m.Hosts < 1 || m.DevicesPerHost < 1 || m.CoresPerHost < 1 || m.Partitions < 1 || m.HostQueue < 1:
		return fmt.Errorf("scale: hosts, devices, cores, partitions and queue are at least 1")
	case m.DecodeCPU < 0 || m.WitnessCPU < 0 || m.DeviceTime <= 0 || m.FinishCPU < 0 || m.Poll <= 0 || m.InputBytes < 0 || m.KeyBytes < 0:
		return fmt.Errorf("scale: times and sizes are not negative, device time and poll are positive")
	case m.HostNetwork <= 0 || m.Storage <= 0 || m.SectorsPerDay <= 0 || m.Horizon <= 0:
		return fmt.Errorf("scale: rates and horizon are positive")
	case m.SectorsPerDay > maxPerDay:
		return fmt.Errorf("scale: %g sectors a day are more than %g", m.SectorsPerDay, maxPerDay)
	}
	return nil
}

// Result is what the simulation saw after the first tenth of the horizon.
type Result struct {
	Arrived, Done        int
	PerDay               float64 // sectors proved
	Latency50, Latency99 float64 // seconds from arrival to proof
	DeviceBusy           float64 // share
	CPUBusy              float64
	NetworkBusy          float64 // of the shared storage
	QueueAtEnd           int
	KeysLoaded           float64 // seconds until the last host had its key
	Bottleneck           string
}

type event struct {
	at  float64
	seq int
	do  func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}

// pool is a number of equal servers with a queue in order of arrival.
type pool struct {
	s     *sim
	free  int
	queue []func()
	busy  float64
	size  int
}

// use runs for a time on a server, then calls done.
func (p *pool) use(t float64, done func()) {
	start := func() {
		p.s.after(t, func() {
			if p.s.now >= p.s.warm {
				p.busy += min(t, p.s.now-p.s.warm)
			}
			p.free++
			if len(p.queue) > 0 {
				next := p.queue[0]
				p.queue = p.queue[1:]
				p.free--
				next()
			}
			done()
		})
	}
	if p.free > 0 {
		p.free--
		start()
		return
	}
	p.queue = append(p.queue, start)
}

type sim struct {
	m    *Model
	now  float64
	seq  int
	ev   events
	warm float64

	waiting []float64 // arrival times of sectors that no host has taken
	storage *pool     // one server of the shared rate
	hosts   []*host
	lat     []float64
	done    int
	arrived int
	keys    float64
}

type host struct {
	cpu, dev *pool
	running  int
	ready    bool
}

func (s *sim) after(t float64, f func()) {
	s.seq++
	heap.Push(&s.ev, event{s.now + t, s.seq, f})
}

// Run simulates m.
func Run(ctx context.Context, m Model) (Result, error) {
	if err := m.Validate(); err != nil {
		return Result{}, err
	}
	s := &sim{m: &m, warm: m.Horizon / 10}
	newPool := func(n int) *pool { return &pool{s: s, free: n, size: n} }
	s.storage = newPool(1)
	rng := rand.New(rand.NewPCG(m.Seed, 1))
	for range m.Hosts {
		h := &host{cpu: newPool(m.CoresPerHost), dev: newPool(m.DevicesPerHost)}
		s.hosts = append(s.hosts, h)
		s.fetch(m.KeyBytes, func() {
			h.ready = true
			s.keys = max(s.keys, s.now)
			s.after(rng.Float64()*m.Poll, func() { s.poll(h) })
		})
	}
	gap := 86400 / m.SectorsPerDay
	var arrive func()
	arrive = func() {
		s.waiting = append(s.waiting, s.now)
		if s.now >= s.warm {
			s.arrived++
		}
		s.after(gap*(0.5+rng.Float64()), arrive)
	}
	s.after(rng.Float64()*gap, arrive)
	for n := 0; len(s.ev) > 0 && s.ev[0].at <= m.Horizon; n++ {
		if n%(1<<12) == 0 && ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		e := heap.Pop(&s.ev).(event)
		s.now = e.at
		e.do()
	}
	s.now = m.Horizon
	return s.result(), nil
}

// fetch takes bytes over the shared storage, then over the host's own network.
func (s *sim) fetch(bytes float64, done func()) {
	s.storage.use(bytes/s.m.Storage, func() { s.after(bytes/s.m.HostNetwork, done) })
}

// poll is a host's look at the queue: it takes what it has room for.
func (s *sim) poll(h *host) {
	for h.running < s.m.HostQueue && len(s.waiting) > 0 {
		arrival := s.waiting[0]
		s.waiting = s.waiting[1:]
		h.running++
		s.fetch(s.m.InputBytes, func() { s.sector(h, arrival) })
	}
	s.after(max(s.m.Poll, 1e-3), func() { s.poll(h) })
}

// sector runs one sector through the host's stages.
func (s *sim) sector(h *host, arrival float64) {
	h.cpu.use(s.m.DecodeCPU, func() {
		left := s.m.Partitions
		for range s.m.Partitions {
			h.cpu.use(s.m.WitnessCPU, func() {
				h.dev.use(s.m.DeviceTime, func() {
					h.cpu.use(s.m.FinishCPU, func() {
						if left--; left == 0 {
							h.running--
							if s.now >= s.warm {
								s.done++
								s.lat = append(s.lat, s.now-arrival)
							}
						}
					})
				})
			})
		}
	})
}

func (s *sim) result() Result {
	span := s.m.Horizon - s.warm
	r := Result{Arrived: s.arrived, Done: s.done, PerDay: float64(s.done) * 86400 / span, QueueAtEnd: len(s.waiting), KeysLoaded: s.keys}
	for _, h := range s.hosts {
		r.DeviceBusy += h.dev.busy / (float64(h.dev.size) * span) / float64(len(s.hosts))
		r.CPUBusy += h.cpu.busy / (float64(h.cpu.size) * span) / float64(len(s.hosts))
	}
	r.NetworkBusy = s.storage.busy / span
	sort.Float64s(s.lat)
	if n := len(s.lat); n > 0 {
		r.Latency50, r.Latency99 = s.lat[n/2], s.lat[n*99/100]
	}
	switch {
	case r.PerDay >= 0.97*s.m.SectorsPerDay:
		r.Bottleneck = "none: keeps up"
	case r.NetworkBusy > 0.95:
		r.Bottleneck = "shared storage"
	case r.DeviceBusy > 0.95:
		r.Bottleneck = "devices"
	case r.CPUBusy > 0.95:
		r.Bottleneck = "host CPUs"
	default:
		r.Bottleneck = "scheduling: polling or host queue"
	}
	return r
}
