package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"sort"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/filgroth/filgroth/bench/stats"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
	"golang.org/x/sync/errgroup"
)

// PhaseResult is what the modes single, prover and batch find.
type PhaseResult struct {
	Environment Environment          `json:"environment"`
	Mode        string               `json:"mode"`
	Shape       string               `json:"shape"`
	Constraints int                  `json:"constraints"`
	Settings    map[string]string    `json:"settings"` // every knob
	Bind        Cost                 `json:"bind"`     // preparing the prover: key, device
	Runs        []Cost               `json:"runs"`
	Phases      map[string][]float64 `json:"phase_seconds"`
	Latencies   []float64            `json:"latencies_s,omitempty"` // batch: from witness to proof, of each circuit
	PerHour     float64              `json:"proofs_per_hour"`
	Verified    bool                 `json:"verified"`
	Failed      string               `json:"error,omitempty"` // why it is not; the runs before that stand
	PeakRSS     int64                `json:"peak_rss_bytes"`
	RSS         []Sample             `json:"rss"`

	order  []string
	sample []span.Record
}

// phaseFlags are the flags of the three modes.
type phaseFlags struct {
	mode, shape, keys, json, waterfall, trace string
	set                                       []string
	n, count, concurrency                     int
}

func phaseMode(name string) func(*flag.FlagSet) func(context.Context, io.Writer) error {
	return func(fs *flag.FlagSet) func(context.Context, io.Writer) error {
		f := &phaseFlags{mode: name, n: 1, count: 1, concurrency: 1}
		fs.StringVar(&f.shape, "shape", "porep-2k", "which circuit, or mix-16 to mix-27")
		fs.Var(repeated{&f.set}, "set", "`NAME=value` of a knob; may be repeated; bench ab -list names them")
		fs.StringVar(&f.keys, "keys", "", "`directory` of forgeable measurement keys, made when missing (default: the user's cache)")
		fs.StringVar(&f.json, "json", "", "write the result to this `file` too")
		fs.StringVar(&f.waterfall, "waterfall", "", "draw the phases of the last run in this SVG `file`")
		fs.StringVar(&f.trace, "trace", "", "write the phases of the last run to this `file` as a Chrome trace")
		if name == "batch" {
			fs.IntVar(&f.count, "count", 4, "circuits to prove")
			fs.IntVar(&f.concurrency, "concurrency", 2, "circuits under way at the same time: one makes its witness while another one is proved")
		} else {
			fs.IntVar(&f.n, "n", 1, "measured `runs`")
		}
		return f.run
	}
}

func (f *phaseFlags) run(ctx context.Context, out io.Writer) error {
	s := defaultSettings()
	for _, k := range f.set {
		c, err := parseChoice(k)
		if err != nil {
			return err
		}
		if err := c.axis.Set(&s, c.values[0]); err != nil {
			return fmt.Errorf("-set %s: %w", k, err)
		}
	}
	if err := s.Validate(); err != nil {
		return err
	}
	if f.n < 1 || f.count < 1 || f.concurrency < 1 {
		return errors.New("-n, -count and -concurrency are at least 1")
	}
	r := &PhaseResult{Environment: ReadEnvironment(), Mode: f.mode, Shape: f.shape, Settings: map[string]string{}, Phases: map[string][]float64{}}
	for _, a := range axes() {
		r.Settings[a.Name] = a.Get(&s)
	}
	w, err := newWorkload(ctx, f.shape, max(f.count, s.Circuits), true, f.keys)
	if err != nil {
		return err
	}
	r.Constraints = w.sys.Constraints()
	m := startMonitor(100 * time.Millisecond)
	err = f.measure(ctx, w, s, r)
	r.RSS = m.end()
	return f.finish(r, errors.Join(err, w.close()), out)
}

// finish shows and writes the result, also of a run that failed after some rounds.
func (f *phaseFlags) finish(r *PhaseResult, err error, out io.Writer) error {
	if err != nil {
		r.Verified, r.Failed = false, err.Error()
		if len(r.Runs) == 0 { // an older result is worth more
			return err
		}
	}
	r.print(out)
	return errors.Join(err, f.write(r))
}

func (f *phaseFlags) write(r *PhaseResult) error {
	if f.json != "" {
		if err := writeJSON(f.json, r); err != nil {
			return err
		}
	}
	if f.waterfall != "" {
		if err := writeFile(f.waterfall, func(w io.Writer) error { return span.WriteSVG(w, r.sample) }); err != nil {
			return err
		}
	}
	if f.trace != "" {
		return writeFile(f.trace, func(w io.Writer) error { return span.WriteChromeTrace(w, r.sample) })
	}
	return nil
}

