package main

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"github.com/filgroth/filgroth/bench/stats"
	"github.com/filgroth/filgroth/span"
)

// palette begins with that of Okabe and Ito, distinguishable for colour-blind readers; it repeats after twelve arms.
var palette = []string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#666666", "#332288", "#882255", "#44aa99", "#aaaaaa"}

// waterfall draws the spans of the arm's median run.
func (a *ArmResult) waterfall(w io.Writer) error { return span.WriteSVG(w, a.sample) }

// bar is one arm in one phase of the chart.
type bar struct {
	arm   string
	color string
	at    stats.Interval
	mark  string
}

// bars draws the medians by phase, one bar an arm, with their confidence intervals.
func (r *ABResult) bars(w io.Writer) error {
	const left, width, row, gap, top = 150, 620, 18, 14, 40
	groups := map[string][]bar{}
	var phases []string
	longest, rows := 0.0, 0
	for _, p := range r.columns() {
		for i := range r.Arms {
			a := &r.Arms[i]
			v := a.Seconds[p]
			if len(v) == 0 {
				continue
			}
			b := bar{arm: a.Name, color: palette[i%len(palette)], at: stats.Median(v, r.Rule.Confidence)}
			for k := range r.Comparisons {
				if c := &r.Comparisons[k]; c.Arm == a.Name && c.Phase == p {
					b.mark = a.mark(c)
				}
			}
			longest = math.Max(longest, b.at.Center)
			if !math.IsInf(b.at.High, 0) {
				longest = math.Max(longest, b.at.High)
			}
			groups[p] = append(groups[p], b)
			rows++
		}
		if len(groups[p]) > 0 {
			phases = append(phases, p)
		}
	}
	if longest == 0 {
		longest = 1
	}
	legend := 22 * len(r.Arms)
	height := top + rows*row + len(phases)*gap + legend + 20
	x := func(v float64) float64 { return left + v/longest*width }
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", left+width+330, height, left+width+330, height)
	fmt.Fprintf(&s, `<rect width="100%%" height="100%%" fill="#ffffff"/><text x="10" y="22" font-size="15">%s, %s: seconds a circuit by phase, median and %g %% interval</text>`+"\n",
		template.HTMLEscapeString(r.Shape), r.Work, r.Rule.Confidence*100)
	y := float64(top)
	for _, p := range phases {
		fmt.Fprintf(&s, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left-8, y+float64(len(groups[p])*row)/2+4, template.HTMLEscapeString(p))
		for _, b := range groups[p] {
			mid := y + row/2 - 1
			fmt.Fprintf(&s, `<rect x="%d" y="%.1f" width="%.1f" height="%d" fill="%s"/>`, left, y, math.Max(1, x(b.at.Center)-left), row-3, b.color)
			end := x(b.at.Center)
			if !math.IsInf(b.at.High, 0) {
				fmt.Fprintf(&s, `<path d="M%.1f %.1fH%.1fM%.1f %.1fv8M%.1f %.1fv8" stroke="#000000" fill="none"/>`, x(b.at.Low), mid, x(b.at.High), x(b.at.Low), mid-4, x(b.at.High), mid-4)
				end = math.Max(end, x(b.at.High))
			}
			fmt.Fprintf(&s, `<text x="%.1f" y="%.1f">%s <tspan fill="#555555">%s</tspan> %s</text>`+"\n", end+8, mid+4, seconds(b.at.Center), template.HTMLEscapeString(short(b.arm)), template.HTMLEscapeString(b.mark))
			y += row
		}
		y += gap
	}
	for i := range r.Arms {
		a := &r.Arms[i]
		name := a.Name
		if a.Unavailable != "" {
			name += ": " + unavailable
		}
		fmt.Fprintf(&s, `<rect x="%d" y="%.1f" width="14" height="14" fill="%s"/><text x="%d" y="%.1f">%s</text>`+"\n", left, y, palette[i%len(palette)], left+22, y+12, template.HTMLEscapeString(name))
		y += 22
	}
	s.WriteString("</svg>\n")
	_, err := io.WriteString(w, s.String())
	return err
}

// short is an arm's name beside its bar; the legend has it whole.
func short(name string) string {
	if r := []rune(name); len(r) > 24 {
		return string(r[:23]) + "…"
	}
	return name
}

