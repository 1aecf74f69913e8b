package filgroth

import (
	"strconv"
	"time"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Report is what happened while a proof was made.
type Report struct {
	Kind Kind
	Size vanilla.SectorSize
	// Request names the work in logs; it is derived from its content.
	Request string
	// Joined says that another call with the same request was under way and its result was shared.
	Joined bool
	// DevelopmentKey says that the proof was made under a published trapdoor: anyone can forge it.
	DevelopmentKey bool
	Partitions     []PartitionReport
	Elapsed        time.Duration
	// Spans are the phases of design.md §9 on the time line of the recorder in the context (a new one if there was none).
	Spans []span.Record
	// Usage is the process's, not this job's alone.
	Usage pinning.Usage
}

// PartitionReport is one proof of a report.
type PartitionReport struct {
	Index int
	// Backend is the one whose proof was returned; Attempts are the tries that failed before.
	Backend  string
	Attempts []Attempt
	Prover   *groth16.Report
}

func (r *Report) usage() { r.Usage = pinning.ReadUsage() }

func itoa(i int) string { return strconv.Itoa(i) }
