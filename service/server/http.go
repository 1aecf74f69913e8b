package server

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/filgroth/filgroth/service/journal"
	"github.com/filgroth/filgroth/span"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

//go:embed status.html
var statusHTML string

var statusPage = template.Must(template.New("status").Funcs(template.FuncMap{
	"bytes": func(v any) string { return sizeText(v) },
	"time":  func(d time.Duration) string { return shortTime(d) },
	"kind":  func(k int32) string { return cuzkv1.ProofKind(k).String() },
	"prio":  func(p int32) string { return cuzkv1.Priority(p).String() },
	"clock": func(t time.Time) string {
		if t.IsZero() {
			return "–"
		}
		return t.UTC().Format("2006-01-02 15:04:05")
	},
}).Parse(statusHTML))

// pages serves the status page, /metrics and /healthz.
func (s *Server) pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.Handle("GET /metrics", s.closed(promhttp.HandlerFor(s.queue.metrics.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})))
	mux.Handle("GET /{$}", s.closed(http.HandlerFunc(s.status)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

// closed asks for a token: as a bearer, or as a browser's password.
func (s *Server) closed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := bearer(r.Header.Get("Authorization"))
		if _, password, ok := r.BasicAuth(); ok {
			token = password
		}
		if !s.cfg.Credentials.allows(token) {
			s.queue.metrics.refused.WithLabelValues("token").Inc()
			w.Header().Set("WWW-Authenticate", `Basic realm="filgrothd"`)
			http.Error(w, "wrong token or none", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// healthz is 200 while jobs are accepted, else 503 with the reason.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	if bad := s.queue.Snapshot().Unhealthy(); bad != "" {
		http.Error(w, bad, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// page is what the template shows.
type page struct {
	Now     time.Time
	Uptime  time.Duration
	Trouble string
	Queue   *Snapshot
	Engine  filgroth.Status
	Memory  MemoryUse
	Devices []*cuzkv1.GPUStatus
	Keys    []keyRow
	Running []drawing
	Recent  []drawing
}

type keyRow struct {
	Circuit string
	filgroth.KeyInfo
}

// drawing is a job with its phases and their waterfall.
type drawing struct {
	journal.Record
	For       time.Duration
	Summary   []span.Summary
	Waterfall template.HTML
}

func (s *Server) status(w http.ResponseWriter, _ *http.Request) {
	q := s.queue.Snapshot()
	p := page{Now: time.Now(), Uptime: time.Since(s.calls.started), Trouble: q.Unhealthy(), Queue: q, Engine: s.queue.engine.Status(),
		Memory: ReadMemory(), Devices: s.calls.gpus(q)}
	if q.Pressed {
		p.Trouble = "memory is short: only CRITICAL jobs begin"
	}
	for _, k := range s.queue.engine.Keys() {
		p.Keys = append(p.Keys, keyRow{CircuitID(k.Kind, k.Size), k})
	}
	for _, r := range q.Running {
		p.Running = append(p.Running, draw(r.Record, untilNow(r), r.For))
	}
	for _, f := range s.queue.last() {
		p.Recent = append(p.Recent, draw(f.rec, f.spans, f.rec.Finished.Sub(f.rec.Started)))
	}
	var b bytes.Buffer
	if err := statusPage.Execute(&b, p); err != nil {
		s.cfg.Logger.Error("status page", "err", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

// untilNow lets open spans end now, so that they are drawn.
func untilNow(r Running) []span.Record {
	out := append([]span.Record(nil), r.Spans...)
	for i := range out {
		if out[i].Open {
			out[i].Open, out[i].End = false, max(r.Now, out[i].Start)
		}
	}
	return out
}

func draw(r journal.Record, spans []span.Record, d time.Duration) drawing {
	out := drawing{Record: r, For: d, Summary: span.Summarize(spans)}
	out.Proof = nil
	if r.Started.IsZero() {
		out.For = 0
	}
	if len(out.Summary) > 0 {
		var b bytes.Buffer
		if span.WriteSVG(&b, spans) == nil { // it escapes names itself
			out.Waterfall = template.HTML(b.String())
		}
	}
	return out
}

// last are the jobs that ended last, the latest first.
func (q *Queue) last() []*finished {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]*finished, 0, len(q.recent))
	for i := range q.recent {
		out = append(out, q.recent[len(q.recent)-1-i])
	}
	return out
}

func sizeText(v any) string {
	var n int64
	switch x := v.(type) {
	case int64:
		n = x
	case uint64:
		n = int64(min(x, 1<<62))
	case int:
		n = int64(x)
	}
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

func shortTime(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}
