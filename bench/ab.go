package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/filgroth/filgroth/bench/stats"
)

// abFlags are the flags of the mode ab.
type abFlags struct {
	shape, work, plan, preset, out, keys string
	knobs                                []string
	n, warm                              int
	limit                                time.Duration
	seed                                 uint64
	quick, list, aa, rebind              bool
	base                                 []string
	rule                                 stats.Rule
}

// repeated collects a flag that may be given several times.
type repeated struct{ to *[]string }

func (r repeated) String() string     { return "" }
func (r repeated) Set(s string) error { *r.to = append(*r.to, s); return nil }

func abMode(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	f := new(abFlags)
	fs.StringVar(&f.shape, "shape", "porep-2k", "which circuit; mix-16 to mix-27 are made-up ones of so many rows (logarithm)")
	fs.StringVar(&f.work, "work", "", "what is measured: synth (witness and a, b, c), prove (witness and proof) or prover (the proof from a ready witness, made once for each arm; "+
		"with -set evaluation=whole from ready a, b, c, too); default: prove where a knob touches more than synthesis")
	fs.Var(repeated{&f.knobs}, "knob", "`NAME=v1,v2,...`: compare these values; may be repeated, see -plan. A value given twice shows the noise")
	fs.Var(repeated{&f.base}, "set", "`NAME=value` for all arms; may be repeated")
	fs.StringVar(&f.plan, "plan", planEach, "several knobs: each (one at a time against all first values) or matrix (every combination)")
	fs.StringVar(&f.preset, "preset", "", "phase4: the five changes of docs/experiments.md alone, together, and all but one, against the baseline; with -work prover the three that touch the prover")
	fs.BoolVar(&f.aa, "aa", false, "add the first arm a second time, to see the noise")
	fs.IntVar(&f.n, "n", 10, "measured `rounds`; each runs every arm once, in shuffled order")
	fs.IntVar(&f.warm, "warm", 1, "rounds before, not counted")
	fs.DurationVar(&f.limit, "for", 0, "start no further round after this `time`, and judge by those that there are; 0 = no limit")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the order")
	fs.BoolVar(&f.rebind, "rebind", false, "prepare and release the prover in every run, for sessions that do not fit beside each other")
	fs.StringVar(&f.keys, "keys", "", "`directory` of forgeable measurement keys, made when missing, on the device where an arm has one (default: the user's cache)")
	fs.StringVar(&f.out, "out", "", "write results.json, results.txt (Go benchmark format), report.html and the pictures to this `directory`")
	fs.Float64Var(&f.rule.Alpha, "alpha", 0, "significance after adjustment for all comparisons (default 0.05)")
	fs.Float64Var(&f.rule.MinEffect, "effect", 0, "smaller relative differences are none (default 0.01)")
	fs.Float64Var(&f.rule.Tolerance, "tolerance", 0, "\"no difference\" needs an interval within this (default 0.05)")
	fs.BoolVar(&f.quick, "quick", false, "compiled against direct synthesis of porep-2k with an A/A arm: a few minutes on two cores")
	fs.BoolVar(&f.list, "list", false, "list the knobs and stop")
	return f.run
}

func (f *abFlags) run(ctx context.Context, out io.Writer) error {
	if f.list {
		listAxes(out)
		return nil
	}
	if f.quick {
		if f.shape != "porep-2k" || f.work != "" || f.preset != "" || len(f.knobs) > 0 {
			return errors.New("-quick is a comparison of its own: no -shape, -work, -preset or -knob with it")
		}
		f.shape, f.work, f.aa = "porep-2k", workSynth, true
		f.knobs = []string{"synthesis=compiled,direct"}
	}
	arms, err := f.arms()
	if err != nil {
		return err
	}
	if f.n < 1 || f.warm < 0 {
		return fmt.Errorf("-n %d -warm %d", f.n, f.warm)
	}
	if err := f.rule.Validate(); err != nil {
		return err
	}
	w, err := f.workload(ctx, arms)
	if err != nil {
		return err
	}
	r := newABResult(f, arms)
	m := startMonitor(100 * time.Millisecond)
	err = f.measure(ctx, w, r)
	r.RSS = m.end()
	return f.finish(r, errors.Join(err, w.close()), out)
}