func (f *phaseFlags) measure(ctx context.Context, w *workload, s Settings, r *PhaseResult) (err error) {
	var b *bound
	r.Bind, err = measure(func() (err error) {
		b, err = w.bind(ctx, s)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	for range f.n {
		debug.FreeOSMemory()
		switch f.mode {
		case "single":
			err = r.single(ctx, b)
		case "prover":
			err = r.proveOnly(ctx, b)
		case "batch":
			err = r.batch(ctx, b, f.count, f.concurrency)
		}
		if err != nil {
			return err
		}
	}
	r.Verified = true
	for _, c := range append([]Cost{r.Bind}, r.Runs...) {
		r.PeakRSS = max(r.PeakRSS, c.PeakRSS)
	}
	return nil
}

// add notes a run of n proofs.
func (r *PhaseResult) add(c Cost, records []span.Record, n int) {
	r.Runs = append(r.Runs, c)
	r.sample = records
	r.PerHour = float64(n) * 3600 / c.Wall
	sums := byName(records)
	for _, x := range records {
		s, ok := sums[x.Name]
		if !ok {
			continue
		}
		delete(sums, x.Name)
		if len(r.Phases[x.Name]) == 0 {
			r.order = append(r.order, x.Name)
		}
		r.Phases[x.Name] = append(r.Phases[x.Name], s.Wall.Seconds())
	}
}

// single is a whole proof (or as many as the knob circuits says) from the vanilla proof's values.
func (r *PhaseResult) single(ctx context.Context, b *bound) error {
	o, err := b.run(ctx)
	if err != nil {
		return err
	}
	r.add(o.Cost, o.Records, b.s.Circuits)
	return nil
}

// proveOnly leaves the witness out of the measurement.
func (r *PhaseResult) proveOnly(ctx context.Context, b *bound) (err error) {
	as := make([]*synth.Assignment, b.s.Circuits)
	defer func() {
		for _, a := range as {
			if a != nil {
				err = errors.Join(err, a.Close())
			}
		}
	}()
	for i := range as {
		if as[i], err = b.assign(ctx, b.w.cases[i].Circuit); err != nil {
			return err
		}
	}
	b.seen.reset()
	rec := span.NewRecorder()
	var results []groth16.Result
	cost, err := measure(func() (err error) {
		results, err = b.proveAll(span.With(ctx, rec), as)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := b.check(ctx, as, results); err != nil {
		return err
	}
	r.add(cost, rec.Records(), len(as))
	return nil
}

// batch keeps so many circuits under way.
func (r *PhaseResult) batch(ctx context.Context, b *bound, count, concurrency int) error {
	rec := span.NewRecorder()
	ctx = span.With(ctx, rec)
	var mu sync.Mutex
	cost, err := measure(func() error {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(concurrency)
		for i := range count {
			g.Go(func() error {
				start := time.Now()
				if err := b.one(ctx, i); err != nil {
					return fmt.Errorf("circuit %d: %w", i, err)
				}
				mu.Lock()
				defer mu.Unlock()
				r.Latencies = append(r.Latencies, time.Since(start).Seconds())
				return nil
			})
		}
		return g.Wait()
	})
	if err != nil {
		return err
	}
	sort.Float64s(r.Latencies)
	r.add(cost, rec.Records(), count)
	return nil
}

// one makes and verifies the i-th proof.
func (b *bound) one(ctx context.Context, i int) (err error) {
	a, err := b.assign(ctx, b.w.cases[i].Circuit)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	p, _, err := b.prover.Prove(ctx, a)
	if err != nil {
		return err
	}
	ok, err := groth16.Verify(b.w.key.VerifyingKey(), b.w.cases[i].Public, p)
	if err == nil && !ok {
		err = errors.New("the proof does not verify")
	}
	return err
}

func (r *PhaseResult) print(w io.Writer) {
	e := &r.Environment
	fmt.Fprintf(w, "%s %s: %d constraints; %s, %d cores, %s, GPU %s, commit %s, load %s\n", r.Mode, r.Shape, r.Constraints, e.CPU, e.Cores, bytesString(e.MemoryBytes), e.shortGPU(), e.Commit, e.LoadBefore)
	fmt.Fprintf(w, "prepare   %v\n", r.Bind)
	for _, c := range r.Runs {
		fmt.Fprintf(w, "run       %v\n", c)
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "phase\tmedian\tall runs")
	for _, p := range r.order {
		v := r.Phases[p]
		fmt.Fprintf(tw, "%s\t%s\t", p, seconds(stats.Median(v, 0.95).Center))
		for _, x := range v {
			fmt.Fprintf(tw, " %s", seconds(x))
		}
		fmt.Fprintln(tw)
	}
	tw.Flush()
	if n := len(r.Latencies); n > 0 {
		fmt.Fprintf(w, "latency   %s least, %s median, %s most\n", seconds(r.Latencies[0]), seconds(r.Latencies[n/2]), seconds(r.Latencies[n-1]))
	}
	fmt.Fprintf(w, "rate      %.1f proofs an hour\npeak RSS  %s\nverified  %t\n", r.PerHour, bytesString(r.PeakRSS), r.Verified)
}
