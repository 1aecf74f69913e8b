package server

import (
	"bytes"
	"time"

	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/filgroth/filgroth/service/journal"
	"github.com/filgroth/filgroth/span"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
)

// metrics are the daemon's; counters only ever grow while the process lives.
type metrics struct {
	registry            *prometheus.Registry
	jobs                *prometheus.CounterVec
	joined, busy        prometheus.Counter
	refused             *prometheus.CounterVec
	wait, total         *prometheus.HistogramVec
	phase               *prometheus.CounterVec
	completed, failures uint64 // guarded by Queue.mu
}

func newMetrics(q *Queue) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "filgroth_jobs_total", Help: "Jobs that have ended, by kind and state."},
			[]string{"kind", "state"}),
		joined:  prometheus.NewCounter(prometheus.CounterOpts{Name: "filgroth_joined_total", Help: "Submissions answered by a job that was there."}),
		busy:    prometheus.NewCounter(prometheus.CounterOpts{Name: "filgroth_busy_total", Help: "Submissions refused because queue or spool was full."}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "filgroth_refused_total", Help: "Calls refused at the door, by reason."}, []string{"reason"}),
		wait: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "filgroth_queue_wait_seconds", Help: "Time from submission to begin.",
			Buckets: prometheus.ExponentialBuckets(0.01, 4, 10)}, []string{"kind"}),
		total: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "filgroth_proof_seconds", Help: "Time from begin to end of completed jobs.",
			Buckets: prometheus.ExponentialBuckets(0.1, 2, 14)}, []string{"kind"}),
		phase: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "filgroth_phase_seconds_total", Help: "Wall time of the phases of jobs, by lane."},
			[]string{"phase", "lane"}),
	}
	m.registry.MustRegister(m.jobs, m.joined, m.busy, m.refused, m.wait, m.total, m.phase, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &gauges{q})
	for _, k := range kinds { // so that they are there from the first scrape
		for _, s := range []journal.State{journal.Completed, journal.Failed, journal.Cancelled} {
			m.jobs.WithLabelValues(k.String(), s.String())
		}
	}
	return m
}

// finished counts a job that has ended. Queue.mu is held.
func (m *metrics) finished(r journal.Record, spans []span.Record) {
	kind := cuzkv1.ProofKind(r.Kind).String()
	m.jobs.WithLabelValues(kind, r.State.String()).Inc()
	switch r.State {
	case journal.Completed:
		m.completed++
		m.total.WithLabelValues(kind).Observe(r.Finished.Sub(r.Started).Seconds())
	case journal.Failed:
		m.failures++
	}
	if !r.Started.IsZero() {
		m.wait.WithLabelValues(kind).Observe(r.Times.Wait.Seconds())
	}
	for _, s := range span.Summarize(spans) {
		m.phase.WithLabelValues(s.Name, s.Lane).Add(s.Wall.Seconds())
	}
}

// text is all metrics in the text format.
func (m *metrics) text() (string, error) {
	families, err := m.registry.Gather()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// gauges reads the queue and the engine at each scrape.
type gauges struct{ q *Queue }

var (
	descQueued   = prometheus.NewDesc("filgroth_queued", "Jobs that wait.", []string{"kind"}, nil)
	descRunning  = prometheus.NewDesc("filgroth_running", "Jobs at work.", []string{"kind"}, nil)
	descSpool    = prometheus.NewDesc("filgroth_spool_bytes", "Requests of unfinished jobs on disk.", nil, nil)
	descJournal  = prometheus.NewDesc("filgroth_journal_bytes", "Size of the journal.", nil, nil)
	descHealthy  = prometheus.NewDesc("filgroth_healthy", "1 if /healthz says so.", nil, nil)
	descHostUsed = prometheus.NewDesc("filgroth_host_memory_bytes", "Host memory reserved for proofs at work.", nil, nil)
	descHostAll  = prometheus.NewDesc("filgroth_host_memory_limit_bytes", "Budget of host memory.", nil, nil)
	descKey      = prometheus.NewDesc("filgroth_key_bytes", "Memory held for a loaded circuit.", []string{"circuit"}, nil)
	descProofs   = prometheus.NewDesc("filgroth_backend_proofs_total", "Partitions proved by a backend.", []string{"backend"}, nil)
	descFailed   = prometheus.NewDesc("filgroth_backend_failures_total", "Partitions that a backend failed on.", []string{"backend"}, nil)
	descWorking  = prometheus.NewDesc("filgroth_backend_busy_seconds_total", "Time a backend spent in calls.", []string{"backend"}, nil)
)

func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descQueued, descRunning, descSpool, descJournal, descHealthy, descHostUsed, descHostAll, descKey, descProofs, descFailed, descWorking} {
		ch <- d
	}
}

func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	s := g.q.Snapshot()
	for _, k := range s.Kinds {
		gauge(descQueued, float64(k.Pending), k.Kind.String())
		gauge(descRunning, float64(k.Running), k.Kind.String())
	}
	gauge(descSpool, float64(s.Spooled))
	gauge(descJournal, float64(s.Journal))
	healthy := 1.0
	if s.Unhealthy() != "" {
		healthy = 0
	}
	gauge(descHealthy, healthy)
	e := g.q.engine.Status()
	gauge(descHostUsed, float64(e.Host.Used))
	gauge(descHostAll, float64(e.Host.Total))
	for _, k := range g.q.engine.Keys() {
		gauge(descKey, float64(k.Bytes), CircuitID(k.Kind, k.Size))
	}
	for _, b := range e.Backends {
		for d, v := range map[*prometheus.Desc]float64{descProofs: float64(b.Proofs), descFailed: float64(b.Failed), descWorking: b.Working.Seconds()} {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, b.Name)
		}
	}
}

// KindLoad is how many jobs of a kind wait and run.
type KindLoad struct {
	Kind             cuzkv1.ProofKind
	Pending, Running int
}

// Running is a job at work.
type Running struct {
	Record journal.Record
	Spans  []span.Record
	For    time.Duration
	Now    time.Duration // on the time line of Spans
}

// Snapshot is a queue at one moment.
type Snapshot struct {
	Kinds             []KindLoad
	Waiting           []journal.Record // the next to begin first
	Running           []Running        // by acceptance
	Completed, Failed uint64
	Spooled, Journal  int64
	Stopping, Pressed bool
	Broken            error
}

// Unhealthy says what is wrong; empty is nothing.
func (s *Snapshot) Unhealthy() string {
	switch {
	case s.Stopping:
		return "stopping"
	case s.Broken != nil:
		return "the journal cannot be written: " + s.Broken.Error()
	}
	return ""
}

// Snapshot reads the queue.
func (q *Queue) Snapshot() *Snapshot {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	s := &Snapshot{Completed: q.metrics.completed, Failed: q.metrics.failures, Spooled: q.spooled, Stopping: q.stopping,
		Pressed: q.pressed, Broken: q.broken, Journal: q.journal.Bytes()}
	at := map[cuzkv1.ProofKind]int{}
	for i, k := range kinds {
		at[k] = i
		s.Kinds = append(s.Kinds, KindLoad{Kind: k})
	}
	for _, j := range q.order() {
		s.Kinds[at[j.kind()]].Pending++
		s.Waiting = append(s.Waiting, j.rec)
	}
	for j := range q.running {
		s.Kinds[at[j.kind()]].Running++
		r := Running{Record: j.rec, For: now.Sub(j.rec.Started)}
		if j.spans != nil {
			r.Spans, r.Now = j.spans.Records(), time.Since(j.spans.Epoch())
		}
		s.Running = append(s.Running, r)
	}
	sortRunning(s.Running)
	return s
}
