package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/bench/shapes"
	"github.com/filgroth/filgroth/internal/atomicfile"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// SynthResult is what the mode synth finds.
type SynthResult struct {
	Environment Environment `json:"environment"`
	Shape       string      `json:"shape"`
	Constraints int         `json:"constraints"`
	Inputs      int         `json:"inputs"`
	Aux         int         `json:"aux"`
	Bits        int         `json:"bits"` // aux variables that are bits
	Nonzeros    [3]int64    `json:"nonzeros_abc"`
	Templates   int         `json:"templates"`
	Instances   int         `json:"instances"`

	Compile     Cost   `json:"compile"`
	SystemBytes int64  `json:"system_bytes"`
	Digest      string `json:"digest"`
	Golden      string `json:"golden"` // "equal", "differs" or "none known"
	DigestCost  Cost   `json:"digest_cost"`
	FileBytes   int64  `json:"file_bytes"`
	Write       Cost   `json:"write"`
	Open        Cost   `json:"open"`

	Simulate     Cost   `json:"simulate"` // making the synthetic vanilla proofs: no part of proving
	Witness      []Cost `json:"witness"`  // the first in fresh memory, the others in its memory again unless Fresh
	Fresh        bool   `json:"fresh_memory_each_time"`
	Pages        string `json:"pages"`
	WitnessBytes int64  `json:"witness_bytes"`
	Evaluation   []Cost `json:"evaluation"`
	EvaluateFull bool   `json:"evaluate_full"` // into three whole vectors instead of chunks
	Check        Cost   `json:"check"`
	Satisfied    bool   `json:"satisfied"`

	PeakRSS int64    `json:"peak_rss_bytes"`
	RSS     []Sample `json:"rss"`
}

// synthFlags are the mode's flags.
type synthFlags struct {
	shape, json, dir string
	full, noDigest   bool
	fresh            bool
	pages            string
	n, threads       int
	seed             uint64
	chunk            int
}

func synthMode(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	f := new(synthFlags)
	fs.StringVar(&f.shape, "shape", "porep-32g", "which circuit")
	fs.StringVar(&f.json, "json", "", "write the result to this `file` too")
	fs.StringVar(&f.dir, "dir", "", "write the compiled system in this `directory` and leave it there (default: a temporary one)")
	fs.BoolVar(&f.full, "full", false, "evaluate into three whole vectors (3 x 4 GiB for 32 GiB shapes) instead of chunk by chunk")
	fs.BoolVar(&f.noDigest, "no-digest", false, "do not compute the row digest (20 s and more for 32 GiB shapes); no file is written then")
	fs.BoolVar(&f.fresh, "fresh", false, "make every witness in fresh memory, not only the first")
	fs.StringVar(&f.pages, "pages", "auto", "memory pages under the witness: auto, base or huge")
	fs.IntVar(&f.n, "n", 3, "make and evaluate the witness so many `times`")
	fs.IntVar(&f.threads, "threads", 0, "threads of witness and evaluation; 0 = all cores")
	fs.Uint64Var(&f.seed, "seed", 1, "seed of the synthetic vanilla proofs")
	fs.IntVar(&f.chunk, "chunk", 1<<18, "rows of a chunk of the streamed evaluation")
	return f.run
}

func (f *synthFlags) run(ctx context.Context, out io.Writer) error {
	sh, err := shapes.Parse(f.shape)
	if err != nil {
		return err
	}
	if f.n < 1 {
		return fmt.Errorf("-n %d: at least one", f.n)
	}
	r := &SynthResult{Environment: ReadEnvironment(), Shape: f.shape, EvaluateFull: f.full, Fresh: f.fresh, Pages: f.pages}
	m := startMonitor(50 * time.Millisecond)
	sys, err := f.system(ctx, sh, r)
	if err == nil {
		err = errors.Join(f.witness(ctx, sh, sys, r), sys.Close())
	}
	r.RSS = m.end()
	if err != nil {
		return err
	}
	for _, c := range append(append([]Cost{r.Compile, r.DigestCost, r.Write, r.Open, r.Simulate, r.Check}, r.Witness...), r.Evaluation...) {
		r.PeakRSS = max(r.PeakRSS, c.PeakRSS)
	}
	r.print(out)
	if f.json != "" {
		if err := writeJSON(f.json, r); err != nil {
			return err
		}
	}
	switch {
	case !r.Satisfied:
		return errors.New("the assignment does not satisfy the system")
	case r.Golden == "differs":
		return errors.New("the digest is not that of the deployed circuit")
	}
	return nil
}

