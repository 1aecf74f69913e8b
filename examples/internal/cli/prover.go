package cli

import (
	"flag"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/span"
)

// Prover are the options of the examples that prove circuits other than Filecoin's.
type Prover struct {
	Backend string
	Threads int
}

// Register adds the flags to fs.
func (p *Prover) Register(fs *flag.FlagSet) {
	fs.StringVar(&p.Backend, "backend", "auto", "cpu, cuda, or auto: the GPU if there is one")
	fs.IntVar(&p.Threads, "threads", 0, "bound on the threads of each stage (default: all)")
}

// Open makes the backend that the flags ask for and says which.
func (p *Prover) Open() (groth16.Backend, error) {
	named, note, err := backends(p.Backend)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(os.Stderr, "backend:", note)
	if len(named) > 0 {
		return named[0].Backend, nil
	}
	return CPU()
}

// CPU is the CPU backend.
func CPU() (groth16.Backend, error) {
	m, err := msm.NewCPU(msm.Config{})
	if err != nil {
		return nil, err
	}
	n, err := ntt.NewCPU(ntt.Config{})
	if err != nil {
		return nil, err
	}
	return groth16.Compose(m, n), nil
}

// Config is the prover's configuration.
func (p *Prover) Config() groth16.Config { return groth16.Config{Threads: p.Threads} }

// Phases prints the phase table of a report.
func Phases(rep *groth16.Report) error {
	w := tabwriter.NewWriter(os.Stdout, 2, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "phase\tlane\tcalls\ttime\t")
	for _, s := range span.Summarize(rep.Spans) {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t\n", s.Name, s.Lane, s.Count, s.Wall.Round(time.Microsecond))
	}
	return w.Flush()
}
