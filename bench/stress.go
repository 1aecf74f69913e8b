package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/pinning"
)

// StressResult is what the mode stress finds.
type StressResult struct {
	Environment Environment            `json:"environment"`
	Seconds     float64                `json:"seconds"`
	Kinds       map[string]*stressKind `json:"kinds"`
	Broken      []string               `json:"broken_invariants"`
	HostPeak    int64                  `json:"host_budget_peak_bytes"`
	HostTotal   int64                  `json:"host_budget_bytes"`
	PeakRSS     int64                  `json:"peak_rss_bytes"`
	RSS         []Sample               `json:"rss"`

	mu sync.Mutex
}

type stressKind struct {
	Proofs    int     `json:"proofs"`
	Cancelled int     `json:"cancelled"`
	Worst     float64 `json:"worst_latency_s"`
	Sum       float64 `json:"sum_latency_s"`
}

type stressFlags struct {
	kinds, cache, json string
	duration           time.Duration
	clients            int
	cancel             float64
	seed               uint64
}

func stressMode(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	f := new(stressFlags)
	fs.StringVar(&f.kinds, "kinds", "winning-2k,window-2k", "shapes to mix, small ones; each kind has its own priority in the engine")
	fs.DurationVar(&f.duration, "for", 30*time.Second, "how long new work is begun")
	fs.IntVar(&f.clients, "clients", 4, "callers at the same time")
	fs.Float64Var(&f.cancel, "cancel", 0.2, "share of calls that are given up at a random time")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of everything random")
	fs.StringVar(&f.cache, "cache", "", "`directory` of the engine's development keys (default: the user's cache)")
	fs.StringVar(&f.json, "json", "", "write the result to this `file` too")
	return f.run
}

func (f *stressFlags) run(ctx context.Context, out io.Writer) error {
	if f.clients < 1 || f.cancel < 0 || f.cancel > 1 {
		return errors.New("-clients is at least 1, -cancel from 0 to 1")
	}
	var work []*stressWork
	for _, name := range strings.Split(f.kinds, ",") {
		w, err := newStressWork(ctx, name, f.seed)
		if err != nil {
			return err
		}
		work = append(work, w)
	}
	goroutines, live := runtime.NumGoroutine(), pinning.LiveBytes()
	r := &StressResult{Environment: ReadEnvironment(), Kinds: map[string]*stressKind{}}
	engine, err := filgroth.New(filgroth.Config{DevelopmentKeys: true, CacheDir: f.cache, WorkersPerBackend: 2})
	if err != nil {
		return err
	}
	for _, w := range work {
		r.Kinds[w.name] = new(stressKind)
		// the first proof makes and loads the key
		if err := f.call(ctx, engine, w, r, 0); err != nil {
			return errors.Join(err, engine.Close())
		}
	}
	m := startMonitor(100 * time.Millisecond)
	start := time.Now()
	err = f.drive(ctx, engine, work, r)
	r.Seconds = time.Since(start).Seconds()
	s := engine.Status()
	r.HostPeak, r.HostTotal = s.Host.Peak, s.Host.Total
	r.invariant(s.Host.Used == 0 && s.Jobs == 0 && s.Queued == 0, "at rest the engine has %d jobs, %d queued, %d bytes reserved", s.Jobs, s.Queued, s.Host.Used)
	r.invariant(s.Host.Peak <= s.Host.Total, "host budget exceeded: %d of %d bytes", s.Host.Peak, s.Host.Total)
	err = errors.Join(err, engine.Close())
	r.RSS = m.end()
	r.PeakRSS = peakRSS()
	for i := 0; i < 100 && runtime.NumGoroutine() > goroutines; i++ {
		time.Sleep(20 * time.Millisecond)
	}
	r.invariant(runtime.NumGoroutine() <= goroutines, "%d goroutines left, %d before", runtime.NumGoroutine(), goroutines)
	r.invariant(pinning.LiveBytes() == live, "%d bytes of buffers left, %d before: %v", pinning.LiveBytes(), live, pinning.Live())
	if err != nil {
		return err
	}
	r.print(out)
	if f.json != "" {
		if err := writeJSON(f.json, r); err != nil {
			return err
		}
	}
	if len(r.Broken) > 0 {
		return errors.New("invariants broken")
	}
	return nil
}

