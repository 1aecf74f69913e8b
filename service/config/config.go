// Package config reads filgrothd's TOML file. An unknown key is an error, a missing one takes the value that the example
// file shows; example.toml documents every key. Only the daemon needs this package.
package config

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// Example is the documented configuration: every key with its default value.
//
//go:embed example.toml
var Example string

// ErrConfig: a value that cannot be used.
var ErrConfig = errors.New("config: bad value")

// Config is the whole file.
type Config struct {
	Listen   Listen   `toml:"listen"`
	Security Security `toml:"security"`
	Engine   Engine   `toml:"engine"`
	Queue    Queue    `toml:"queue"`
	State    State    `toml:"state"`
	Memory   Memory   `toml:"memory"`
	Log      Log      `toml:"log"`
	Shutdown Shutdown `toml:"shutdown"`
}

// Listen are the addresses.
type Listen struct {
	GRPC           []string `toml:"grpc"`
	Unix           string   `toml:"unix"`
	HTTP           string   `toml:"http"`
	MaxConnections int      `toml:"max_connections"`
}

// Security is what TCP beyond loopback needs.
type Security struct {
	Cert      string `toml:"tls_cert"`
	Key       string `toml:"tls_key"`
	TokenFile string `toml:"token_file"`
}

// Engine are the prover's options; zero means that it chooses.
type Engine struct {
	Parameters         string   `toml:"parameters"`
	DevelopmentKeys    bool     `toml:"development_keys"`
	CacheDir           string   `toml:"cache_dir"`
	Devices            string   `toml:"devices"`
	Library            string   `toml:"library"`
	DeviceMemory       Bytes    `toml:"device_memory"`
	HostMemory         Bytes    `toml:"host_memory"`
	KeyMemory          Bytes    `toml:"key_memory"`
	WorkersPerDevice   int      `toml:"workers_per_device"`
	PartitionsInFlight int      `toml:"partitions_in_flight"`
	CircuitsPerCall    int      `toml:"circuits_per_call"`
	Threads            int      `toml:"threads"`
	CPUFallback        bool     `toml:"cpu_fallback"`
	CheckPoints        bool     `toml:"check_points"`
	Preload            []string `toml:"preload"`
}

// Queue bounds what is accepted.
type Queue struct {
	Size               int      `toml:"size"`
	CriticalReserve    int      `toml:"critical_reserve"`
	Running            int      `toml:"running"`
	Ageing             Duration `toml:"ageing"`
	SpoolBytes         Bytes    `toml:"spool_bytes"`
	MaxRequest         Bytes    `toml:"max_request"`
	MaxUploads         int      `toml:"max_uploads"`
	UploadTimeout      Duration `toml:"upload_timeout"`
	Conflict           string   `toml:"conflict"`
	CancelOnDisconnect bool     `toml:"cancel_on_disconnect"`
	MaxStarts          int      `toml:"max_starts"`
}

// State is the journal's place and how long it remembers.
type State struct {
	Dir      string   `toml:"dir"`
	Keep     Duration `toml:"keep"`
	KeepJobs int      `toml:"keep_jobs"`
}

// Memory is the monitor.
type Memory struct {
	Every Duration `toml:"every"`
	High  int      `toml:"high_percent"`
}

// Log is how events are written.
type Log struct {
	Level  string `toml:"level"`
	Format string `toml:"format"`
}

// Shutdown bounds the time that running jobs get after SIGTERM.
type Shutdown struct {
	Drain Duration `toml:"drain"`
}

// Default is the example's content.
func Default() Config {
	c, err := parse([]byte(Example), Config{})
	if err != nil { // a test parses it
		panic("config: example.toml: " + err.Error())
	}
	return c
}

// Load reads a file over the defaults and validates the result.
func Load(path string) (Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("config: %w", err)
	}
	c, err := parse(b, Default())
	if err != nil {
		return c, fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
	}
	if err := c.Validate(); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func parse(b []byte, c Config) (Config, error) {
	d := toml.NewDecoder(bytes.NewReader(b)).DisallowUnknownFields()
	err := d.Decode(&c)
	var strict *toml.StrictMissingError
	var at *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		return c, fmt.Errorf("unknown keys:\n%s", strict.String())
	case errors.As(err, &at):
		row, _ := at.Position()
		return c, fmt.Errorf("line %d: %w", row, err)
	}
	return c, err
}

