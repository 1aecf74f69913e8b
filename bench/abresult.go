package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"

	"github.com/filgroth/filgroth/bench/stats"
	"github.com/filgroth/filgroth/internal/atomicfile"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
)

// total is the pseudo-phase of the whole run; coreTotal its core-seconds.
const (
	total     = "total"
	coreTotal = "core-seconds"
)

// ABResult is a comparison.
type ABResult struct {
	Environment Environment  `json:"environment"`
	Shape       string       `json:"shape"`
	Work        string       `json:"work"`
	Rounds      int          `json:"rounds"`
	Warm        int          `json:"warm_up_rounds"`
	Seed        uint64       `json:"seed"`
	Rule        stats.Rule   `json:"rule"`
	Phases      []string     `json:"phases"` // in order of first start
	Arms        []ArmResult  `json:"arms"`   // the first is the baseline
	Comparisons []Comparison `json:"comparisons"`
	RSS         []Sample     `json:"rss"`
	Failed      string       `json:"error,omitempty"` // what ended the run before its time; the rounds before it are judged

	checks [][32]byte // of the circuits seen so far
}

// ArmResult has one value a round for each phase and metric.
type ArmResult struct {
	Name        string               `json:"name"`
	Unavailable string               `json:"unavailable,omitempty"` // why this machine cannot run it
	Changed     []string             `json:"changed_phases"`
	Seconds     map[string][]float64 `json:"seconds"` // by phase, for each circuit of a run
	Bytes       map[string]int64     `json:"bytes"`   // moved in a phase, in the last round
	Costs       []Cost               `json:"costs"`
	Device      []int64              `json:"device_peak_bytes"`
	Pinned      []int64              `json:"pinned_bytes"`
	Locks       *pinning.LockerStats `json:"page_locking,omitempty"` // by the host's side of the arm, all rounds

	settings Settings
	runs     [][]span.Record
	sample   []span.Record // of the run whose total is the median
}

// Comparison is one arm against the baseline in one phase.
type Comparison struct {
	Arm     string        `json:"arm"`
	Phase   string        `json:"phase"`
	Ratio   float64       `json:"ratio"` // of the arm to the baseline; below 1 is faster
	Low     *float64      `json:"ratio_low"`
	High    *float64      `json:"ratio_high"` // null: no limit, too few rounds
	P       float64       `json:"p_adjusted"`
	Verdict stats.Verdict `json:"verdict"`
	Touched bool          `json:"touched"` // by the arm's knobs, according to the table of knobs
}

func newABResult(f *abFlags, arms []Arm) *ABResult {
	r := &ABResult{Environment: ReadEnvironment(), Shape: f.shape, Work: f.work, Rounds: f.n, Warm: f.warm, Seed: f.seed, Rule: f.rule.Defaults()}
	for _, a := range arms {
		r.Arms = append(r.Arms, ArmResult{Name: a.Name, Changed: a.Changed, Seconds: map[string][]float64{}, Bytes: map[string]int64{}, settings: a.Settings})
	}
	return r
}

// note adds a run; rounds below 0 are warm-up, whose results must be equal, too.
func (r *ABResult) note(arm, round int, o *Outcome) error {
	for i, c := range o.Checks {
		if i == len(r.checks) {
			r.checks = append(r.checks, c)
		}
		if r.checks[i] != c {
			return fmt.Errorf("%s: circuit %d: its results differ from those of the arms before it", r.Arms[arm].Name, i)
		}
	}
	if round < 0 {
		return nil
	}
	a := &r.Arms[arm]
	add := func(phase string, v float64) {
		a.Seconds[phase] = append(a.Seconds[phase], v/float64(a.settings.Circuits))
	}
	for name, s := range byName(o.Records) {
		add(name, s.Wall.Seconds())
		a.Bytes[name] = s.Bytes
	}
	for _, rec := range o.Records {
		r.phase(rec.Name)
	}
	add(total, o.Cost.Wall)
	add(coreTotal, o.Cost.Core())
	a.Costs = append(a.Costs, o.Cost)
	a.Device, a.Pinned = append(a.Device, o.Device), append(a.Pinned, o.Pinned)
	a.Locks = o.Locks
	a.runs = append(a.runs, o.Records)
	return nil
}

// byName adds records up by name over all lanes.
func byName(records []span.Record) map[string]span.Summary {
	one := append([]span.Record(nil), records...)
	for i := range one {
		one[i].Lane = ""
	}
	out := map[string]span.Summary{}
	for _, s := range span.Summarize(one) {
		out[s.Name] = s
	}
	return out
}

