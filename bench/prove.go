package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/gpu"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth/vanilla"
	"golang.org/x/sync/errgroup"
)

type proveFlags struct {
	shape, keys, json, waterfall, trace            string
	partitions, devices, jobs, again, workers, per int
	device, host                                   byteSize
	cancel, all                                    bool
	fault                                          int64

	kind filgroth.Kind
	size vanilla.SectorSize
}

func proveMode(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	f := &proveFlags{}
	fs.StringVar(&f.shape, "shape", "porep-32g", "which proof: {porep,winning,window,update}-{2k,8m,512m,32g,64g}")
	fs.IntVar(&f.partitions, "partitions", 0, "partitions of a proof: what the shape has, which is what 0 means; a WindowPoSt is made of as many as are asked for")
	fs.StringVar(&f.keys, "keys", "", "`directory` for development keys, made there when missing (default: the user's cache; 32 GiB: 44 GiB; a tmpfs will do)")
	fs.IntVar(&f.devices, "devices", 1, "CUDA devices to use; 0 is the CPU. With several, one is measured alone first (see -all)")
	fs.BoolVar(&f.all, "all", false, "with several devices: leave out the measurement of one alone")
	fs.Var(&f.device, "device-memory", "byte budget of each device, as 24GiB; 0 is all")
	fs.Var(&f.host, "host-memory", "byte budget of the host; 0 is four fifths of the machine")
	fs.IntVar(&f.jobs, "jobs", 3, "jobs of the sustained run; 0 leaves it out")
	fs.IntVar(&f.again, "again", 2, "single jobs after the first")
	fs.IntVar(&f.workers, "workers", 0, "calls that a device gets at the same time; 0 lets it choose")
	fs.IntVar(&f.per, "circuits", 0, "circuits a call; 0 lets the backend choose")
	fs.BoolVar(&f.cancel, "cancel", false, "also cancel a job in its middle and show that everything is given back")
	fs.Int64Var(&f.fault, "fault", 0, "also run a job in which, after two partitions, the `n`-th call of the CUDA runtime fails")
	fs.StringVar(&f.json, "json", "", "write the result to this `file` too")
	fs.StringVar(&f.waterfall, "waterfall", "", "draw the phases of the first proof in this SVG `file`")
	fs.StringVar(&f.trace, "trace", "", "write the phases of the first proof to this `file` as a Chrome trace")
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

func (f *proveFlags) validate() (err error) {
	if f.kind, f.size, err = parseShapeName(f.shape); err != nil {
		return err
	}
	for name, v := range map[string]int{"partitions": f.partitions, "devices": f.devices, "jobs": f.jobs, "again": f.again} {
		if v < 0 {
			return fmt.Errorf("-%s is not negative", name)
		}
	}
	if err := f.config().Validate(); err != nil {
		return err
	}
	if f.kind == filgroth.WindowPoSt {
		if f.partitions > maxPartitions {
			return fmt.Errorf("-partitions %d: a WindowPoSt of at most %d", f.partitions, maxPartitions)
		}
	} else if r, err := filgroth.Estimate(f.kind, f.size, "cpu"); err != nil {
		return err
	} else if f.partitions != 0 && f.partitions != r.Partitions {
		return fmt.Errorf("-partitions %d: %s has %d", f.partitions, f.shape, r.Partitions)
	}
	if f.fault < 0 || f.fault > 0 && f.devices == 0 {
		return errors.New("-fault is a call's number, from 1, and needs a device")
	}
	return nil
}

// maxPartitions bounds the vanilla proofs of a WindowPoSt that are made for a run.
const maxPartitions = 1 << 10

// config is the engine's, without devices.
func (f *proveFlags) config() filgroth.Config {
	return filgroth.Config{DevelopmentKeys: true, CacheDir: f.keys, WorkersPerBackend: f.workers, HostMemory: int64(f.host),
		Prover: groth16.Config{CircuitsPerCall: f.per}}
}

func (f *proveFlags) run(ctx context.Context, out io.Writer) (err error) {
	if err := f.validate(); err != nil {
		return err
	}
	r := &ProveResult{Environment: ReadEnvironment(), Shape: f.shape, Budget: int64(f.device), HostBudget: int64(f.host), LeakedDevice: map[string]int64{}}
	before := pinning.LiveBytes()
	ds, err := openDevices(f.devices, int64(f.device))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeDevices(ds)) }()
	jobs, err := f.input(ctx, r)
	if err != nil {
		return err
	}
	err = f.measure(ctx, ds, jobs, r)
	r.Leaked = pinning.LiveBytes() - before
	for _, d := range ds {
		err = errors.Join(err, d.Trim())
		r.LeakedDevice[d.String()] = d.Held().Device
	}
	return f.finish(r, err, out)
}

