// Command bench measures filgroth: what synthesis costs at full scale, how fast work is given up, what a whole proof consists of,
// and what a knob does to each phase. Run it with -h for its modes, and a mode with -h for its flags.
//
//	go run ./bench synth -shape porep-32g
//	go run ./bench ab -knob synthesis=compiled,direct -shape porep-2k -n 10
//
// Who wants a proof and not a measurement takes examples/prove-porep.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/filgroth/filgroth/bench/shapes"
)

// mode is a subcommand. setup declares its flags and gives what runs it.
type mode struct {
	name, about string
	setup       func(*flag.FlagSet) func(ctx context.Context, out io.Writer) error
}

func modes() []mode {
	return []mode{
		{"synth", "compile a circuit, make a witness, evaluate and check it: times, memory, digest", synthMode},
		{"single", "whole proofs one after the other, from the vanilla proof's values to 192 verified bytes, phase by phase", phaseMode("single")},
		{"prover", "proofs from a ready witness: the prover alone", phaseMode("prover")},
		{"batch", "several circuits, some under way at the same time: rate and latency", phaseMode("batch")},
		{"prove", "an engine on its devices, full scale too: bytes in to verified proof, alone and with several jobs queued", proveMode},
		{"sums", "the five sums of a full-size partition on a device, compared with their known answers", sumsMode},
		{"scale", "many hosts under a node's scheduler, simulated from measured stage times: what is the next bottleneck", scaleMode},
		{"ab", "run configurations against each other, interleaved, and say what each phase owes to a knob", abMode},
		{"pin", "what page-locking costs by the GiB on a device, what faster copies save, and after how many uses it pays", pinMode},
		{"cancel", "give work up in every phase and say how long it took to stop and what was left behind", cancelMode},
		{"stress", "an engine under mixed kinds and priorities for a while, calls given up at random, invariants checked", stressMode},
		{"gnark", "gnark's Groth16 prover against ours: one circuit, witness and key", gnarkMode},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends what does not hear of the first
	switch err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// run is main without its process.
func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	if len(args) == 0 || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" || args[0] == "help" {
		usage(errOut)
		return flag.ErrHelp
	}
	for _, m := range modes() {
		if m.name != args[0] {
			continue
		}
		fs := flag.NewFlagSet("bench "+m.name, flag.ContinueOnError)
		fs.SetOutput(errOut)
		do := m.setup(fs)
		fs.Usage = func() {
			fmt.Fprintf(errOut, "bench %s: %s\n\n", m.name, m.about)
			fs.PrintDefaults()
		}
		if err := fs.Parse(args[1:]); err != nil {
			return err
		}
		if fs.NArg() > 0 {
			return fmt.Errorf("%s: what is %q?", m.name, fs.Arg(0))
		}
		if err := checkFlags(fs); err != nil {
			return err
		}
		return do(ctx, out)
	}
	return fmt.Errorf("no mode %q; see bench -h", args[0])
}

func usage(w io.Writer) {
	fmt.Fprint(w, "bench MODE [flags]; bench MODE -h lists the flags\n\nmodes:\n")
	for _, m := range modes() {
		fmt.Fprintf(w, "  %-7s %s\n", m.name, m.about)
	}
	fmt.Fprintf(w, "\nshapes: %s\n", strings.Join(shapes.Names(), " "))
}
