// Package span records what a computation spent its time on.
//
// A [Recorder] travels in a context. Code that does a nameable piece of work
// brackets it:
//
//	ctx, s := span.Start(ctx, "msm.h", span.Int("points", n))
//	defer s.End()
//	s.SetLane("gpu0")
//	s.AddBytes(int64(len(buf)))
//
// Without a recorder in the context (and without runtime/trace running) Start
// returns a nil *Span, whose methods do nothing: the cost is one context
// lookup. Phases of a proof are worth a span, iterations of a loop are not.
//
// The records are plain data ([Record]); [WriteChromeTrace] and [WriteSVG]
// draw them, [Summarize] makes the table of phases. This is no metrics or
// distributed tracing system: nothing leaves the process.
package span

import (
	"context"
	"fmt"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultLane is the lane of a span that has none of its own and no parent.
const DefaultLane = "cpu"

// DefaultLimit is how many records a Recorder keeps unless it was told otherwise.
const DefaultLimit = 1 << 16

// Attr is a named value attached to a span.
type Attr struct {
	Key   string
	Value any
}

// Int makes an Attr of an integer.
func Int(key string, v int) Attr { return Attr{key, v} }

// String makes an Attr of a string.
func String(key, v string) Attr { return Attr{key, v} }

// Stringer makes an Attr of anything that prints itself; it is printed only if recorded.
func Stringer(key string, v fmt.Stringer) Attr { return Attr{key, v} }

// Record is one span as data. Start and End count from the recorder's epoch.
type Record struct {
	ID     int // position in order of start, from 1
	Parent int // ID of the enclosing span, 0 if none
	Name   string
	Lane   string // where it ran: "cpu", "gpu0", "disk", ...
	Start  time.Duration
	End    time.Duration // meaningless while Open
	Bytes  int64         // bytes moved, as reported by AddBytes
	Attrs  []Attr
	Open   bool // not ended yet
}

// Duration is End - Start, or 0 while the span is open.
func (r Record) Duration() time.Duration {
	if r.Open {
		return 0
	}
	return r.End - r.Start
}

// Recorder collects records. It is safe for concurrent use.
type Recorder struct {
	epoch time.Time
	limit int

	mu      sync.Mutex
	records []Record
	dropped int
	listen  func(Record)
}

// NewRecorder returns a recorder whose epoch is now and which keeps DefaultLimit records.
func NewRecorder() *Recorder { return NewRecorderLimit(DefaultLimit) }

// NewRecorderLimit is NewRecorder with another limit; further spans are only counted.
func NewRecorderLimit(limit int) *Recorder {
	return &Recorder{epoch: time.Now(), limit: limit}
}

// Listen sets a function called at the start (Open) and at the end of each span,
// for progress displays. Calls come from the goroutines that start and end spans,
// one at a time, and hold them up: return quickly, and do not use the recorder.
// A nil function stops it.
func (r *Recorder) Listen(fn func(Record)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listen = fn
}

// Epoch is the instant that the records' times count from.
func (r *Recorder) Epoch() time.Time { return r.epoch }

// Records returns a copy of what was recorded so far, in order of start.
func (r *Recorder) Records() []Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Record, len(r.records))
	copy(out, r.records)
	for i := range out {
		out[i].Attrs = append([]Attr(nil), out[i].Attrs...)
	}
	return out
}

// Dropped is the number of spans that came after the limit was reached.
func (r *Recorder) Dropped() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

type recorderKey struct{}
type spanKey struct{}

// With returns a context that carries rec. A nil rec turns recording off below it.
func With(ctx context.Context, rec *Recorder) context.Context {
	return context.WithValue(ctx, recorderKey{}, rec)
}

// From returns the recorder that ctx carries, or nil.
func From(ctx context.Context) *Recorder {
	rec, _ := ctx.Value(recorderKey{}).(*Recorder)
	return rec
}

// Span is a piece of work under way. A nil *Span is valid and records nothing.
type Span struct {
	rec    *Recorder // nil: only a runtime/trace region
	index  int       // into rec.records, -1 if dropped
	id     int
	lane   atomic.Pointer[string] // copied by children
	region *trace.Region
	ended  atomic.Bool
}

// Start begins a span named name. The returned context makes it the parent of spans
// started below. End must be called exactly once, on the goroutine that called Start
// if a runtime/trace is to show it as a region.
func Start(ctx context.Context, name string, attrs ...Attr) (context.Context, *Span) {
	rec := From(ctx)
	tracing := trace.IsEnabled()
	if rec == nil && !tracing {
		return ctx, nil
	}
	s := &Span{rec: rec, index: -1}
	if tracing {
		s.region = trace.StartRegion(ctx, name)
	}
	if rec == nil {
		return ctx, s
	}
	lane, parent := DefaultLane, 0
	if p, _ := ctx.Value(spanKey{}).(*Span); p != nil && p.rec == rec {
		lane, parent = *p.lane.Load(), p.id
	}
	s.lane.Store(&lane)
	rec.open(s, Record{Parent: parent, Name: name, Lane: lane, Attrs: append([]Attr(nil), attrs...), Open: true})
	return context.WithValue(ctx, spanKey{}, s), s
}

func (r *Recorder) open(s *Span, rc Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.records) >= r.limit {
		r.dropped++
		return
	}
	s.index = len(r.records)
	s.id = s.index + 1
	rc.ID = s.id
	rc.Start = time.Since(r.epoch)
	r.records = append(r.records, rc)
	if r.listen != nil {
		r.listen(rc)
	}
}

// update runs fn on the span's record, under the recorder's lock.
func (s *Span) update(fn func(*Record)) {
	if s == nil || s.rec == nil || s.index < 0 {
		return
	}
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	fn(&s.rec.records[s.index])
}

// SetLane says where the work runs. Spans started below inherit it.
func (s *Span) SetLane(lane string) {
	if s == nil {
		return
	}
	s.lane.Store(&lane)
	s.update(func(r *Record) { r.Lane = lane })
}

// AddBytes adds to the number of bytes that the work moved.
func (s *Span) AddBytes(n int64) {
	s.update(func(r *Record) { r.Bytes += n })
}

// SetAttr attaches a value, in place of an earlier one of that key.
func (s *Span) SetAttr(a Attr) {
	s.update(func(r *Record) {
		for i := range r.Attrs {
			if r.Attrs[i].Key == a.Key {
				r.Attrs[i] = a
				return
			}
		}
		r.Attrs = append(r.Attrs, a)
	})
}

// End closes the span. Further calls do nothing.
func (s *Span) End() {
	if s == nil || s.ended.Swap(true) {
		return
	}
	if s.region != nil {
		s.region.End()
	}
	if s.rec == nil || s.index < 0 {
		return
	}
	s.rec.mu.Lock()
	defer s.rec.mu.Unlock()
	r := &s.rec.records[s.index]
	r.End = time.Since(s.rec.epoch)
	r.Open = false
	if s.rec.listen != nil {
		s.rec.listen(*r)
	}
}
