// Package cli is what the examples share: flags, progress, the phase table and the output files.
package cli

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/internal/atomicfile"
	"github.com/filgroth/filgroth/span"
	"github.com/schollz/progressbar/v3"
)

// Flags are the options that every proving example has.
type Flags struct {
	Params    string
	Cache     string
	JSON      string
	Trace     string
	Waterfall string
	Backend   string
	Threads   int
	Quiet     bool
}

// Register adds the flags to fs.
func (f *Flags) Register(fs *flag.FlagSet) {
	fs.StringVar(&f.Params, "params", "", "`directory` of the deployed parameter files; without it a development key is made and used")
	fs.StringVar(&f.Cache, "cache", "", "`directory` for development keys (default: filgroth in the user's cache directory)")
	fs.StringVar(&f.JSON, "json", "", "write the report to this `file`")
	fs.StringVar(&f.Trace, "trace", "", "write a Chrome trace to this `file`")
	fs.StringVar(&f.Waterfall, "waterfall", "", "write the phases as an SVG to this `file`")
	fs.StringVar(&f.Backend, "backend", "auto", "cpu, cuda, or auto: the GPU if there is one")
	fs.IntVar(&f.Threads, "threads", 0, "bound on the threads of each stage (default: all)")
	fs.BoolVar(&f.Quiet, "quiet", false, "no progress bar")
}

// Parse reads the command line, which has flags alone; -h says what the example does before it lists them.
func Parse(about string) {
	flag.Usage = func() {
		w := flag.CommandLine.Output()
		fmt.Fprintf(w, "%s: %s\n\n", filepath.Base(os.Args[0]), about)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "error: what is %q? All arguments are flags, see -h\n", flag.Arg(0))
		os.Exit(2)
	}
}

// Main runs f until it is done or interrupted and makes an error one line on standard error and exit status 1.
func Main(f func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := f(ctx)
	closeDevices()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// Engine makes the engine that the flags ask for. Close it in the end.
func (f *Flags) Engine() (*filgroth.Engine, error) {
	cfg := filgroth.Config{Parameters: f.Params, CacheDir: f.Cache, Threads: f.Threads, Prover: groth16.Config{Threads: f.Threads}}
	if f.Params == "" {
		cfg.DevelopmentKeys = true
		fmt.Fprintln(os.Stderr, "NOTE: no -params given: using a development key whose trapdoor is published. Proofs under it can be FORGED by anyone; never use it in production.")
	}
	backends, note, err := backends(f.Backend)
	if err != nil {
		return nil, err
	}
	cfg.Backends = backends
	fmt.Fprintln(os.Stderr, "backend:", note)
	if !f.Quiet {
		cfg.Progress = (&bar{}).show
	}
	return filgroth.New(cfg)
}

// bar shows the stage that is under way.
type bar struct {
	mu    sync.Mutex
	stage string
	pb    *progressbar.ProgressBar
}

func (b *bar) show(p filgroth.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := fmt.Sprintf("%v: %s", p.Kind, p.Stage)
	if b.pb == nil || b.stage != name {
		if b.pb != nil {
			_ = b.pb.Finish()
		}
		b.stage = name
		b.pb = progressbar.NewOptions64(p.Total, progressbar.OptionSetDescription(name), progressbar.OptionSetWriter(os.Stderr),
			progressbar.OptionShowCount(), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionOnCompletion(func() { fmt.Fprintln(os.Stderr) }))
	}
	_ = b.pb.Set64(p.Done)
}

// Output prints the phase table and the proof, and writes the files that the flags ask for.
func (f *Flags) Output(proof []byte, rep *filgroth.Report) error {
	w := tabwriter.NewWriter(os.Stdout, 2, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "phase\tlane\tcalls\ttime\t")
	for _, s := range span.Summarize(rep.Spans) {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t\n", s.Name, s.Lane, s.Count, s.Wall.Round(time.Microsecond))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Printf("elapsed: %s  peak RSS: %d MiB  page faults: %d minor, %d major\n", rep.Elapsed.Round(time.Millisecond),
		rep.Usage.PeakRSS>>20, rep.Usage.MinorFaults, rep.Usage.MajorFaults)
	for _, p := range rep.Partitions {
		for _, a := range p.Attempts {
			fmt.Printf("partition %d: backend %s failed: %v\n", p.Index, a.Backend, a.Err)
		}
	}
	fmt.Printf("proof: %s\n", hex.EncodeToString(proof))
	return errors.Join(
		save(f.JSON, func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(struct {
				Proof  string
				Report *filgroth.Report
			}{hex.EncodeToString(proof), rep})
		}),
		save(f.Trace, func(w io.Writer) error { return span.WriteChromeTrace(w, rep.Spans) }),
		save(f.Waterfall, func(w io.Writer) error { return span.WriteSVG(w, rep.Spans) }))
}

func save(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	return atomicfile.Write(path, 0o644, write)
}

// Verified prints the last line, or makes a false answer an error.
func Verified(ok bool, err error) error {
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("the proof does not verify")
	}
	fmt.Println("verified: true")
	return nil
}