func seconds(v float64) string {
	switch {
	case v >= 1:
		return fmt.Sprintf("%.2f s", v)
	case v >= 1e-3:
		return fmt.Sprintf("%.1f ms", v*1e3)
	}
	return fmt.Sprintf("%.0f µs", v*1e6)
}

// htmlRow is a line of the report's table.
type htmlRow struct {
	Arm, Phase, Median, Interval, Ratio, RatioInterval, P, Verdict, Bytes, Class string
}

var page = template.Must(template.New("report").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>A/B {{.R.Shape}}</title>
<style>
body{font-family:sans-serif;margin:2em;max-width:1180px;color:#111}
table{border-collapse:collapse;margin:1em 0}td,th{padding:3px 10px;border-bottom:1px solid #ddd;text-align:left;font-variant-numeric:tabular-nums}
.better{background:#d9f2e3}.worse{background:#fbe0d6}.none{color:#666}
svg{max-width:100%;height:auto}h2{margin-top:1.6em}code{background:#f3f3f3;padding:1px 4px}
</style></head><body>
<h1>{{.R.Shape}}, {{.R.Work}}: {{len .R.Arms}} arms, {{.R.Rounds}} rounds</h1>
{{if .R.Failed}}<p><b>Ended before its time: {{.R.Failed}}</b></p>{{end}}
<p>Arms ran interleaved, in an order shuffled anew in each round (seed {{.R.Seed}}); {{.R.Warm}} warm-up round(s) are not counted. The results of all arms were equal.
Each arm is compared with the first by the Mann-Whitney U test, adjusted after Holm, over the phases that the arms' knobs can touch and, apart from them, over the others, alpha {{.R.Rule.Alpha}}; ratios are Hodges-Lehmann estimates.
Effects below {{.Effect}} % count as none; "no difference" needs the interval within {{.Tolerance}} %; where neither is shown there is no verdict.</p>
{{range .Missing}}<p><b>{{.Name}}</b>: unavailable ({{.Unavailable}})</p>{{end}}
{{.Bars}}
<h2>Phases</h2>
<table><tr><th>arm</th><th>phase</th><th>median</th><th>95 % interval</th><th>ratio to first</th><th>95 % interval</th><th>p</th><th>verdict</th><th>bytes</th></tr>
{{range .Rows}}<tr class="{{.Class}}"><td>{{.Arm}}</td><td>{{.Phase}}</td><td>{{.Median}}</td><td>{{.Interval}}</td><td>{{.Ratio}}</td><td>{{.RatioInterval}}</td><td>{{.P}}</td><td>{{.Verdict}}</td><td>{{.Bytes}}</td></tr>
{{end}}</table>
<h2>Memory and faults</h2>
<table><tr><th>arm</th><th>peak RSS</th><th>minor faults a run</th><th>major faults a run</th><th>counters of the last run</th><th>device</th></tr>
{{range .Memory}}<tr><td>{{.Arm}}</td><td>{{.Median}}</td><td>{{.Interval}}</td><td>{{.Ratio}}</td><td>{{.P}}</td><td>{{.Verdict}}</td></tr>{{end}}</table>
{{.RSS}}
{{range .Waterfalls}}<h2>Waterfall: {{.Name}}</h2>{{.SVG}}{{end}}
<h2>Environment</h2>
<table>{{range .Env}}<tr><td>{{index . 0}}</td><td>{{index . 1}}</td></tr>{{end}}</table>
</body></html>
`))

// picture is a named SVG.
type picture struct {
	Name string
	SVG  template.HTML
}

// html writes everything as one page that needs no network.
func (r *ABResult) html(w io.Writer) error {
	var bars bytes.Buffer
	if err := r.bars(&bars); err != nil {
		return err
	}
	data := struct {
		R                 *ABResult
		Effect, Tolerance float64
		Bars, RSS         template.HTML
		Rows, Memory      []htmlRow
		Missing           []ArmResult
		Waterfalls        []picture
		Env               [][2]string
	}{R: r, Effect: 100 * r.Rule.MinEffect, Tolerance: 100 * r.Rule.Tolerance, Bars: template.HTML(bars.String()), RSS: template.HTML(rssChart(r.RSS)), Env: r.Environment.rows()}
	for i := range r.Arms {
		a := &r.Arms[i]
		if a.Unavailable != "" {
			data.Missing = append(data.Missing, *a)
			continue
		}
		data.Rows = append(data.Rows, r.htmlRows(a)...)
		counters := unavailable
		if n := len(a.Costs); n > 0 {
			counters = a.Costs[n-1].Counters.String()
		}
		data.Memory = append(data.Memory, htmlRow{Arm: a.Name, Median: bytesString(a.peak()), Interval: fmt.Sprint(a.faults(false)), Ratio: fmt.Sprint(a.faults(true)), P: counters, Verdict: strings.TrimPrefix(a.device(), "; ")})
		var b bytes.Buffer
		if err := a.waterfall(&b); err != nil {
			return err
		}
		data.Waterfalls = append(data.Waterfalls, picture{a.Name, template.HTML(b.String())})
	}
	return page.Execute(w, data)
}

func (r *ABResult) htmlRows(a *ArmResult) []htmlRow {
	var out []htmlRow
	for _, p := range r.columns() {
		v := a.Seconds[p]
		if len(v) == 0 {
			continue
		}
		m := stats.Median(v, r.Rule.Confidence)
		row := htmlRow{Arm: a.Name, Phase: p, Median: seconds(m.Center), Interval: tooFew, Bytes: a.bytesOf(p, m.Center)}
		if !math.IsInf(m.Low, 0) {
			row.Interval = seconds(m.Low) + " to " + seconds(m.High)
		}
		for i := range r.Comparisons {
			c := &r.Comparisons[i]
			if c.Arm != a.Name || c.Phase != p {
				continue
			}
			row.Ratio, row.RatioInterval, row.P, row.Verdict = fmt.Sprintf("%.3f", c.Ratio), c.interval(), fmt.Sprintf("%.4f", c.P), a.mark(c)
			row.Class = map[stats.Verdict]string{stats.Better: "better", stats.Worse: "worse"}[c.Verdict]
			if row.Class == "" {
				row.Class = "none"
			}
		}
		out = append(out, row)
	}
	return out
}

// rows lists the environment for a table.
func (e *Environment) rows() [][2]string {
	return [][2]string{{"date", e.Date}, {"command", e.Command}, {"CPU", e.CPU}, {"cores", fmt.Sprintf("%d (GOMAXPROCS %d)", e.Cores, e.GOMAXPROCS)},
		{"memory", bytesString(e.MemoryBytes)}, {"lock limit", map[bool]string{true: "unlimited", false: bytesString(e.LockLimit)}[e.LockLimit < 0]},
		{"huge pages", e.HugePages}, {"system", e.OS}, {"Go", e.Go}, {"commit", e.Commit}, {"GPU", e.GPU}, {"driver", e.Driver},
		{"CUDA library sources", e.CUDALibrary}, {"load before", e.LoadBefore}}
}

// rssChart draws the resident size over the whole comparison.
func rssChart(samples []Sample) string {
	if len(samples) < 2 {
		return ""
	}
	const left, width, height = 90, 900, 140
	last, peak := samples[len(samples)-1].Seconds, int64(1)
	for _, s := range samples {
		peak = max(peak, s.RSS)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<h2>Resident memory</h2><svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12"><path fill="none" stroke="#0072b2" d="`,
		left+width+20, height+30, left+width+20, height+30)
	for i, s := range samples {
		fmt.Fprintf(&b, "%c%.1f %.1f", map[bool]byte{true: 'M', false: 'L'}[i == 0], left+s.Seconds/last*width, 10+height-float64(s.RSS)/float64(peak)*height)
	}
	fmt.Fprintf(&b, `"/><path d="M%d 10V%dH%d" stroke="#999999" fill="none"/><text x="%d" y="16" text-anchor="end">%s</text><text x="%d" y="%d" text-anchor="end">0</text><text x="%d" y="%d" text-anchor="end">%.0f s</text></svg>`,
		left, height+10, left+width, left-6, bytesString(peak), left-6, height+12, left+width, height+26, last)
	return b.String()
}
