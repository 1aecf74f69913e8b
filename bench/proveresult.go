package main

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"github.com/filgroth/filgroth/span"
)

// ProveResult is what the mode prove finds.
type ProveResult struct {
	Environment Environment `json:"environment"`
	Shape       string      `json:"shape"`
	Partitions  int         `json:"partitions"`
	Budget      int64       `json:"device_memory_bytes"` // of each device; 0: all
	HostBudget  int64       `json:"host_memory_bytes"`   // 0: four fifths of the machine
	Input       float64     `json:"input_s"`             // making synthetic vanilla proofs, not part of anything
	Make        *Cost       `json:"make,omitempty"`      // making the key and binding it, where it was not there yet
	Start       float64     `json:"start_s"`             // process start to the first proof's start, without the two above
	ProveRun
	// Alone is the same with the first device only, and what the others add to it.
	Alone   *ProveRun `json:"alone,omitempty"`
	Speedup float64   `json:"speedup,omitempty"`       // time a proof when sustained, one device over all
	Latency float64   `json:"latency_share,omitempty"` // of one proof, all over one
	Load    float64   `json:"load_share,omitempty"`    // time to load the key, all over one

	Cancel   *Stop  `json:"cancel,omitempty"`
	Fault    *Fault `json:"fault,omitempty"`
	Verified bool   `json:"verified"`
	Failed   string `json:"error,omitempty"` // why it is not: what was measured before that stands
	// What is held after the end, beyond what was held before the start.
	Leaked       int64            `json:"leaked_bytes"`
	LeakedDevice map[string]int64 `json:"leaked_device_bytes"`

	sample []span.Record
}

// ProveRun is a number of devices at work.
type ProveRun struct {
	Devices    int                `json:"devices"`
	Preload    Cost               `json:"preload"` // key and system, bound to the devices
	First      Cost               `json:"first"`   // one job alone, key resident: bytes in to verified proof
	Again      []Cost             `json:"again"`   // the same for other sectors, one after the other
	Jobs       int                `json:"jobs"`
	Sustained  Cost               `json:"sustained"` // all jobs queued at the same time
	PerProof   float64            `json:"per_proof_s"`
	Busy       map[string]float64 `json:"busy_share"`      // of each device, first to last kernel of the sustained run
	Sent       map[string]int64   `json:"sent_bytes"`      // to each device in the sustained run
	Key        int64              `json:"key_bytes"`       // of the key's file, which the preload sends to each device or maps
	HostPeak   int64              `json:"host_peak_bytes"` // anonymous and page-locked memory
	DevicePeak map[string]int64   `json:"device_peak_bytes"`
	Phases     map[string]float64 `json:"phase_s"` // of the sustained run: open time by name, all partitions together
	Attempts   []string           `json:"failed_attempts"`
}

// Stop is a job that was given up in its middle.
type Stop struct {
	After float64 `json:"after_s"`
	Took  float64 `json:"stopped_within_s"`
	Host  int64   `json:"host_bytes_left"`
}

// Fault is a job during which a call of the CUDA runtime was made to fail.
type Fault struct {
	Call     int64    `json:"call"` // the n-th after the second partition was proved
	Cost     Cost     `json:"cost"`
	Attempts []string `json:"failed_attempts"`
	Pending  bool     `json:"pending"` // the call was never reached
}