// finish shows and writes the result, also of a run that failed.
func (f *proveFlags) finish(r *ProveResult, err error, out io.Writer) error {
	if err != nil {
		r.Verified, r.Failed = false, err.Error()
	}
	r.print(out)
	if err != nil && r.sample == nil { // not one proof: an older result is worth more
		return err
	}
	return errors.Join(err, f.write(r))
}

// measure runs one device alone, where that is asked for, and then all of them.
func (f *proveFlags) measure(ctx context.Context, ds []*gpu.Device, jobs []proveJob, r *ProveResult) error {
	if len(ds) > 1 && !f.all {
		s := &proveSession{f: f, ds: ds[:1], r: r, jobs: max(1, f.jobs/len(ds))}
		r.Alone = &s.out
		if err := s.run(ctx, jobs, false); err != nil {
			return fmt.Errorf("one device alone: %w", err)
		}
	}
	s := &proveSession{f: f, ds: ds, r: r, jobs: f.jobs}
	err := s.run(ctx, jobs, true)
	r.ProveRun = s.out
	if a := r.Alone; a != nil && err == nil {
		r.Latency, r.Load = s.out.best()/a.best(), s.out.Preload.Wall/a.Preload.Wall
		if f.jobs > 0 {
			r.Speedup = a.PerProof / s.out.PerProof
		}
	}
	r.Verified = err == nil
	return err
}

// best is the shortest time of a single proof: the first one also faults memory in.
func (r *ProveRun) best() float64 {
	t := r.First.Wall
	for _, c := range r.Again {
		t = min(t, c.Wall)
	}
	return t
}

// input makes the vanilla proofs of all jobs.
func (f *proveFlags) input(ctx context.Context, r *ProveResult) ([]proveJob, error) {
	jobs := make([]proveJob, 1+f.again+f.jobs+2)
	start := time.Now()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for i := range jobs {
		g.Go(func() (err error) {
			jobs[i], err = makeJob(gctx, f.kind, f.size, f.partitions, uint64(i))
			return err
		})
	}
	err := g.Wait()
	r.Input = time.Since(start).Seconds()
	return jobs, err
}

// proveSession is an engine over some of the devices.
type proveSession struct {
	f    *proveFlags
	ds   []*gpu.Device
	r    *ProveResult
	jobs int
	out  ProveRun

	made   atomic.Bool                      // a key was made
	listen atomic.Pointer[func(done int64)] // hears of proved partitions
}

func (s *proveSession) run(ctx context.Context, jobs []proveJob, last bool) (err error) {
	show := progressLine(os.Stderr)
	cfg := s.f.config()
	cfg.Backends, cfg.Progress = named(s.ds), func(p filgroth.Progress) {
		if p.Stage == "key" {
			s.made.Store(true)
		}
		if l := s.listen.Load(); l != nil && p.Stage == "prove" {
			(*l)(p.Done)
		}
		show(p)
	}
	if len(s.ds) > 0 {
		cfg.SetupDevice = s.ds[0].FixedBase()
	}
	e, err := filgroth.New(cfg)
	if err != nil {
		return err
	}
	m := startHostMonitor(s.ds)
	defer func() {
		s.out.HostPeak = m.end()
		err = errors.Join(err, e.Close())
	}()
	s.out.Devices, s.out.DevicePeak = len(s.ds), map[string]int64{}
	for _, d := range s.ds {
		d.ResetPeak()
	}
	if err := s.preload(ctx, e); err != nil {
		return err
	}
	err = s.proofs(ctx, e, jobs, last)
	for _, d := range s.ds {
		s.out.DevicePeak[d.String()] = d.Held().DevicePeak
	}
	return err
}

// preload binds the key, a second time if it had to be made: what counts is a key that is there.
func (s *proveSession) preload(ctx context.Context, e *filgroth.Engine) error {
	load := func() (Cost, error) {
		return measure(func() error { _, err := e.Preload(ctx, s.f.kind, s.f.size); return err })
	}
	c, err := load()
	if err == nil && s.made.Load() {
		made := c
		s.r.Make = &made
		if _, _, err = e.Evict(s.f.kind, s.f.size); err == nil {
			c, err = load()
		}
	}
	s.out.Preload = c
	for _, k := range e.Keys() {
		s.out.Key = k.FileBytes
	}
	if s.r.Start == 0 && err == nil {
		s.r.Start = time.Since(processStart).Seconds() - s.r.Input
		if s.r.Make != nil {
			s.r.Start -= s.r.Make.Wall
		}
	}
	return err
}

func (f *proveFlags) write(r *ProveResult) error {
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
