package span

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"sort"
	"time"
)

// Summary is what all spans of one name in one lane add up to.
type Summary struct {
	Name, Lane string
	Count      int
	Sum        time.Duration // of the durations; more than wall time where they overlap
	Wall       time.Duration // time during which at least one was open
	Bytes      int64
}

// Summarize adds ended records up by name and lane, in order of first start.
func Summarize(records []Record) []Summary {
	type key struct{ name, lane string }
	at := map[key]int{}
	until := map[key]time.Duration{}
	var out []Summary
	for _, r := range byStart(records) {
		k := key{r.Name, r.Lane}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, Summary{Name: r.Name, Lane: r.Lane})
		}
		s := &out[i]
		s.Count++
		s.Sum += r.Duration()
		s.Bytes += r.Bytes
		if from := max(r.Start, until[k]); r.End > from {
			s.Wall += r.End - from
			until[k] = r.End
		}
	}
	return out
}

// byStart returns the ended records in order of start, the longer first among equals.
func byStart(records []Record) []Record {
	var out []Record
	for _, r := range records {
		if !r.Open {
			out = append(out, r)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].Start != out[j].Start {
			return out[i].Start < out[j].Start
		}
		return out[i].End > out[j].End
	})
	return out
}

// track is a row of a drawing: a lane has as many as its overlaps need.
type track struct {
	lane string
	open []time.Duration // ends of the spans that enclose the current instant
}

// layout gives each record (sorted by byStart) a track. With nest, a span may lie
// within another on the same track, as the Chrome trace format wants it.
func layout(sorted []Record, nest bool) (rows []int, tracks []*track) {
	var lanes []string
	perLane := map[string][]*track{}
	assigned := make([]*track, len(sorted))
	for i, r := range sorted {
		if perLane[r.Lane] == nil {
			lanes = append(lanes, r.Lane)
		}
		var found *track
		for _, t := range perLane[r.Lane] {
			for len(t.open) > 0 && t.open[len(t.open)-1] <= r.Start {
				t.open = t.open[:len(t.open)-1]
			}
			if len(t.open) == 0 || nest && t.open[len(t.open)-1] >= r.End {
				found = t
				break
			}
		}
		if found == nil {
			found = &track{lane: r.Lane}
			perLane[r.Lane] = append(perLane[r.Lane], found)
		}
		found.open = append(found.open, r.End)
		assigned[i] = found
	}
	index := map[*track]int{}
	for _, lane := range lanes {
		for _, t := range perLane[lane] {
			index[t] = len(tracks)
			tracks = append(tracks, t)
		}
	}
	rows = make([]int, len(sorted))
	for i, t := range assigned {
		rows[i] = index[t]
	}
	return rows, tracks
}

type chromeEvent struct {
	Name string         `json:"name"`
	Cat  string         `json:"cat,omitempty"`
	Ph   string         `json:"ph"`
	Ts   float64        `json:"ts"` // microseconds
	Dur  float64        `json:"dur,omitempty"`
	Pid  int            `json:"pid"`
	Tid  int            `json:"tid"`
	Args map[string]any `json:"args,omitempty"`
}

// WriteChromeTrace writes the ended records in the Chrome trace event format, which
// chrome://tracing and ui.perfetto.dev show. Each lane is one or more threads.
func WriteChromeTrace(w io.Writer, records []Record) error {
	sorted := byStart(records)
	rows, tracks := layout(sorted, true)
	events := make([]chromeEvent, 0, len(sorted)+len(tracks))
	for i, t := range tracks {
		events = append(events, chromeEvent{Name: "thread_name", Ph: "M", Pid: 1, Tid: i + 1,
			Args: map[string]any{"name": t.lane}})
	}
	for i, r := range sorted {
		args := map[string]any{}
		if r.Bytes != 0 {
			args["bytes"] = r.Bytes
		}
		for _, a := range r.Attrs {
			args[a.Key] = plain(a.Value)
		}
		events = append(events, chromeEvent{Name: r.Name, Cat: r.Lane, Ph: "X",
			Ts: micros(r.Start), Dur: micros(r.Duration()), Pid: 1, Tid: rows[i] + 1, Args: args})
	}
	return json.NewEncoder(w).Encode(map[string]any{"traceEvents": events, "displayTimeUnit": "ms"})
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// plain turns an attribute into what JSON can hold.
func plain(v any) any {
	switch v := v.(type) {
	case int, int64, uint64, bool, string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

const (
	svgWidth = 1200
	svgRow   = 22
	svgLeft  = 90
	svgTop   = 30
)

// WriteSVG draws the ended records as a waterfall: time to the right, one row for each
// level of overlap in each lane.
func WriteSVG(w io.Writer, records []Record) error {
	sorted := byStart(records)
	rows, tracks := layout(sorted, false)
	var from, to time.Duration
	for i, r := range sorted {
		if i == 0 {
			from = r.Start
		}
		to = max(to, r.End)
	}
	scale := float64(svgWidth-svgLeft-10) / float64(max(to-from, 1))
	x := func(t time.Duration) float64 { return svgLeft + float64(t-from)*scale }
	height := svgTop + svgRow*len(tracks) + 10
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", svgWidth, height, svgWidth, height)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	step := tick(to - from)
	for t := time.Duration(0); t <= to-from; t += step {
		fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#ddd"/><text x="%.1f" y="14" fill="#555" text-anchor="middle">%v</text>`+"\n",
			x(from+t), svgTop-10, height, x(from+t), t)
	}
	for i, t := range tracks {
		if i == 0 || tracks[i-1].lane != t.lane {
			fmt.Fprintf(&b, `<text x="4" y="%d" fill="#000">%s</text>`+"\n", svgTop+svgRow*i+15, escape(t.lane))
		}
	}
	for i, r := range sorted {
		width := max(float64(r.Duration())*scale, 0.5)
		y := svgTop + svgRow*rows[i]
		title := fmt.Sprintf("%s %v", r.Name, r.Duration().Round(10*time.Microsecond))
		if r.Bytes != 0 {
			title += fmt.Sprintf(", %d bytes", r.Bytes)
		}
		fmt.Fprintf(&b, `<g><title>%s</title><rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" stroke="white"/>`,
			escape(title), x(r.Start), y, width, svgRow-3, color(r.Name))
		if fits := int(width / 6.5); fits >= 3 {
			label := []rune(title)
			fmt.Fprintf(&b, `<text x="%.1f" y="%d">%s</text>`, x(r.Start)+3, y+14, escape(string(label[:min(fits, len(label))])))
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

// tick is the spacing of the time axis: 1, 2 or 5 times a power of ten, some ten a drawing.
func tick(span time.Duration) time.Duration {
	step := time.Microsecond
	for {
		for _, m := range []time.Duration{1, 2, 5} {
			if span/(step*m) <= 12 {
				return step * m
			}
		}
		step *= 10
	}
}

// color is a fixed pastel for a name, so that drawings of two runs compare.
func color(name string) string {
	h := uint32(2166136261)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return fmt.Sprintf("hsl(%d,60%%,75%%)", h%360)
}

func escape(s string) string {
	var b bytes.Buffer
	// EscapeText fails only where the writer does, and a Buffer does not.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
