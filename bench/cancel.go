package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
)

// Cancelled is what giving work up in a phase came to.
type Cancelled struct {
	Phase      string  `json:"phase"`
	Full       float64 `json:"full_s"`    // how long the phase takes
	Into       float64 `json:"into_s"`    // when after its start the context ended
	Latency    float64 `json:"latency_s"` // from there to the return
	Error      string  `json:"error"`
	Goroutines [2]int  `json:"goroutines"` // before, and after
	Buffers    [2]int  `json:"buffers"`
	LiveBytes  [2]int64
	OK         bool `json:"ok"` // the context's error, nothing left behind
}

// CancelResult is what the mode cancel finds.
type CancelResult struct {
	Environment Environment `json:"environment"`
	Shape       string      `json:"shape"`
	Phases      []Cancelled `json:"phases"`
	RSS         []Sample    `json:"rss"`
}

type cancelFlags struct {
	shape, keys, json string
	fraction          float64
}

func cancelMode(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	f := new(cancelFlags)
	fs.StringVar(&f.shape, "shape", "porep-2k", "which circuit, or mix-16 to mix-22")
	fs.StringVar(&f.keys, "keys", "", "`directory` of forgeable measurement keys, made when missing (default: the user's cache)")
	fs.StringVar(&f.json, "json", "", "write the result to this `file` too")
	fs.Float64Var(&f.fraction, "at", 0.4, "how far into a phase it is given up, as a fraction of its time")
	return f.run
}

// job is work to be given up. Phases are the spans inside that are given up one by one; none: the work as a whole.
type job struct {
	name  string
	spans bool
	do    func(ctx context.Context) error
}

func (f *cancelFlags) run(ctx context.Context, out io.Writer) error {
	if f.fraction < 0 || f.fraction >= 1 {
		return fmt.Errorf("-at %v: 0 to 1", f.fraction)
	}
	w, err := newWorkload(ctx, f.shape, 1, true, f.keys)
	if err != nil {
		return err
	}
	a, err := synth.AssignWitness(ctx, w.cases[0].Circuit, w.sys, synth.AssignConfig{})
	if err != nil {
		return err
	}
	s := defaultSettings()
	p, err := w.bind(ctx, s)
	if err != nil {
		return err
	}
	r := &CancelResult{Environment: ReadEnvironment(), Shape: f.shape}
	m := startMonitor(100 * time.Millisecond) // one goroutine more, before and after alike
	for _, j := range w.jobs(a, p) {
		if err = r.each(ctx, j, f.fraction); err != nil {
			err = fmt.Errorf("%s: %w", j.name, err)
			break
		}
	}
	r.RSS = m.end()
	if err != nil {
		return err
	}
	r.print(out)
	if f.json != "" {
		if err := writeJSON(f.json, r); err != nil {
			return err
		}
	}
	if err := errors.Join(p.close(), a.Close(), w.close()); err != nil {
		return err
	}
	for _, c := range r.Phases {
		if !c.OK {
			return errors.New("a phase did not end as it should")
		}
	}
	return nil
}

// jobs are all pieces of work that take a context. They must leave nothing behind whether or not they end well.
func (w *workload) jobs(a *synth.Assignment, p *bound) []job {
	circuit := w.cases[0].Circuit
	closing := func(a *synth.Assignment, err error) error {
		if err != nil {
			return err
		}
		return a.Close()
	}
	return []job{
		{"synth.compile", false, func(ctx context.Context) error { _, err := synth.Compile(ctx, circuit); return err }},
		{"synth.witness", false, func(ctx context.Context) error {
			return closing(synth.AssignWitness(ctx, circuit, w.sys, synth.AssignConfig{}))
		}},
		{"synth.direct", false, func(ctx context.Context) error {
			return closing(synth.DirectSynthesize(ctx, circuit, w.sys, synth.DirectConfig{InlineTerms: 4, Presize: synth.PresizeExact}))
		}},
		{"synth.eval (stream)", false, func(ctx context.Context) error {
			return w.sys.EvaluateStream(ctx, a, 1<<18, 0, func(int, []fr.Element, []fr.Element, []fr.Element) error { return nil })
		}},
		{"synth.satisfied", false, func(ctx context.Context) error { return w.sys.Satisfied(ctx, a, 0) }},
		{"digest", false, func(ctx context.Context) error { _, err := w.sys.DigestCheckpoints(ctx, 0, nil); return err }},
		{"key.load", false, w.loadKey},
		{"setup", false, func(ctx context.Context) error {
			// given up early: a whole key takes too long here
			ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Second, errEnough)
			defer cancel()
			key, err := groth16.Setup(ctx, w.sys, groth16.SetupOptions{})
			if err == nil {
				return key.Close()
			}
			if context.Cause(ctx) == errEnough {
				return nil
			}
			return err
		}},
		{"prove", true, func(ctx context.Context) error { _, _, err := p.prover.Prove(ctx, a); return err }},
	}
}

