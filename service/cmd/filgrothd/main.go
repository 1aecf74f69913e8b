// Command filgrothd is the proving daemon: a node gives it vanilla proofs over gRPC (protocol cuzk.v1, as Curio speaks it) and
// gets verified SNARKs back. docs/operating.md tells how to run it.
//
//	filgrothd -dev                    # try it: development keys, loopback, no GPU needed
//	filgrothd -config filgrothd.toml  # see service/config/example.toml, or filgrothd -example
//	filgrothd forward -listen 127.0.0.1:9820 -to prover:9820 -ca ca.pem -token-file token
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/service/config"
	"github.com/filgroth/filgroth/service/journal"
	"github.com/filgroth/filgroth/service/server"
)

func main() {
	ctx, hurry, stop := signals()
	defer stop()
	err := run(ctx, hurry, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "filgrothd:", err)
		stop()
		os.Exit(1)
	}
}

// signals gives a context that ends at the first SIGTERM or SIGINT, and one that ends at the second.
func signals() (ctx, hurry context.Context, stop func()) {
	ctx, first := context.WithCancel(context.Background())
	hurry, second := context.WithCancel(context.Background())
	c := make(chan os.Signal, 2)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-c
		first()
		<-c
		second()
	}()
	return ctx, hurry, func() { signal.Stop(c) }
}

type options struct {
	config, stateDir         string
	dev, check, example, ver bool
}

func run(ctx, hurry context.Context, args []string, out, errOut io.Writer) error {
	if len(args) > 0 && args[0] == "forward" {
		return forward(ctx, args[1:], errOut)
	}
	var o options
	fs := flag.NewFlagSet("filgrothd", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.StringVar(&o.config, "config", "", "TOML `file`")
	fs.BoolVar(&o.dev, "dev", false, "development keys and a state folder in the user's cache: for trying out, its proofs can be forged")
	fs.StringVar(&o.stateDir, "state", "", "`folder` of journal and spool, instead of the configured one")
	fs.BoolVar(&o.check, "check", false, "check the configuration and stop")
	fs.BoolVar(&o.example, "example", false, "print the documented example configuration")
	fs.BoolVar(&o.ver, "version", false, "print the version")
	fs.Usage = func() {
		fmt.Fprint(errOut, "filgrothd -dev | -config FILE: the proving daemon\nfilgrothd forward [flags]: the way to a daemon on another machine, see filgrothd forward -h\n\n")
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); err != nil {
		return err
	}
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("what is %q?", fs.Arg(0))
	case o.example:
		_, err := io.WriteString(out, config.Example)
		return err
	case o.ver:
		fmt.Fprintln(out, "filgrothd", version())
		return nil
	}
	cfg, err := o.load()
	if err != nil {
		return err
	}
	if o.check {
		fmt.Fprintln(out, "the configuration is sound")
		return nil
	}
	return serve(ctx, hurry, cfg, logger(cfg.Log, errOut))
}

func (o *options) load() (cfg config.Config, err error) {
	switch {
	case o.config != "":
		if cfg, err = config.Load(o.config); err != nil {
			return cfg, err
		}
	case o.dev:
		cfg = config.Default()
	default:
		return cfg, errors.New("give -config FILE, or -dev to try it")
	}
	if o.dev {
		cfg.Engine.DevelopmentKeys = true
		if o.config == "" {
			dir, err := os.UserCacheDir()
			if err != nil {
				return cfg, err
			}
			cfg.State.Dir = filepath.Join(dir, "filgroth", "daemon")
		}
	}
	if o.stateDir != "" {
		cfg.State.Dir = o.stateDir
	}
	return cfg, cfg.Validate()
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += " " + s.Value
		}
	}
	return v + " " + info.GoVersion
}

func logger(c config.Log, w io.Writer) *slog.Logger {
	level, _ := c.SlogLevel() // validated
	o := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// serve runs the daemon until ctx ends and it has drained.
func serve(ctx, hurry context.Context, cfg config.Config, log *slog.Logger) (err error) {
	creds, err := server.LoadCredentials(cfg.Security.Cert, cfg.Security.Key, cfg.Security.TokenFile)
	if err != nil {
		return err
	}
	jn, recs, err := journal.Open(cfg.State.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, jn.Close()) }()
	keys := "deployed keys"
	if cfg.Engine.DevelopmentKeys {
		keys = "development keys"
	}
	if err := jn.Belongs(keys); err != nil {
		return err
	}
	backends, devices, err := openDevices(cfg.Engine, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, devices.close()) }()
	e, err := filgroth.New(engineConfig(cfg, backends, log))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	q := server.NewQueue(queueConfig(cfg, log), e, jn, recs)
	s := server.New(serverConfig(cfg, creds, devices, log), q)
	if err := s.Listen(); err != nil {
		return err
	}
	log.Info("listening", "addresses", fmt.Sprint(s.Addrs()), "version", version(), "development_keys", cfg.Engine.DevelopmentKeys,
		"state", cfg.State.Dir, "memory", server.ReadMemory().Limit)
	if cfg.Engine.DevelopmentKeys {
		log.Warn("DEVELOPMENT KEYS: anyone can forge proofs under them")
	}
	stopReload := onHangup(creds, log)
	defer stopReload()
	loading := preload(ctx, e, cfg.Engine.Preload, log)
	defer loading()
	return s.Serve(ctx, hurry)
}

// onHangup reads certificate and tokens again at SIGHUP.
func onHangup(creds *server.Credentials, log *slog.Logger) (stop func()) {
	c := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(c, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-c:
				err := creds.Reload()
				log.Info("certificate and tokens read again", "err", err)
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(c); close(done) }
}

// preload loads circuits one after the other, in the background; wait waits for the end.
func preload(ctx context.Context, e *filgroth.Engine, ids []string, log *slog.Logger) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, id := range ids {
			kind, size, err := server.ParseCircuit(id)
			start := time.Now()
			if err == nil {
				_, err = e.Preload(ctx, kind, size)
			}
			if err != nil {
				log.Error("preload", "circuit", id, "err", err)
				continue
			}
			log.Info("key loaded", "circuit", id, "elapsed", time.Since(start))
		}
	}()
	return func() { <-done }
}