// phase keeps the list of phases.
func (r *ABResult) phase(name string) {
	for _, p := range r.Phases {
		if p == name {
			return
		}
	}
	r.Phases = append(r.Phases, name)
}

// columns are the phases with the totals.
func (r *ABResult) columns() []string {
	return append(append([]string(nil), r.Phases...), total, coreTotal)
}

// judge compares every arm with the first in every phase that both have.
func (r *ABResult) judge() {
	base := &r.Arms[0]
	// what the knobs are asked about, and what they should leave alone, are two families of questions
	var ps [2][]float64
	var of [2][]int
	for i := range r.Arms {
		a := &r.Arms[i]
		a.pick()
		if i == 0 {
			continue
		}
		for _, phase := range r.columns() {
			x, y := base.Seconds[phase], a.Seconds[phase]
			if len(x) == 0 || len(y) == 0 {
				continue
			}
			q := stats.Ratio(x, y, r.Rule.Confidence)
			c := Comparison{Arm: a.Name, Phase: phase, Ratio: q.Center, Touched: phase == total || phase == coreTotal}
			if q.Low > 0 {
				c.Low, c.High = &q.Low, &q.High
			}
			for _, t := range a.Changed {
				c.Touched = c.Touched || t == phase
			}
			family := 1
			if c.Touched {
				family = 0
			}
			ps[family] = append(ps[family], stats.MannWhitney(x, y))
			of[family] = append(of[family], len(r.Comparisons))
			r.Comparisons = append(r.Comparisons, c)
		}
	}
	for family := range ps {
		for i, p := range stats.Holm(ps[family]) {
			c := &r.Comparisons[of[family][i]]
			c.P = p
			q := stats.Ratio(base.Seconds[c.Phase], r.arm(c.Arm).Seconds[c.Phase], r.Rule.Confidence)
			c.Verdict = r.Rule.Judge(p, q)
		}
	}
}

func (r *ABResult) arm(name string) *ArmResult {
	for i := range r.Arms {
		if r.Arms[i].Name == name {
			return &r.Arms[i]
		}
	}
	return nil
}

// pick chooses the run whose total is the (lower) median, for the waterfall.
func (a *ArmResult) pick() {
	t := a.Seconds[total]
	if len(t) == 0 {
		return
	}
	order := make([]int, len(t))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, j int) bool { return t[order[i]] < t[order[j]] })
	a.sample = a.runs[order[(len(t)-1)/2]]
}

// table prints medians, intervals and verdicts.
func (r *ABResult) table(w io.Writer) {
	e := &r.Environment
	fmt.Fprintf(w, "%s, %s, %d rounds interleaved in shuffled order; %s, %d cores, GPU %s, commit %s, load %s\n", r.Shape, r.Work, r.Rounds, e.CPU, e.Cores, e.shortGPU(), e.Commit, e.LoadBefore)
	if r.Failed != "" {
		fmt.Fprintf(w, "ENDED BEFORE ITS TIME: %s\n", r.Failed)
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "arm\tphase\tmedian s a circuit\t95 % interval\tratio to first\t95 % interval\tp (Holm)\tverdict\tbytes")
	for i := range r.Arms {
		a := &r.Arms[i]
		if a.Unavailable != "" {
			fmt.Fprintf(tw, "%s\t\t%s: %s\n", a.Name, unavailable, a.Unavailable)
			continue
		}
		for _, phase := range r.columns() {
			v := a.Seconds[phase]
			if len(v) == 0 {
				continue
			}
			m := stats.Median(v, r.Rule.Confidence)
			interval := tooFew
			if !math.IsInf(m.Low, 0) {
				interval = fmt.Sprintf("%.4f to %.4f", m.Low, m.High)
			}
			fmt.Fprintf(tw, "%s\t%s\t%.4f\t%s\t%s\t%s\n", a.Name, phase, m.Center, interval, r.against(a, phase), a.bytesOf(phase, m.Center))
		}
		fmt.Fprintf(tw, "%s\tpeak RSS\t%s\t\tminor faults %d, major %d%s\n", a.Name, bytesString(a.peak()), a.faults(false), a.faults(true), a.device())
	}
	tw.Flush()
}

// against is the right half of the table.
func (r *ABResult) against(a *ArmResult, phase string) string {
	for i := range r.Comparisons {
		if c := &r.Comparisons[i]; c.Arm == a.Name && c.Phase == phase {
			return fmt.Sprintf("%.3f\t%s\t%.4f\t%s", c.Ratio, c.interval(), c.P, a.mark(c))
		}
	}
	return "\t\t\t"
}

