package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/gpu"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth/vanilla"
	"golang.org/x/sync/errgroup"
)

// FullResult is what the mode full finds.
type FullResult struct {
	Environment Environment        `json:"environment"`
	Shape       string             `json:"shape"`
	Devices     int                `json:"devices"`
	Budget      int64              `json:"device_memory_bytes"` // 0: all
	Partitions  int                `json:"partitions"`
	Input       float64            `json:"input_s"` // making synthetic vanilla proofs, not part of anything
	Preload     Cost               `json:"preload"` // key (made if missing) and system, bound to the devices
	Start       float64            `json:"start_s"` // from process start to the first proof's start
	First       Cost               `json:"first"`   // one job alone, key resident: bytes in to verified proof
	Again       []Cost             `json:"again"`   // the same for other sectors, one after the other
	Jobs        int                `json:"jobs"`
	Sustained   Cost               `json:"sustained"` // all jobs queued at the same time
	PerProof    float64            `json:"per_proof_s"`
	Busy        map[string]float64 `json:"busy_share"`      // of each device, first to last kernel of the sustained run
	HostPeak    int64              `json:"host_peak_bytes"` // anonymous memory
	DevicePeak  map[string]int64   `json:"device_peak_bytes"`
	Phases      map[string]float64 `json:"phase_s"` // of the sustained run: open time by name, all partitions together
	Fallbacks   int                `json:"fallbacks"`
	Verified    bool               `json:"verified"`
	Leaked      int64              `json:"leaked_bytes"`

	sample []span.Record
}

type fullFlags struct {
	shape, keys, json, waterfall, trace string
	devices, jobs, again, workers, per  int
	device, host                        byteSize
	cancel                              bool
}

func fullMode(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	f := &fullFlags{}
	fs.StringVar(&f.shape, "shape", "porep-32g", "which proof: {porep,winning,window,update}-{2k,8m,512m,32g,64g}")
	fs.StringVar(&f.keys, "keys", "", "`directory` for development keys, made there when missing (32 GiB: 44 GiB; a tmpfs will do)")
	fs.IntVar(&f.devices, "devices", 1, "CUDA devices to use; 0 is the CPU")
	fs.Var(&f.device, "device-memory", "byte budget of each device, as 24GiB; 0 is all")
	fs.Var(&f.host, "host-memory", "byte budget of the host; 0 is four fifths of the machine")
	fs.IntVar(&f.jobs, "jobs", 3, "jobs of the sustained run; 0 leaves it out")
	fs.IntVar(&f.again, "again", 2, "single jobs after the first")
	fs.IntVar(&f.workers, "workers", 1, "calls that a device gets at the same time")
	fs.IntVar(&f.per, "circuits", 0, "circuits a call; 0 lets the backend choose")
	fs.BoolVar(&f.cancel, "cancel", false, "also cancel a job in its middle and show that everything is given back")
	fs.StringVar(&f.json, "json", "", "write the result to this `file` too")
	fs.StringVar(&f.waterfall, "waterfall", "", "draw the phases of the first proof in this SVG `file`")
	fs.StringVar(&f.trace, "trace", "", "write them as a Chrome trace to this `file`")
	return f.run
}

var processStart = time.Now()

func parseShapeName(name string) (filgroth.Kind, vanilla.SectorSize, error) {
	k, s, ok := strings.Cut(name, "-")
	kind, err := filgroth.ParseKind(k)
	if err != nil || !ok {
		return 0, 0, fmt.Errorf("shape %q", name)
	}
	for i, short := range []string{"2k", "8m", "512m", "32g", "64g"} {
		if s == short {
			return kind, vanilla.RegisteredSizes[i], nil
		}
	}
	return 0, 0, fmt.Errorf("shape %q", name)
}

func (f *fullFlags) run(ctx context.Context, out io.Writer) (err error) {
	kind, size, err := parseShapeName(f.shape)
	if err != nil {
		return err
	}
	r := &FullResult{Environment: ReadEnvironment(), Shape: f.shape, Devices: f.devices, Budget: int64(f.device), Jobs: f.jobs,
		Busy: map[string]float64{}, DevicePeak: map[string]int64{}, Phases: map[string]float64{}}
	before := pinning.LiveBytes()
	ds, err := openDevices(f.devices, int64(f.device))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeDevices(ds)) }()
	cfg := filgroth.Config{DevelopmentKeys: true, CacheDir: f.keys, Backends: named(ds), WorkersPerBackend: f.workers,
		HostMemory: int64(f.host), Prover: groth16.Config{CircuitsPerCall: f.per}, Progress: progressLine(os.Stderr)}
	if len(ds) > 0 {
		cfg.SetupDevice = ds[0].FixedBase()
	}
	e, err := filgroth.New(cfg)
	if err != nil {
		return err
	}
	m := startHostMonitor()
	err = f.measure(ctx, e, kind, size, ds, r)
	r.HostPeak = m.end()
	err = errors.Join(err, e.Close())
	r.Leaked = pinning.LiveBytes() - before
	r.print(out)
	if err != nil {
		return err
	}
	return f.write(r)
}