func (r *ProveResult) print(w io.Writer) {
	fmt.Fprintf(w, "shape %s, %d devices (%s each), %d partitions\n", r.Shape, r.Devices, budgetString(r.Budget), r.Partitions)
	fmt.Fprintf(w, "  input          %8.3f s (synthetic vanilla proofs, not counted below)\n", r.Input)
	if r.Make != nil {
		fmt.Fprintf(w, "  key made       %v\n", *r.Make)
	}
	if r.Alone != nil {
		fmt.Fprintln(w, "one device:")
		r.Alone.print(w)
		fmt.Fprintf(w, "%d devices:\n", r.Devices)
	}
	r.ProveRun.print(w)
	fmt.Fprintf(w, "  process start to first proof %.3f s\n", r.Start)
	if r.Alone != nil {
		fmt.Fprintf(w, "  speed-up sustained %.2f, one proof in %.1f %% of the time, key loaded in %.2f times the time\n", r.Speedup, 100*r.Latency, r.Load)
	}
	if c := r.Cancel; c != nil {
		fmt.Fprintf(w, "  cancelled after %.2f s: stopped within %.3f s, %d host bytes left\n", c.After, c.Took, c.Host)
	}
	if f := r.Fault; f != nil {
		fmt.Fprintf(w, "  fault at call %d: %v; failed attempts: %s; never reached: %t\n", f.Call, f.Cost, strings.Join(f.Attempts, "; "), f.Pending)
	}
	fmt.Fprintf(w, "  left behind: %d bytes of the host", r.Leaked)
	for _, k := range sortedKeys(r.LeakedDevice) {
		fmt.Fprintf(w, ", %d of %s", r.LeakedDevice[k], k)
	}
	fmt.Fprintf(w, "\n  verified: %v\n", r.Verified)
}

func (r *ProveRun) print(w io.Writer) {
	fmt.Fprintf(w, "  preload        %v\n", r.Preload)
	fmt.Fprintf(w, "  first proof    %v\n", r.First)
	for _, c := range r.Again {
		fmt.Fprintf(w, "  another        %v\n", c)
	}
	if r.Jobs > 0 {
		fmt.Fprintf(w, "  sustained      %v\n", r.Sustained)
		fmt.Fprintf(w, "  per proof      %8.3f s over %d jobs\n", r.PerProof, r.Jobs)
	}
	for _, k := range sortedKeys(r.DevicePeak) {
		fmt.Fprintf(w, "  %s           busy %.1f %%, memory %s, sent %s\n", k, 100*r.Busy[k], bytesString(r.DevicePeak[k]), bytesString(r.Sent[k]))
	}
	fmt.Fprintf(w, "  host memory    %s at peak; key %s\n", bytesString(r.HostPeak), bytesString(r.Key))
	for _, k := range sortedKeys(r.Phases) {
		fmt.Fprintf(w, "    %-24s %9.3f s\n", k, r.Phases[k])
	}
	fmt.Fprintf(w, "  failed attempts: %d %s\n", len(r.Attempts), strings.Join(r.Attempts, "; "))
}

// busyShare is, for each device's lane, the union of its kernels' spans over the time from its first to its last.
func busyShare(records []span.Record) map[string]float64 {
	lanes := map[string][][2]time.Duration{}
	for _, x := range records {
		if strings.HasPrefix(x.Lane, "gpu") && !x.Open && kernels(x.Name) {
			lanes[x.Lane] = append(lanes[x.Lane], [2]time.Duration{x.Start, x.End})
		}
	}
	out := map[string]float64{}
	for lane, v := range lanes {
		sort.Slice(v, func(i, j int) bool { return v[i][0] < v[j][0] })
		busy, end, last := time.Duration(0), v[0][0], v[0][1]
		for _, s := range v {
			from := max(s[0], end)
			if s[1] > from {
				busy += s[1] - from
				end = s[1]
			}
			last = max(last, s[1])
		}
		if last > v[0][0] {
			out[lane] = busy.Seconds() / (last - v[0][0]).Seconds()
		}
	}
	return out
}

// kernels says whether a span of a device's lane is computation.
func kernels(name string) bool {
	switch name {
	case "key.load", "prep", "pin", "prove":
		return false
	}
	return true
}

// sentBytes adds up what the spans of each device's lane say they sent.
func sentBytes(records []span.Record) map[string]int64 {
	out := map[string]int64{}
	for _, x := range records {
		if strings.HasPrefix(x.Lane, "gpu") && (x.Name == "key.load" || x.Name == "prep") {
			out[x.Lane] += x.Bytes
		}
	}
	return out
}

func budgetString(b int64) string {
	if b == 0 {
		return "all memory"
	}
	return bytesString(b)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