// tooFew stands for an interval that so few rounds do not give.
const tooFew = "none: too few rounds"

func (c *Comparison) interval() string {
	if c.Low == nil {
		return tooFew
	}
	return fmt.Sprintf("%.3f to %.3f", *c.Low, *c.High)
}

// mark is the verdict, with a note where a phase changed that none of the arm's knobs should touch. The span around a whole proof
// changes with every phase in it: it is of no interest to the adjustment, which has the total, but no surprise either.
func (a *ArmResult) mark(c *Comparison) string {
	touched := c.Touched || c.Phase == "prove" && slices.ContainsFunc(a.Changed, func(p string) bool { return p != "synth.direct" && p != "synth.witness" })
	if !touched && (c.Verdict == stats.Better || c.Verdict == stats.Worse) {
		return string(c.Verdict) + " (not a phase of this knob)"
	}
	return string(c.Verdict)
}

func (a *ArmResult) peak() (n int64) {
	for _, c := range a.Costs {
		n = max(n, c.PeakRSS)
	}
	return n
}

// device says what was held on a device and page-locked for it.
func (a *ArmResult) device() string {
	if len(a.Device) == 0 || slices.Max(a.Device) == 0 {
		return ""
	}
	s := fmt.Sprintf("; device %s, page-locked %s", bytesString(slices.Max(a.Device)), bytesString(slices.Max(a.Pinned)))
	if a.Locks != nil && a.Locks.Lock.Calls > 0 {
		s += fmt.Sprintf("; locking: %v; unlocking: %v", a.Locks.Lock, a.Locks.Unlock)
	}
	return s
}

// bytesOf says what a phase moved for a circuit, and how fast.
func (a *ArmResult) bytesOf(phase string, seconds float64) string {
	n := a.Bytes[phase] / int64(max(1, a.settings.Circuits))
	if n == 0 || seconds <= 0 {
		return ""
	}
	return fmt.Sprintf("%s, %s", bytesString(n), rate(n, seconds))
}

// moved is what all phases moved in the last round, as their spans say.
func (a *ArmResult) moved() (n int64) {
	for _, b := range a.Bytes {
		n += b
	}
	return n
}

// faults is the mean number of page faults of a run.
func (a *ArmResult) faults(major bool) (n int64) {
	for _, c := range a.Costs {
		if major {
			n += c.Major
		} else {
			n += c.Minor
		}
	}
	return n / max(1, int64(len(a.Costs)))
}

// benchFormat writes each run as a line for benchstat.
func (r *ABResult) benchFormat(w io.Writer) error {
	e := &r.Environment
	if _, err := fmt.Fprintf(w, "goos: %s\ncpu: %s\ncores: %d\nmemory: %d\ngpu: %s\ndriver: %s\ncommit: %s\ndate: %s\ncommand: %s\n",
		strings.Split(e.OS, "/")[0], e.CPU, e.Cores, e.MemoryBytes, e.GPU, e.Driver, e.Commit, e.Date, e.Command); err != nil {
		return err
	}
	for k := range r.Rounds {
		for i := range r.Arms {
			a := &r.Arms[i]
			if k >= len(a.Costs) {
				continue
			}
			c := &a.Costs[k]
			line := fmt.Sprintf("Benchmark%s/shape=%s/%s\t1\t%.0f ns/op", map[string]string{workSynth: "Synth", workProve: "Prove", workProver: "Prover"}[r.Work], r.Shape, a.Name, a.Seconds[total][k]*1e9)
			for _, p := range r.Phases {
				if v := a.Seconds[p]; k < len(v) {
					line += fmt.Sprintf("\t%.0f %s-ns/op", v[k]*1e9, p)
				}
			}
			line += fmt.Sprintf("\t%.0f core-ns/op\t%d peak-rss-bytes\t%d minor-faults/op\t%d major-faults/op", a.Seconds[coreTotal][k]*1e9, c.PeakRSS, c.Minor, c.Major)
			if a.Device[k] > 0 {
				line += fmt.Sprintf("\t%d device-peak-bytes\t%d pinned-bytes\t%d moved-bytes", a.Device[k], a.Pinned[k], a.moved())
			}
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
	}
	for i := range r.Arms {
		if a := &r.Arms[i]; a.Unavailable != "" {
			if _, err := fmt.Fprintf(w, "# %s: %s: %s\n", a.Name, unavailable, a.Unavailable); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeFile(path string, f func(io.Writer) error) error { return atomicfile.Write(path, 0o644, f) }
