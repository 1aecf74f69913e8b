package groth16

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/filgroth/filgroth/span"
)

// Report tells what a proof cost. Circuits of one call share its spans.
type Report struct {
	Backend  string
	Config   string
	Circuits int           // circuits of the call that the proof was made in
	Wall     time.Duration // of that call, with assembly and verification
	Spans    []span.Record // by start; times count from the recorder's epoch
	Bytes    int64         // sum over the spans
	Verified bool          // the proof was verified before it was returned
	Failed   []error       // calls with this and other circuits that failed before, after which fewer were tried together
	// DeviceBytes is the most device memory that the session held, where it tells (a method DeviceBytes() int64).
	DeviceBytes int64
	Process     Process // of the whole process, at the end
}

// Process are figures of the operating system about this process since its start; 0 where it does not tell.
type Process struct {
	PeakRSS     int64 // bytes
	MinorFaults int64
	MajorFaults int64
}

// Phases adds the spans up by name and lane.
func (r *Report) Phases() []span.Summary { return span.Summarize(r.Spans) }

func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d circuits in %v, peak RSS %d MiB\n", r.Backend, r.Circuits, r.Wall.Round(time.Millisecond), r.Process.PeakRSS>>20)
	for _, p := range r.Phases() {
		fmt.Fprintf(&b, "  %-14s %-6s %10v  %12d bytes\n", p.Name, p.Lane, p.Wall.Round(10*time.Microsecond), p.Bytes)
	}
	return b.String()
}

// calls numbers recorded calls, so that their spans are found in a recorder that others use, too.
var calls atomic.Int64

const callAttr = "groth16.call"

// recorded is a call whose spans end up in a report.
type recorded struct {
	rec   *span.Recorder
	sp    *span.Span
	id    int
	start time.Time
}

// record starts a span in the context's recorder, or in a new one.
func record(ctx context.Context, name string) (context.Context, *recorded) {
	r := &recorded{rec: span.From(ctx), id: int(calls.Add(1)), start: time.Now()}
	if r.rec == nil {
		r.rec = span.NewRecorder()
		ctx = span.With(ctx, r.rec)
	}
	ctx, r.sp = span.Start(ctx, name, span.Int(callAttr, r.id))
	return ctx, r
}

// end closes the span and fills the report's spans with everything below it.
func (r *recorded) end(rep *Report) {
	r.sp.End()
	rep.Wall = time.Since(r.start)
	below := map[int]bool{}
	for _, x := range r.rec.Records() {
		if below[x.Parent] {
			below[x.ID] = true
			rep.Spans = append(rep.Spans, x)
			rep.Bytes += x.Bytes
			continue
		}
		for _, a := range x.Attrs {
			if a.Key == callAttr && a.Value == r.id {
				below[x.ID] = true
			}
		}
	}
	rep.Process = processFigures()
}
