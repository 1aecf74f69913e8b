// Command filgroth-bench is a client of a proving daemon that measures it: one proof, many at a time, or mixed kinds and
// priorities with cancellations. Its requests are simulated vanilla proofs that hold, the golden ones of a 2 KiB sector, or a C1
// file; each job of a run is another request, so that none joins another.
//
//	filgroth-bench single -kind porep -golden
//	filgroth-bench batch -kind winning -size 2k -n 20 -c 4 -json out.json
//	filgroth-bench stress -size 2k -n 60 -c 16 -rate 5 -cancel 0.2
//	filgroth-bench status
//	filgroth-bench preload porep-32g snap-32g
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
	"time"

	"github.com/filgroth/filgroth/service/client"
	"github.com/filgroth/filgroth/service/cuzkv1"
)

// options are the flags; every mode has those that it uses.
type options struct {
	addr, ca, tokenFile string
	tls                 bool
	patience            time.Duration

	kind, size, c1, json, verify string
	golden                       bool
	miner, sector, seed          uint64
	n, parallel                  int
	rate, cancel                 float64
}

type mode struct {
	name, about string
	setup       func(*options, *flag.FlagSet)
	run         func(context.Context, *options, *client.Client, []string, io.Writer) error
}

var modes = []mode{
	{"single", "prove one request and tell its phases", func(o *options, fs *flag.FlagSet) { o.inputs(fs) }, single},
	{"batch", "prove many requests of one kind, some at a time", func(o *options, fs *flag.FlagSet) { o.inputs(fs); o.load(fs) }, batch},
	{"stress", "mixed kinds and priorities at a rate, some cancelled", func(o *options, fs *flag.FlagSet) {
		o.inputs(fs)
		o.load(fs)
		fs.Float64Var(&o.rate, "rate", 0, "submissions per second; 0 is as fast as -c lets")
		fs.Float64Var(&o.cancel, "cancel", 0.1, "share of jobs cancelled on the way")
	}, stress},
	{"status", "devices, keys and queues", func(*options, *flag.FlagSet) {}, showStatus},
	{"preload", "load the circuits named, with their keys", func(*options, *flag.FlagSet) {}, preload},
	{"evict", "free the circuits named", func(*options, *flag.FlagSet) {}, evict},
}

func (o *options) connection(fs *flag.FlagSet) {
	fs.StringVar(&o.addr, "addr", "127.0.0.1:9820", "`address` of the daemon, or unix:PATH")
	fs.BoolVar(&o.tls, "tls", false, "connect with TLS")
	fs.StringVar(&o.ca, "ca", "", "PEM `file` of the certificates to trust")
	fs.StringVar(&o.tokenFile, "token-file", "", "`file` whose first line is the token")
	fs.DurationVar(&o.patience, "patience", 0, "how long to try again where the daemon is busy or away")
}

func (o *options) inputs(fs *flag.FlagSet) {
	fs.StringVar(&o.kind, "kind", "porep", "porep, snap, wpost, winning (stress: several with commas)")
	fs.StringVar(&o.size, "size", "2k", "sector size of simulated requests: 2k, 8m, 512m, 32g, 64g")
	fs.BoolVar(&o.golden, "golden", false, "the golden request of a 2 KiB sector instead of a simulated one (the first job of a run)")
	fs.StringVar(&o.c1, "c1", "", "JSON `file` of SealCommitPhase1 instead, bare or in its envelope, with -sector and -miner")
	fs.Uint64Var(&o.sector, "sector", 0, "sector `number` of -c1")
	fs.Uint64Var(&o.miner, "miner", 0, "miner actor `id` of -c1")
	fs.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixMicro()), "of the simulated requests; equal seeds give equal requests (the default is the time)")
	fs.StringVar(&o.verify, "verify", "", "verify proofs here too: under the parameter `folder` given, or dev for development keys")
	fs.StringVar(&o.json, "json", "", "write the measurement to this `file`")
}

func (o *options) load(fs *flag.FlagSet) {
	fs.IntVar(&o.n, "n", 10, "jobs")
	fs.IntVar(&o.parallel, "c", 2, "jobs at a time")
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "filgroth-bench:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || args[0] == "help" {
		fmt.Fprint(errOut, "filgroth-bench MODE [flags]; filgroth-bench MODE -h lists the flags\n\nmodes:\n")
		for _, m := range modes {
			fmt.Fprintf(errOut, "  %-8s %s\n", m.name, m.about)
		}
		return flag.ErrHelp
	}
	for _, m := range modes {
		if m.name != args[0] {
			continue
		}
		o := &options{n: 1, parallel: 1}
		fs := flag.NewFlagSet("filgroth-bench "+m.name, flag.ContinueOnError)
		fs.SetOutput(errOut)
		o.connection(fs)
		m.setup(o, fs)
		if err := fs.Parse(args[1:]); err != nil {
			return err
		}
		if o.n < 1 || o.parallel < 1 || o.rate < 0 || o.cancel < 0 || o.cancel > 1 {
			return errors.New("-n and -c are at least 1, -rate at least 0, -cancel from 0 to 1")
		}
		c, err := o.dial()
		if err != nil {
			return err
		}
		defer c.Close()
		return m.run(ctx, o, c, fs.Args(), out)
	}
	return fmt.Errorf("no mode %q", args[0])
}

func (o *options) dial() (*client.Client, error) {
	token := ""
	if o.tokenFile != "" {
		b, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return nil, err
		}
		token, _, _ = strings.Cut(strings.TrimSpace(string(b)), "\n")
	}
	return client.New(client.Options{Address: o.addr, TLS: o.tls, CAFile: o.ca, Token: strings.TrimSpace(token), Patience: o.patience})
}

func preload(ctx context.Context, _ *options, c *client.Client, ids []string, out io.Writer) error {
	if len(ids) == 0 {
		return errors.New("name circuits, such as porep-32g or winning-32g")
	}
	for _, id := range ids {
		r, err := c.PreloadSRS(ctx, &cuzkv1.PreloadSRSRequest{CircuitId: id})
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		if r.AlreadyLoaded {
			fmt.Fprintf(out, "%s: was loaded\n", id)
			continue
		}
		fmt.Fprintf(out, "%s: loaded in %v\n", id, time.Duration(r.LoadTimeMs)*time.Millisecond)
	}
	return nil
}

func evict(ctx context.Context, _ *options, c *client.Client, ids []string, out io.Writer) error {
	if len(ids) == 0 {
		return errors.New("name circuits")
	}
	for _, id := range ids {
		r, err := c.EvictSRS(ctx, &cuzkv1.EvictSRSRequest{CircuitId: id})
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		if !r.WasLoaded {
			fmt.Fprintf(out, "%s: was not loaded\n", id)
			continue
		}
		fmt.Fprintf(out, "%s: %d bytes freed\n", id, r.FreedBytes)
	}
	return nil
}
