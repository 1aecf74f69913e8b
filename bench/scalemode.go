package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/filgroth/filgroth/bench/scale"
)

// scaleFlags are the flags of the mode scale; the defaults are the stage times of bench/results (one H200, 2026-11-29).
type scaleFlags struct {
	m   scale.Model
	pib float64
}

func scaleMode(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	f := &scaleFlags{}
	m := &f.m
	fs.Float64Var(&f.pib, "pib", 0, "PiB of 32 GiB sectors sealed a day; 0 tables 1, 10 and 100 on hosts of one and of eight devices, each with the fewest that keep up")
	fs.IntVar(&m.Hosts, "hosts", 1, "hosts, with -pib alone")
	fs.IntVar(&m.DevicesPerHost, "devices", 1, "devices of a host, with -pib alone")
	fs.IntVar(&m.CoresPerHost, "cores", 16, "cores of a host")
	fs.IntVar(&m.Partitions, "partitions", 10, "partitions of a sector")
	fs.Float64Var(&m.DecodeCPU, "decode", 3, "core-seconds to decode and check one sector's vanilla proof")
	fs.Float64Var(&m.WitnessCPU, "witness", 0.4, "core-seconds of a partition's witness")
	fs.Float64Var(&m.DeviceTime, "device-time", 0.98, "device seconds of a partition's sums")
	fs.Float64Var(&m.FinishCPU, "finish", 0.01, "core-seconds to assemble and verify a partition's proof")
	fs.Float64Var(&m.InputBytes, "input", 39e6, "bytes of one sector's vanilla proof")
	fs.Float64Var(&m.HostNetwork, "network", 1.25e9, "bytes a second that a host receives")
	fs.Float64Var(&m.Storage, "storage", 5e9, "bytes a second that the store of vanilla proofs and keys gives to all hosts together")
	fs.Float64Var(&m.Poll, "poll", 5, "seconds between a host's looks at the scheduler's queue")
	fs.IntVar(&m.HostQueue, "queue", 3, "sectors that a host takes at a time for each device")
	fs.Float64Var(&m.KeyBytes, "key", 0, "bytes of the parameter file that each host fetches first, 47.4e9 for 32 GiB PoRep; 0: it is there already")
	fs.Float64Var(&m.Horizon, "horizon", 7200, "seconds simulated")
	fs.Uint64Var(&m.Seed, "seed", 1, "of the arrivals' jitter")
	return f.run
}

const sectorsPerPiB = 1 << 15 // of 32 GiB

func (f *scaleFlags) run(ctx context.Context, out io.Writer) error {
	if f.pib < 0 {
		return fmt.Errorf("-pib %v: not negative", f.pib)
	}
	w := tabwriter.NewWriter(out, 2, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "PiB/day\thosts\tdevices\tproved/day\tdevices busy\tCPUs busy\tstore busy\tmedian s\t99 % s\tkeys there after s\tbottleneck\t")
	line := func(pib float64, m scale.Model) (scale.Result, error) {
		m.SectorsPerDay = pib * sectorsPerPiB
		m.HostQueue *= m.DevicesPerHost
		r, err := scale.Run(ctx, m)
		if err == nil {
			fmt.Fprintf(w, "%g\t%d\t%d\t%.0f\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f\t%.1f\t%.0f\t%s\t\n", pib, m.Hosts, m.Hosts*m.DevicesPerHost, r.PerDay,
				100*r.DeviceBusy, 100*r.CPUBusy, 100*r.NetworkBusy, r.Latency50, r.Latency99, r.KeysLoaded, r.Bottleneck)
		}
		return r, err
	}
	if f.pib > 0 {
		if _, err := line(f.pib, f.m); err != nil {
			return err
		}
		return w.Flush()
	}
	for _, pib := range []float64{1, 10, 100} {
		perDevice := 86400 / (float64(f.m.Partitions) * f.m.DeviceTime)
		need := int(pib*sectorsPerPiB/perDevice) + 1
		for _, per := range []int{1, 8} {
			for extra := 0; extra < 3; extra++ {
				if err := ctx.Err(); err != nil {
					return err
				}
				m := f.m
				m.DevicesPerHost, m.CoresPerHost = per, f.m.CoresPerHost*per
				m.HostNetwork *= float64(per)
				m.Hosts = (need*(20+extra)/20 + per - 1) / per
				r, err := line(pib, m)
				if err != nil {
					return err
				}
				if r.Bottleneck == "none: keeps up" {
					break
				}
			}
		}
	}
	return w.Flush()
}