// Validate refuses values out of range, and TCP beyond loopback without TLS and tokens.
func (c Config) Validate() error {
	bad := func(key string, v any, want string) error {
		return fmt.Errorf("%w: %s = %v: %s", ErrConfig, key, v, want)
	}
	ranges := []struct {
		key            string
		v, least, most int
	}{
		{"listen.max_connections", c.Listen.MaxConnections, 1, 1 << 16},
		{"engine.workers_per_device", c.Engine.WorkersPerDevice, 0, 64}, {"engine.partitions_in_flight", c.Engine.PartitionsInFlight, 0, 1 << 16},
		{"engine.circuits_per_call", c.Engine.CircuitsPerCall, 0, 64}, {"engine.threads", c.Engine.Threads, 0, 1 << 16},
		{"queue.size", c.Queue.Size, 1, 1 << 20}, {"queue.critical_reserve", c.Queue.CriticalReserve, 0, 1 << 20},
		{"queue.running", c.Queue.Running, 1, 1 << 10}, {"queue.max_uploads", c.Queue.MaxUploads, 1, 1 << 16},
		{"queue.max_starts", c.Queue.MaxStarts, 1, 1 << 20}, {"state.keep_jobs", c.State.KeepJobs, 1, 1 << 24},
		{"memory.high_percent", c.Memory.High, 10, 100},
	}
	for _, r := range ranges {
		if r.v < r.least || r.v > r.most {
			return bad(r.key, r.v, fmt.Sprintf("from %d to %d", r.least, r.most))
		}
	}
	for _, d := range []struct {
		key string
		v   Duration
		min time.Duration
	}{{"queue.ageing", c.Queue.Ageing, time.Second}, {"queue.upload_timeout", c.Queue.UploadTimeout, 10 * time.Millisecond},
		{"state.keep", c.State.Keep, time.Second}, {"memory.every", c.Memory.Every, 10 * time.Millisecond}, {"shutdown.drain", c.Shutdown.Drain, 0}} {
		if time.Duration(d.v) < d.min {
			return bad(d.key, d.v, fmt.Sprintf("at least %v", d.min))
		}
	}
	switch {
	case c.Queue.MaxRequest < 1<<10 || c.Queue.MaxRequest > 1<<30:
		return bad("queue.max_request", c.Queue.MaxRequest, "from 1KiB to 1GiB")
	case c.Queue.SpoolBytes < c.Queue.MaxRequest:
		return bad("queue.spool_bytes", c.Queue.SpoolBytes, "at least queue.max_request")
	case c.Queue.Conflict != "refuse" && c.Queue.Conflict != "replace":
		return bad("queue.conflict", c.Queue.Conflict, `"refuse" or "replace"`)
	case c.Log.Format != "text" && c.Log.Format != "json":
		return bad("log.format", c.Log.Format, `"text" or "json"`)
	case c.State.Dir == "":
		return bad("state.dir", `""`, "the journal needs a folder")
	case !c.Engine.DevelopmentKeys && c.Engine.Parameters == "":
		return bad("engine.parameters", `""`, "needed without development_keys")
	}
	if _, _, err := c.Engine.Ordinals(); err != nil {
		return err
	}
	if _, err := c.Log.SlogLevel(); err != nil {
		return err
	}
	return c.validateListen()
}

func (c Config) validateListen() error {
	if len(c.Listen.GRPC) == 0 && c.Listen.Unix == "" {
		return fmt.Errorf("%w: listen: neither grpc nor unix is set", ErrConfig)
	}
	if (c.Security.Cert == "") != (c.Security.Key == "") {
		return fmt.Errorf("%w: security: tls_cert and tls_key go together", ErrConfig)
	}
	secure := c.Security.Cert != "" && c.Security.TokenFile != ""
	for _, a := range append(append([]string(nil), c.Listen.GRPC...), c.Listen.HTTP) {
		if a == "" {
			continue
		}
		host, port, err := net.SplitHostPort(a)
		if err != nil {
			return fmt.Errorf("%w: listen: %q: %w", ErrConfig, a, err)
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return fmt.Errorf("%w: listen: %q: the port is no number", ErrConfig, a)
		}
		if !Loopback(host) && !secure {
			return fmt.Errorf("%w: listen: %q is reachable from other machines: it needs security.tls_cert, tls_key and token_file", ErrConfig, a)
		}
	}
	return nil
}

// Loopback says that a host is this machine's own and nobody else's. A name other than localhost is not trusted to be.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