// system compiles, and unless there is no digest goes on with the system mapped from its file.
func (f *synthFlags) system(ctx context.Context, sh shapes.Shape, r *SynthResult) (*synth.System, error) {
	circuit, err := sh.Blank()
	if err != nil {
		return nil, err
	}
	var sys *synth.System
	r.Compile, err = measure(func() (err error) {
		sys, err = synth.Compile(ctx, circuit)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.Constraints, r.Inputs, r.Aux, r.Bits = sys.Constraints(), sys.Inputs(), sys.Aux(), sys.Aux()-sys.Fields()
	r.Nonzeros[0], r.Nonzeros[1], r.Nonzeros[2] = sys.Nonzeros()
	r.Templates, r.Instances, r.SystemBytes = len(sys.Templates()), len(sys.Instances()), sys.Bytes()
	r.Golden = "not computed"
	if f.noDigest {
		return sys, nil
	}
	var d synth.Digest
	r.DigestCost, err = measure(func() (err error) {
		d, err = sys.Digest(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.Digest, r.Golden = hex.EncodeToString(d[:]), "none known"
	if want, ok := sh.Golden(); ok {
		r.Golden = map[bool]string{true: "equal", false: "differs"}[want == d]
	}
	return f.file(ctx, sys, d, r)
}

// file writes the system, forgets it, and maps the file.
func (f *synthFlags) file(ctx context.Context, sys *synth.System, d synth.Digest, r *SynthResult) (*synth.System, error) {
	dir := f.dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "filgroth-bench"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir) // a mapped file may be removed
	}
	path := filepath.Join(dir, r.Shape+".system")
	var err error
	if r.Write, err = measure(func() error { return sys.WriteFile(ctx, path) }); err != nil {
		return nil, err
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	r.FileBytes = st.Size()
	sys = nil
	runtime.GC()
	r.Open, err = measure(func() (err error) {
		sys, err = synth.OpenFile(path, &d)
		return err
	})
	return sys, err
}

func (f *synthFlags) witness(ctx context.Context, sh shapes.Shape, sys *synth.System, r *SynthResult) error {
	var cases []shapes.Case
	var err error
	r.Simulate, err = measure(func() (err error) {
		cases, err = sh.Synthetic(ctx, f.seed, 1)
		return err
	})
	if err != nil {
		return err
	}
	runtime.GC()
	var a *synth.Assignment
	for i := 0; i < f.n && err == nil; i++ {
		if a != nil && f.fresh {
			if err := a.Close(); err != nil {
				return err
			}
			a = nil
		}
		a, err = f.once(ctx, cases[0], sys, r, a, i == f.n-1)
	}
	if a != nil {
		err = errors.Join(err, a.Close())
	}
	return err
}

// once makes a witness, in the memory of another if there is one, evaluates it, and checks it where asked to.
func (f *synthFlags) once(ctx context.Context, c shapes.Case, sys *synth.System, r *SynthResult, into *synth.Assignment, check bool) (*synth.Assignment, error) {
	a := into
	pages, err := synth.ParsePages(f.pages)
	if err != nil {
		return a, err
	}
	cost, err := measure(func() error {
		got, err := synth.AssignWitness(ctx, c.Circuit, sys, synth.AssignConfig{Threads: f.threads, Pages: pages, Into: into})
		if err == nil {
			a = got
		}
		return err
	})
	if err != nil {
		return a, err
	}
	r.Witness = append(r.Witness, cost)
	r.WitnessBytes = int64(len(a.Bits)*8 + (len(a.Fields)+len(a.Inputs))*32)
	if !slices.Equal(c.Public, a.Public()) {
		return a, errors.New("the circuit's public inputs are not those of the vanilla proof")
	}
	cost, err = measure(func() error { return f.evaluate(ctx, sys, a) })
	if err != nil {
		return a, err
	}
	r.Evaluation = append(r.Evaluation, cost)
	if !check {
		return a, nil
	}
	r.Check, err = measure(func() error { return sys.Satisfied(ctx, a, f.threads) })
	var bad *synth.UnsatisfiedError
	r.Satisfied = err == nil
	if errors.As(err, &bad) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return a, nil
	}
	return a, err
}

func (f *synthFlags) evaluate(ctx context.Context, sys *synth.System, a *synth.Assignment) error {
	if !f.full {
		return sys.EvaluateStream(ctx, a, f.chunk, f.threads, func(int, []fr.Element, []fr.Element, []fr.Element) error { return nil })
	}
	n := sys.Constraints()
	buf, err := pinning.AllocWith(3*n*32, "a, b, c", pinning.Options{HugePages: true})
	if err != nil {
		return err
	}
	v := pinning.Slice[fr.Element](buf, 3*n)
	return errors.Join(sys.Evaluate(ctx, a, v[:n], v[n:2*n], v[2*n:], f.threads), buf.Close())
}

func (r *SynthResult) print(w io.Writer) {
	p := func(name, format string, a ...any) {
		fmt.Fprintf(w, "%-16s "+format+"\n", append([]any{name}, a...)...)
	}
	e := &r.Environment
	p("machine", "%s, %d cores, %s, %s, commit %s", e.CPU, e.Cores, bytesString(e.MemoryBytes), e.Go, e.Commit)
	p("shape", "%s: %d constraints, %d inputs, %d aux of which %d bits; nonzeros %v", r.Shape, r.Constraints, r.Inputs, r.Aux, r.Bits, r.Nonzeros)
	p("compile", "%v", r.Compile)
	p("system bytes", "%d (%d templates, %d instances)", r.SystemBytes, r.Templates, r.Instances)
	if r.Digest != "" {
		p("digest", "%s, golden: %s", r.Digest, r.Golden)
		p("  computed in", "%v", r.DigestCost)
		p("write", "%v, %d bytes", r.Write, r.FileBytes)
		p("open", "%v", r.Open)
	}
	p("simulated input", "%v", r.Simulate)
	for i, c := range r.Witness {
		p(map[bool]string{false: "witness", true: "  same memory"}[i > 0 && !r.Fresh], "%v", c)
	}
	p("witness bytes", "%d", r.WitnessBytes)
	for _, c := range r.Evaluation {
		p(map[bool]string{false: "evaluation", true: "evaluation full"}[r.EvaluateFull], "%v", c)
	}
	p("check", "%v", r.Check)
	p("counters", "witness %v; evaluation %v", r.Witness[0].Counters, r.Evaluation[0].Counters)
	p("peak RSS", "%s", bytesString(r.PeakRSS))
	p("satisfied", "%t", r.Satisfied)
}

// writeJSON writes v to path, whole or not at all.
// writeJSON writes a result, elsewhere if it cannot be written where it should be: it may have taken hours.
func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	b = append(b, '\n')
	err = atomicfile.Write(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	if err == nil {
		return nil
	}
	f, terr := os.CreateTemp("", "*-"+filepath.Base(path))
	if terr != nil {
		return errors.Join(err, terr)
	}
	_, terr = f.Write(b)
	return errors.Join(fmt.Errorf("%w; the result is in %s", err, f.Name()), terr, f.Close())
}