func (r *StressResult) invariant(ok bool, format string, a ...any) {
	if !ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.Broken = append(r.Broken, fmt.Sprintf(format, a...))
	}
}

// drive lets the clients call until the time is over.
func (f *stressFlags) drive(ctx context.Context, e *filgroth.Engine, work []*stressWork, r *StressResult) error {
	until := time.Now().Add(f.duration)
	errs := make([]error, f.clients)
	var wg sync.WaitGroup
	for c := range f.clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rnd := rand.New(rand.NewPCG(f.seed, uint64(c)))
			for time.Now().Before(until) && ctx.Err() == nil && errs[c] == nil {
				w := work[rnd.IntN(len(work))]
				after := time.Duration(0)
				if rnd.Float64() < f.cancel {
					after = 1 + time.Duration(rnd.Float64()*float64(w.usual()))
				}
				errs[c] = f.call(ctx, e, w, r, after)
			}
		}()
	}
	wg.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

// call makes a proof and checks it, and that a changed one is refused; with after set it is given up after that time.
func (f *stressFlags) call(ctx context.Context, e *filgroth.Engine, w *stressWork, r *StressResult, after time.Duration) error {
	inner, cancel := ctx, context.CancelFunc(func() {})
	if after > 0 {
		inner, cancel = context.WithTimeout(ctx, after)
	}
	defer cancel()
	start := time.Now()
	proof, err := w.prove(inner, e)
	took := time.Since(start)
	r.mu.Lock()
	k := r.Kinds[w.name]
	switch {
	case err == nil:
		k.Proofs++
		k.Sum += took.Seconds()
		k.Worst = max(k.Worst, took.Seconds())
	case after > 0 && errors.Is(err, context.DeadlineExceeded):
		k.Cancelled++
	}
	r.mu.Unlock()
	if err != nil {
		if after > 0 && errors.Is(err, context.DeadlineExceeded) {
			r.invariant(took < after+5*time.Second, "%s: a call given up after %v returned after %v", w.name, after, took)
			return nil
		}
		return fmt.Errorf("%s: %w", w.name, err)
	}
	w.took(took)
	ok, err := w.verify(ctx, e, proof)
	r.invariant(err == nil && ok, "%s: a proof does not verify: %v", w.name, err)
	bad := append([]byte(nil), proof...)
	bad[len(bad)-1] ^= 1
	ok, err = w.verify(ctx, e, bad)
	r.invariant(!ok, "%s: a changed proof verifies (%v)", w.name, err)
	return ctx.Err()
}

func (r *StressResult) print(w io.Writer) {
	e := &r.Environment
	fmt.Fprintf(w, "stress %.0f s; %s, %d cores, commit %s, load %s\n", r.Seconds, e.CPU, e.Cores, e.Commit, e.LoadBefore)
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "shape\tproofs\tgiven up\tmean latency\tworst latency")
	names := make([]string, 0, len(r.Kinds))
	for n := range r.Kinds {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		k := r.Kinds[n]
		fmt.Fprintf(tw, "%s\t%d\t%d\t%s\t%s\n", n, k.Proofs, k.Cancelled, seconds(k.Sum/float64(max(1, k.Proofs))), seconds(k.Worst))
	}
	tw.Flush()
	fmt.Fprintf(w, "host budget: peak %s of %s; peak RSS %s\n", bytesString(r.HostPeak), bytesString(r.HostTotal), bytesString(r.PeakRSS))
	for _, b := range r.Broken {
		fmt.Fprintln(os.Stderr, "bench: broken:", b)
	}
	fmt.Fprintf(w, "invariants broken: %d\n", len(r.Broken))
}
