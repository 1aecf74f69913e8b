package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/filgroth/filgroth/bench/shapes"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/params"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
)

// SumsResult is what the mode sums finds.
type SumsResult struct {
	Environment Environment        `json:"environment"`
	Shape       string             `json:"shape"`
	Circuits    int                `json:"circuits_per_call"`
	Setup       Cost               `json:"setup"` // making the key, if it was not there
	Bind        Cost               `json:"bind"`
	Runs        []Cost             `json:"runs"`
	Median      float64            `json:"median_s_per_circuit"`
	Phases      map[string]float64 `json:"phase_s"` // of the last run
	Known       map[string]bool    `json:"equals_known_answer"`
	Footprint   pinning.Footprint  `json:"footprint"`
	DevicePeak  int64              `json:"device_peak_bytes"`

	sample []span.Record
}

type sumsFlags struct {
	shape, keys, json, waterfall string
	n, circuits, device          int
	memory                       byteSize
	check                        bool
}

func sumsMode(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	f := &sumsFlags{}
	fs.StringVar(&f.shape, "shape", "porep-32g", "which circuit")
	fs.StringVar(&f.keys, "keys", "", "`directory` of development keys (subfolder dev), made there when missing (default: the user's cache; a 32 GiB PoRep key has 44 GiB)")
	fs.IntVar(&f.n, "n", 5, "measured runs")
	fs.IntVar(&f.circuits, "circuits", 1, "circuits a call")
	fs.IntVar(&f.device, "device", 0, "ordinal of the CUDA device, -1 is the CPU")
	fs.Var(&f.memory, "device-memory", "byte budget of the device, as 24GiB; 0 is all")
	fs.BoolVar(&f.check, "check", true, "compare each of the five sums with its known answer, a scalar times the generator")
	fs.StringVar(&f.json, "json", "", "write the result to this `file` too")
	fs.StringVar(&f.waterfall, "waterfall", "", "draw the phases of the last run in this SVG `file`")
	return f.run
}

func (f *sumsFlags) run(ctx context.Context, out io.Writer) (err error) {
	if f.n < 1 || f.circuits < 1 || f.device < -1 {
		return errors.New("-n and -circuits are at least 1, -device at least -1")
	}
	kind, size, err := parseShapeName(f.shape)
	if err != nil {
		return err
	}
	id, err := params.For(params.Kind(kind), size)
	if err != nil {
		return err
	}
	shape, err := shapes.Parse(f.shape)
	if err != nil {
		return err
	}
	var backend groth16.Backend
	o := groth16.SetupOptions{Trapdoor: groth16.DevTrapdoor("golden/" + id.CacheID())}
	r := &SumsResult{Environment: ReadEnvironment(), Shape: f.shape, Circuits: f.circuits, Phases: map[string]float64{}, Known: map[string]bool{}}
	if f.device >= 0 {
		ds, err := openDevices(f.device+1, int64(f.memory))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, closeDevices(ds)) }()
		d := ds[f.device]
		backend = d
		o.FixedBase = d.FixedBase()
		defer func() { r.DevicePeak = int64(d.Held().DevicePeak) }()
	} else if backend, err = cpuBackend(defaultSettings()); err != nil {
		return err
	}
	dir := f.keys
	if dir == "" { // where the engine keeps them
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		dir = filepath.Join(cache, "filgroth")
	}
	if err := f.measure(ctx, r, shape, backend, filepath.Join(dir, "dev", id.ParamsFile()), o); err != nil {
		return err
	}
	r.print(out)
	var errs []error
	for name, ok := range r.Known {
		if !ok {
			errs = append(errs, fmt.Errorf("the sum %s differs from its known answer", name))
		}
	}
	if f.waterfall != "" {
		errs = append(errs, writeFile(f.waterfall, func(w io.Writer) error { return span.WriteSVG(w, r.sample) }))
	}
	if f.json != "" {
		errs = append(errs, writeJSON(f.json, r))
	}
	return errors.Join(errs...)
}

func (f *sumsFlags) measure(ctx context.Context, r *SumsResult, shape shapes.Shape, backend groth16.Backend, path string, o groth16.SetupOptions) (err error) {
	cases, err := shape.Synthetic(ctx, 1, 1)
	if err != nil {
		return err
	}
	values := cases[0].Circuit
	sys, err := synth.Compile(ctx, values)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	key, err := groth16.OpenProvingKey(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		r.Setup, err = measure(func() (err error) {
			key, err = groth16.SetupFile(ctx, sys, path, o)
			return err
		})
		if err != nil {
			return err
		}
	case err != nil: // whatever it is, it is not ours to replace
		return err
	}
	defer func() { err = errors.Join(err, key.Close()) }()
	a, err := synth.AssignWitness(ctx, values, sys, synth.AssignConfig{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	var s groth16.Session
	r.Bind, err = measure(func() (err error) {
		s, err = backend.Bind(ctx, sys, key, groth16.Config{CircuitsPerCall: f.circuits})
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r.Footprint = s.Footprint(f.circuits)
	sums, err := f.repeat(ctx, r, s, a)
	if err != nil || !f.check {
		return err
	}
	want, err := knownSums(ctx, sys, a, o.Trapdoor)
	if err != nil {
		return err
	}
	for _, got := range sums {
		for name, ok := range map[string]bool{"H": got.H.Equal(&want.H), "L": got.L.Equal(&want.L), "A": got.A.Equal(&want.A),
			"B1": got.B1.Equal(&want.B1), "B2": got.B2.Equal(&want.B2)} {
			before, seen := r.Known[name]
			r.Known[name] = ok && (before || !seen)
		}
	}
	return nil
}

// repeat runs once to warm up, then n times measured.
func (f *sumsFlags) repeat(ctx context.Context, r *SumsResult, s groth16.Session, a *synth.Assignment) (sums []groth16.Sums, err error) {
	as := make([]*synth.Assignment, f.circuits)
	for i := range as {
		as[i] = a
	}
	var per []float64
	for i := range f.n + 1 {
		rec := span.NewRecorder()
		c, err := measure(func() (err error) {
			sums, err = s.Sums(span.With(ctx, rec), as)
			return err
		})
		if err != nil {
			return nil, err
		}
		if i == 0 {
			continue
		}
		r.Runs = append(r.Runs, c)
		per = append(per, c.Wall/float64(f.circuits))
		r.sample = rec.Records()
	}
	for _, x := range span.Summarize(r.sample) {
		r.Phases[x.Name] = x.Wall.Seconds()
	}
	slices.Sort(per)
	r.Median = per[len(per)/2]
	return sums, nil
}

func (r *SumsResult) print(w io.Writer) {
	fmt.Fprintf(w, "sums of %s, %d circuits a call\n", r.Shape, r.Circuits)
	if r.Setup.Wall > 0 {
		fmt.Fprintf(w, "  key made   %v\n", r.Setup)
	}
	fmt.Fprintf(w, "  bind       %v\n", r.Bind)
	for _, c := range r.Runs {
		fmt.Fprintf(w, "  run        %v\n", c)
	}
	fmt.Fprintf(w, "  median     %s a circuit\n", time.Duration(r.Median*float64(time.Second)).Round(100*time.Microsecond))
	for _, k := range sortedKeys(r.Phases) {
		fmt.Fprintf(w, "    %-24s %9.4f s\n", k, r.Phases[k])
	}
	fmt.Fprintf(w, "  footprint of a call: %v\n  equal to known answers: %v\n", r.Footprint, r.Known)
}