func (f *fullFlags) measure(ctx context.Context, e *filgroth.Engine, kind filgroth.Kind, size vanilla.SectorSize, ds []*gpu.Device, r *FullResult) error {
	jobs, err := f.input(ctx, kind, size, r)
	if err != nil {
		return err
	}
	r.Preload, err = measure(func() error { _, err := e.Preload(ctx, kind, size); return err })
	if err != nil {
		return err
	}
	r.Start = time.Since(processStart).Seconds() - r.Input
	for i := range 1 + f.again {
		rec := span.NewRecorder()
		c, err := measure(func() error { return f.one(span.With(ctx, rec), e, jobs[i], r) })
		if err != nil {
			return err
		}
		if i == 0 {
			r.First, r.sample = c, rec.Records()
		} else {
			r.Again = append(r.Again, c)
		}
	}
	if f.cancel {
		if err := cancelled(ctx, e, jobs[len(jobs)-1]); err != nil {
			return err
		}
	}
	if f.jobs > 0 {
		if err := f.sustained(ctx, e, jobs[1+f.again:], r); err != nil {
			return err
		}
	}
	for _, d := range ds {
		r.DevicePeak[d.String()] = int64(d.Held().DevicePeak)
	}
	r.Verified = true
	return nil
}

// input makes the vanilla proofs of all jobs.
func (f *fullFlags) input(ctx context.Context, kind filgroth.Kind, size vanilla.SectorSize, r *FullResult) ([]fullJob, error) {
	n := 1 + f.again + f.jobs
	if f.cancel {
		n++
	}
	jobs := make([]fullJob, n)
	start := time.Now()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for i := range jobs {
		g.Go(func() (err error) {
			jobs[i], err = makeJob(gctx, kind, size, uint64(i))
			return err
		})
	}
	err := g.Wait()
	r.Input = time.Since(start).Seconds()
	return jobs, err
}

func (f *fullFlags) one(ctx context.Context, e *filgroth.Engine, job fullJob, r *FullResult) error {
	rep, err := job(ctx, e)
	if err != nil {
		return err
	}
	r.Partitions = len(rep.Partitions)
	for _, p := range rep.Partitions {
		if len(p.Attempts) > 0 {
			r.Fallbacks++
			fmt.Fprintf(os.Stderr, "partition %d: %v on %s\n", p.Index, p.Attempts[0].Err, p.Attempts[0].Backend)
		}
	}
	return nil
}

func (f *fullFlags) sustained(ctx context.Context, e *filgroth.Engine, jobs []fullJob, r *FullResult) (err error) {
	rec := span.NewRecorder()
	r.Sustained, err = measure(func() error {
		g, gctx := errgroup.WithContext(span.With(ctx, rec))
		for _, j := range jobs[:f.jobs] {
			g.Go(func() error {
				_, err := j(gctx, e)
				return err
			})
		}
		return g.Wait()
	})
	r.PerProof = r.Sustained.Wall / float64(f.jobs)
	records := rec.Records()
	for _, s := range span.Summarize(records) {
		r.Phases[s.Lane+" "+s.Name] += s.Sum.Seconds()
	}
	for lane, share := range busyShare(records) {
		r.Busy[lane] = share
	}
	return err
}

// busyShare is, for each device's lane, the union of its spans over the time from its first to its last.
func busyShare(records []span.Record) map[string]float64 {
	lanes := map[string][][2]time.Duration{}
	for _, x := range records {
		if strings.HasPrefix(x.Lane, "gpu") && !x.Open && x.Name != "key.load" && x.Name != "prove" {
			lanes[x.Lane] = append(lanes[x.Lane], [2]time.Duration{x.Start, x.End})
		}
	}
	out := map[string]float64{}
	for lane, v := range lanes {
		sort.Slice(v, func(i, j int) bool { return v[i][0] < v[j][0] })
		busy, end, last := time.Duration(0), v[0][0], v[0][1]
		for _, s := range v {
			from := max(s[0], end)
			if s[1] > from {
				busy += s[1] - from
				end = s[1]
			}
			last = max(last, s[1])
		}
		if last > v[0][0] {
			out[lane] = busy.Seconds() / (last - v[0][0]).Seconds()
		}
	}
	return out
}