// finish judges, shows and writes the rounds that there are, also of a run that failed or was given up: they may have taken hours.
func (f *abFlags) finish(r *ABResult, err error, out io.Writer) error {
	if err != nil {
		r.Failed, r.Rounds = err.Error(), 0
		for i := range r.Arms {
			r.Rounds = max(r.Rounds, len(r.Arms[i].Costs))
		}
		if r.Rounds == 0 { // an older result is worth more
			return err
		}
	}
	r.judge()
	r.table(out)
	if f.out != "" {
		err = errors.Join(err, r.write(f.out))
	}
	return err
}

func listAxes(out io.Writer) {
	for _, a := range axes() {
		id := ""
		if a.ID != "" {
			id = " (" + a.ID + ")"
		}
		fmt.Fprintf(out, "%-18s %s%s\n%18s   values: %s\n%18s   touches: %s\n", a.Name, a.About, id, "", strings.Join(a.Values, ", "), "", strings.Join(a.Phases, ", "))
	}
}

// arms reads the flags that say what to compare, and settles f.work.
func (f *abFlags) arms() ([]Arm, error) {
	base := defaultSettings()
	for _, s := range f.base {
		c, err := parseChoice(s)
		if err != nil {
			return nil, err
		}
		if err := c.axis.Set(&base, c.values[0]); err != nil {
			return nil, fmt.Errorf("-set %s: %w", s, err)
		}
	}
	var arms []Arm
	var err error
	switch f.preset {
	case "phase4":
		arms, err = phase4(base, f.work)
	case "":
		var choices []choice
		for _, k := range f.knobs {
			c, err := parseChoice(k)
			if err != nil {
				return nil, err
			}
			choices = append(choices, c)
		}
		arms, err = makeArms(base, choices, f.plan)
	default:
		err = fmt.Errorf("no preset %q", f.preset)
	}
	if err != nil {
		return nil, err
	}
	if f.aa {
		again := arms[0]
		again.Name += "#again"
		arms = append(arms, again)
	}
	switch f.work {
	case workSynth, workProve, workProver:
	case "":
		f.work = workSynth
		for _, a := range arms {
			for _, p := range a.Changed {
				if !strings.HasPrefix(p, "synth.") {
					f.work = workProve
				}
			}
		}
	default:
		return nil, fmt.Errorf("-work %q: %s, %s or %s", f.work, workSynth, workProve, workProver)
	}
	return arms, nil
}

// measure binds the arms and runs the rounds.
func (f *abFlags) measure(ctx context.Context, w *workload, r *ABResult) (err error) {
	bounds := make([]*bound, len(r.Arms))
	release := func(i int) {
		if bounds[i] != nil {
			err = errors.Join(err, bounds[i].close())
			bounds[i] = nil
		}
	}
	defer func() {
		for i := range bounds {
			release(i)
		}
	}()
	order, start := rand.New(rand.NewPCG(f.seed, 0)), time.Now()
	for round := -f.warm; round < f.n; round++ {
		if f.limit > 0 && round > 0 && time.Since(start) > f.limit {
			fmt.Fprintf(os.Stderr, "\nbench: %v are over after %d of %d rounds\n", f.limit, round, f.n)
			r.Rounds = round
			break
		}
		for _, i := range order.Perm(len(r.Arms)) {
			a := &r.Arms[i]
			if a.Unavailable != "" {
				continue
			}
			if bounds[i] == nil {
				if bounds[i], err = w.bind(ctx, a.settings); err != nil {
					if !isUnavailable(err) {
						return fmt.Errorf("%s: %w", a.Name, err)
					}
					a.Unavailable, bounds[i], err = err.Error(), nil, nil
					continue
				}
			}
			debug.FreeOSMemory() // each run starts from the same heap
			o, err := bounds[i].run(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", a.Name, err)
			}
			if err := r.note(i, round, o); err != nil {
				return err
			}
			if f.rebind {
				release(i)
			}
		}
		fmt.Fprintf(os.Stderr, "\rbench: round %d of %d ", round+1, f.n)
	}
	fmt.Fprintln(os.Stderr)
	return nil
}

// write leaves every form of the result in a directory.
func (r *ABResult) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(dir, "results.json"), r); err != nil {
		return err
	}
	files := map[string]func(io.Writer) error{"results.txt": r.benchFormat, "phases.svg": r.bars, "report.html": r.html}
	for i := range r.Arms {
		if a := &r.Arms[i]; a.sample != nil {
			files["waterfall-"+fileName(a.Name)+".svg"] = a.waterfall
		}
	}
	for name, f := range files {
		if err := writeFile(filepath.Join(dir, name), f); err != nil {
			return err
		}
	}
	return nil
}

// fileName makes an arm's name fit for a file.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '=', r == '-':
			return r
		}
		return '_'
	}, s)
}