var errEnough = errors.New("enough seen")

// loadKey opens the key anew and converts its points, as the first proof under a key does.
func (w *workload) loadKey(ctx context.Context) (err error) {
	key, err := groth16.OpenProvingKey(w.key.Path())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, key.Close()) }()
	s := defaultSettings()
	s.Prove.Key.Residence = groth16.ResidenceResident
	backend, err := cpuBackend(s)
	if err != nil {
		return err
	}
	session, err := backend.Bind(ctx, w.sys, key, s.Prove)
	if err != nil {
		return err
	}
	return session.Close()
}

// each runs a job to its end, and then once for each of its phases until that phase is given up.
func (r *CancelResult) each(ctx context.Context, j job, fraction float64) error {
	rec := span.NewRecorder()
	start := time.Now()
	if err := j.do(span.With(ctx, rec)); err != nil {
		return err
	}
	if !j.spans {
		return r.giveUp(ctx, j, j.name, "", time.Since(start), fraction)
	}
	seen := map[string]bool{}
	for _, x := range rec.Records() {
		if seen[x.Name] {
			continue
		}
		seen[x.Name] = true
		if err := r.giveUp(ctx, j, x.Name, x.Name, x.Duration(), fraction); err != nil {
			return err
		}
	}
	return nil
}

// giveUp cancels the job within a phase ("": at any time) and notes what follows.
func (r *CancelResult) giveUp(ctx context.Context, j job, name, phase string, full time.Duration, fraction float64) error {
	into := time.Duration(float64(full) * fraction)
	c := Cancelled{Phase: name, Full: full.Seconds(), Into: into.Seconds()}
	runtime.GC()
	c.Goroutines[0], c.Buffers[0], c.LiveBytes[0] = runtime.NumGoroutine(), buffers(), pinning.LiveBytes()

	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var at time.Time
	var timer *time.Timer
	arm := func() {
		timer = time.AfterFunc(into, func() {
			mu.Lock()
			at = time.Now()
			mu.Unlock()
			cancel()
		})
	}
	if phase == "" {
		arm()
	} else {
		rec := span.NewRecorder()
		rec.Listen(func(x span.Record) {
			if x.Open && x.Name == phase && timer == nil {
				arm()
			}
		})
		inner = span.With(inner, rec)
	}
	err := j.do(inner)
	end := time.Now()
	if timer != nil {
		timer.Stop()
	}
	mu.Lock()
	defer mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case at.IsZero() || err == nil:
		c.Error = "ended before it was given up"
	default:
		c.Error, c.Latency = err.Error(), end.Sub(at).Seconds()
	}
	for i := 0; i < 100 && runtime.NumGoroutine() > c.Goroutines[0]; i++ {
		time.Sleep(10 * time.Millisecond)
	}
	c.Goroutines[1], c.Buffers[1], c.LiveBytes[1] = runtime.NumGoroutine(), buffers(), pinning.LiveBytes()
	c.OK = (errors.Is(err, context.Canceled) || c.Latency == 0 && err == nil) && c.Goroutines[1] <= c.Goroutines[0] &&
		c.Buffers[0] == c.Buffers[1] && c.LiveBytes[0] == c.LiveBytes[1]
	r.Phases = append(r.Phases, c)
	return nil
}

// buffers is the number of live ones.
func buffers() (n int) {
	for _, u := range pinning.Live() {
		n += u.Buffers
	}
	return n
}

func (r *CancelResult) print(w io.Writer) {
	e := &r.Environment
	fmt.Fprintf(w, "%s; %s, %d cores, commit %s, load %s\n", r.Shape, e.CPU, e.Cores, e.Commit, e.LoadBefore)
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "phase\ttakes\tgiven up after\treturned after\tgoroutines\tbuffers\toutcome")
	for _, c := range r.Phases {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%d -> %d\t%d -> %d\t%s\n", c.Phase, seconds(c.Full), seconds(c.Into), seconds(c.Latency), c.Goroutines[0], c.Goroutines[1],
			c.Buffers[0], c.Buffers[1], map[bool]string{true: "ok", false: "LEFT BEHIND"}[c.OK]+": "+c.Error)
	}
	tw.Flush()
}
