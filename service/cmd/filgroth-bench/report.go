package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/filgroth/filgroth/internal/atomicfile"
	"github.com/filgroth/filgroth/service/client"
	"github.com/filgroth/filgroth/service/cuzkv1"
)

// Job is one request of a run. Times are seconds; the phases are the daemon's, wall is the client's.
type Job struct {
	Request   string  `json:"request"`
	JobID     string  `json:"job"`
	Kind      string  `json:"kind"`
	Priority  string  `json:"priority"`
	Bytes     int     `json:"request_bytes"`
	Status    string  `json:"status"`
	Error     string  `json:"error,omitempty"`
	Verified  *bool   `json:"verified,omitempty"` // by the client, if asked to
	Wall      float64 `json:"wall_s"`
	Wait      float64 `json:"queue_wait_s"`
	Load      float64 `json:"key_load_s"`
	Synthesis float64 `json:"synthesis_s"`
	Compute   float64 `json:"compute_s"`
	Total     float64 `json:"total_s"`
}

func (j *Job) fill(r *cuzkv1.AwaitProofResponse) {
	if r == nil {
		return
	}
	seconds := func(ms uint64) float64 { return float64(ms) / 1000 }
	j.JobID, j.Status = r.JobId, r.Status.String()
	j.Wait, j.Load, j.Synthesis, j.Compute, j.Total = seconds(r.QueueWaitMs), seconds(r.SrsLoadMs), seconds(r.SynthesisMs), seconds(r.GpuComputeMs), seconds(r.TotalMs)
}

// Spread is how a time is distributed over the completed jobs.
type Spread struct {
	Min    float64 `json:"min_s"`
	Median float64 `json:"median_s"`
	P90    float64 `json:"p90_s"`
	Max    float64 `json:"max_s"`
}

func spread(v []float64) (s Spread) {
	if len(v) == 0 {
		return s
	}
	slices.Sort(v)
	at := func(q float64) float64 { return v[int(q*float64(len(v)-1)+0.5)] }
	return Spread{v[0], at(0.5), at(0.9), v[len(v)-1]}
}

// Result is a run.
type Result struct {
	Mode    string            `json:"mode"`
	Date    string            `json:"date"`
	Address string            `json:"address"`
	Client  string            `json:"client"`
	Config  map[string]any    `json:"config"`
	Jobs    []Job             `json:"jobs"`
	Counts  map[string]int    `json:"counts"`
	Elapsed float64           `json:"elapsed_s"`
	PerHour float64           `json:"proofs_per_hour"`
	Times   map[string]Spread `json:"times"`
}

func newResult(mode string, o *options) *Result {
	return &Result{Mode: mode, Date: time.Now().UTC().Format(time.RFC3339), Address: o.addr, Client: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Config: map[string]any{"kind": o.kind, "size": o.size, "golden": o.golden, "n": o.n, "concurrency": o.parallel, "rate": o.rate, "cancel": o.cancel, "seed": o.seed}}
}

func (r *Result) sum(elapsed time.Duration) {
	r.Elapsed, r.Counts, r.Times = elapsed.Seconds(), map[string]int{}, map[string]Spread{}
	by := map[string][]float64{}
	for _, j := range r.Jobs {
		r.Counts[j.Status]++
		if j.Status != "COMPLETED" {
			continue
		}
		for name, v := range map[string]float64{"wall": j.Wall, "queue_wait": j.Wait, "key_load": j.Load, "synthesis": j.Synthesis, "compute": j.Compute, "total": j.Total} {
			by[name] = append(by[name], v)
		}
	}
	for name, v := range by {
		r.Times[name] = spread(v)
	}
	r.PerHour = float64(r.Counts["COMPLETED"]) / r.Elapsed * 3600
}

// failure is an error if something went wrong that was not asked for. A busy daemon is what stress may be after, but not without
// any proof.
func (r *Result) failure() error {
	wrong := []string{"FAILED", "ERROR", "WRONG", "TIMEOUT", "AWAY"}
	if r.Counts["COMPLETED"] == 0 {
		wrong = append(wrong, "BUSY")
	}
	for _, s := range wrong {
		if n := r.Counts[s]; n > 0 {
			for _, j := range r.Jobs {
				if j.Status == s {
					return fmt.Errorf("%d jobs are %s, the first: %s: %s", n, s, j.Request, j.Error)
				}
			}
		}
	}
	return nil
}

func (r *Result) write(out io.Writer, path string) error {
	w := tabwriter.NewWriter(out, 2, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "time\tmin\tmedian\tp90\tmax\t")
	for _, name := range []string{"queue_wait", "key_load", "synthesis", "compute", "total", "wall"} {
		s := r.Times[name]
		fmt.Fprintf(w, "%s\t%.3f s\t%.3f s\t%.3f s\t%.3f s\t\n", name, s.Min, s.Median, s.P90, s.Max)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d jobs in %.3f s:", len(r.Jobs), r.Elapsed)
	for _, s := range []string{"COMPLETED", "CANCELLED", "BUSY", "AWAY", "FAILED", "ERROR", "WRONG", "TIMEOUT"} {
		if n := r.Counts[s]; n > 0 {
			fmt.Fprintf(out, " %d %s", n, s)
		}
	}
	verified := 0
	for _, j := range r.Jobs {
		if j.Verified != nil && *j.Verified {
			verified++
		}
	}
	if verified > 0 {
		fmt.Fprintf(out, "; %d verified here", verified)
	}
	fmt.Fprintf(out, "; %.1f proofs/hour\n", r.PerHour)
	if path == "" {
		return nil
	}
	return atomicfile.Write(path, 0o644, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	})
}

func showStatus(ctx context.Context, _ *options, c *client.Client, _ []string, out io.Writer) error {
	s, err := c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 2, 0, 2, ' ', 0)
	fmt.Fprintf(w, "up %v\t%d proofs\t%d failed\thost memory %d of %d MiB\n\n", time.Duration(s.UptimeSeconds)*time.Second, s.TotalProofsCompleted,
		s.TotalProofsFailed, s.PinnedMemoryBytes>>20, s.PinnedMemoryLimitBytes>>20)
	fmt.Fprintln(w, "device\tname\tfree MiB\ttotal MiB\tjob\tkind")
	for _, g := range s.Gpus {
		fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%s\t%s\n", g.Ordinal, g.Name, g.VramFreeBytes>>20, g.VramTotalBytes>>20, g.CurrentJobId, g.CurrentProofKind)
	}
	fmt.Fprintln(w, "\ncircuit\ttier\tMiB\tusers\t\t")
	for _, k := range s.LoadedSrs {
		fmt.Fprintf(w, "%s\t%v\t%d\t%d\t\t\n", k.CircuitId, k.Tier, k.SizeBytes>>20, k.RefCount)
	}
	fmt.Fprintln(w, "\nkind\twaiting\trunning\t\t\t")
	for _, q := range s.Queues {
		fmt.Fprintf(w, "%s\t%d\t%d\t\t\t\n", q.ProofKind, q.Pending, q.InProgress)
	}
	return w.Flush()
}