// cancelled gives a job up in its middle.
func cancelled(ctx context.Context, e *filgroth.Engine, job fullJob) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before := pinning.LiveBytes()
	time.AfterFunc(1500*time.Millisecond, cancel)
	if _, err := job(ctx, e); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if now := pinning.LiveBytes(); now > before {
		return fmt.Errorf("a cancelled job left %d bytes", now-before)
	}
	return nil
}

func (f *fullFlags) write(r *FullResult) error {
	var errs []error
	if f.json != "" {
		errs = append(errs, writeJSON(f.json, r))
	}
	if f.waterfall != "" {
		errs = append(errs, writeFile(f.waterfall, func(w io.Writer) error { return span.WriteSVG(w, r.sample) }))
	}
	if f.trace != "" {
		errs = append(errs, writeFile(f.trace, func(w io.Writer) error { return span.WriteChromeTrace(w, r.sample) }))
	}
	return errors.Join(errs...)
}

func (r *FullResult) print(w io.Writer) {
	fmt.Fprintf(w, "shape %s, %d devices (%s each), %d partitions\n", r.Shape, r.Devices, budgetString(r.Budget), r.Partitions)
	fmt.Fprintf(w, "  input          %8.3f s (synthetic vanilla proofs, not counted below)\n", r.Input)
	fmt.Fprintf(w, "  preload        %v\n", r.Preload)
	fmt.Fprintf(w, "  process start to first proof %.3f s\n", r.Start)
	fmt.Fprintf(w, "  first proof    %v\n", r.First)
	for _, c := range r.Again {
		fmt.Fprintf(w, "  another        %v\n", c)
	}
	if r.Jobs > 0 {
		fmt.Fprintf(w, "  sustained      %v\n", r.Sustained)
		fmt.Fprintf(w, "  per proof      %8.3f s over %d jobs\n", r.PerProof, r.Jobs)
	}
	for _, k := range sortedKeys(r.Busy) {
		fmt.Fprintf(w, "  busy           %s %.1f %%\n", k, 100*r.Busy[k])
	}
	for _, k := range sortedKeys(r.DevicePeak) {
		fmt.Fprintf(w, "  device memory  %s %s\n", k, bytesString(r.DevicePeak[k]))
	}
	fmt.Fprintf(w, "  host memory    %s at peak, %d bytes left behind\n", bytesString(r.HostPeak), r.Leaked)
	for _, k := range sortedKeys(r.Phases) {
		fmt.Fprintf(w, "    %-24s %9.3f s\n", k, r.Phases[k])
	}
	fmt.Fprintf(w, "  fallbacks: %d\n  verified: %v\n", r.Fallbacks, r.Verified)
}

func budgetString(b int64) string {
	if b == 0 {
		return "all memory"
	}
	return bytesString(b)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// progressLine prints stages as they pass tenths.
func progressLine(w io.Writer) func(filgroth.Progress) {
	start := time.Now()
	last := make(chan [2]any, 1)
	last <- [2]any{"", int64(-1)}
	return func(p filgroth.Progress) {
		l := <-last
		tenth := p.Done * 10 / max(1, p.Total)
		if l[0] != p.Stage || l[1] != tenth {
			fmt.Fprintf(w, "%8.2f s  %v %s %d/%d\n", time.Since(start).Seconds(), p.Kind, p.Stage, p.Done, p.Total)
		}
		last <- [2]any{p.Stage, tenth}
	}
}

// hostMonitor samples what counts as host memory: anonymous pages, page-locked ones among them. Mapped key files are page
// cache and do not count, nor do those in a tmpfs, which the system calls shared memory.
type hostMonitor struct {
	stop chan struct{}
	peak chan int64
}

func startHostMonitor() *hostMonitor {
	m := &hostMonitor{stop: make(chan struct{}), peak: make(chan int64, 1)}
	go func() {
		t := time.NewTicker(50 * time.Millisecond)
		defer t.Stop()
		var peak int64
		for {
			peak = max(peak, procStatus("RssAnon:"))
			select {
			case <-t.C:
			case <-m.stop:
				m.peak <- peak
				return
			}
		}
	}()
	return m
}

func (m *hostMonitor) end() int64 {
	close(m.stop)
	return <-m.peak
}
