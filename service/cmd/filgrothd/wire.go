package main

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/gpu"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/service/config"
	"github.com/filgroth/filgroth/service/server"
)

// deviceSet are the open devices by the name of their backends.
type deviceSet map[string]*gpu.Device

func (d deviceSet) close() error {
	var errs []error
	for _, x := range d {
		errs = append(errs, x.Close())
	}
	return errors.Join(errs...)
}

// status is what the protocol tells of the devices.
func (d deviceSet) status() map[string]server.Device {
	out := map[string]server.Device{}
	for name, x := range d {
		i := x.Info()
		out[name] = server.Device{Ordinal: uint32(i.Ordinal), Name: i.Name, TotalBytes: uint64(i.MemoryTotal), HeldByUs: uint64(x.Held().Device)}
	}
	return out
}

// openDevices opens what the configuration names; with auto all that can be used, and none if there is none.
func openDevices(c config.Engine, log *slog.Logger) (backends []filgroth.NamedBackend, open deviceSet, err error) {
	ordinals, auto, err := c.Ordinals()
	if err != nil {
		return nil, nil, err
	}
	open = deviceSet{}
	if auto {
		r := gpu.Probe(gpu.Options{Library: c.Library})
		if !r.Usable() {
			log.Info("no GPU, proving on the CPU", "reason", r.Err)
			return nil, open, nil
		}
		for _, d := range r.Devices {
			if d.Supported {
				ordinals = append(ordinals, d.Ordinal)
			}
		}
	}
	for _, n := range ordinals {
		d, err := gpu.Open(gpu.Options{Library: c.Library, Ordinal: n, MemoryBudget: int64(c.DeviceMemory)})
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("device %d: %w", n, err), open.close())
		}
		log.Info("device", "name", d.String(), "model", d.Info().Name, "memory", d.Info().MemoryTotal)
		open[d.String()] = d
		backends = append(backends, filgroth.NamedBackend{Name: d.String(), Backend: d})
	}
	return backends, open, nil
}

func engineConfig(c config.Config, backends []filgroth.NamedBackend, log *slog.Logger) filgroth.Config {
	e := c.Engine
	return filgroth.Config{
		Parameters: e.Parameters, DevelopmentKeys: e.DevelopmentKeys, CacheDir: e.CacheDir, CheckPoints: e.CheckPoints,
		Backends: backends, NoFallback: !e.CPUFallback && len(backends) > 0,
		Prover:            groth16.Config{CircuitsPerCall: e.CircuitsPerCall, Threads: e.Threads},
		WorkersPerBackend: e.WorkersPerDevice, PartitionsInFlight: e.PartitionsInFlight,
		HostMemory: int64(e.HostMemory), KeyMemory: int64(e.KeyMemory), AgeingStep: time.Duration(c.Queue.Ageing) / 10,
		Threads: e.Threads, Logger: log.With("part", "engine"),
	}
}

func queueConfig(c config.Config, log *slog.Logger) server.QueueConfig {
	return server.QueueConfig{Size: c.Queue.Size, CriticalReserve: c.Queue.CriticalReserve, Running: c.Queue.Running,
		Ageing: time.Duration(c.Queue.Ageing), SpoolBytes: int64(c.Queue.SpoolBytes), Replace: c.Queue.Conflict == "replace",
		MaxStarts: c.Queue.MaxStarts, Keep: time.Duration(c.State.Keep), KeepJobs: c.State.KeepJobs, Logger: log}
}

func serverConfig(c config.Config, creds *server.Credentials, d deviceSet, log *slog.Logger) server.Config {
	return server.Config{GRPC: c.Listen.GRPC, Unix: c.Listen.Unix, HTTP: c.Listen.HTTP, MaxConnections: c.Listen.MaxConnections,
		MaxRequest: int(c.Queue.MaxRequest), MaxUploads: c.Queue.MaxUploads, UploadTimeout: time.Duration(c.Queue.UploadTimeout),
		CancelOnDisconnect: c.Queue.CancelOnDisconnect, Drain: time.Duration(c.Shutdown.Drain), MemoryEvery: time.Duration(c.Memory.Every),
		MemoryHigh: c.Memory.High, Credentials: creds, Devices: d.status, Logger: log}
}
