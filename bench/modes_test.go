package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/filgroth/filgroth/pinning"
	"github.com/stretchr/testify/require"
)

// mustRun runs a mode and gives what it printed.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	require.NoError(t, run(context.Background(), args, &out, &errOut), "%s\n%s", out.String(), errOut.String())
	return out.String()
}

func TestPhaseModes(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	before := pinning.LiveBytes()
	out := mustRun(t, "single", "-shape", "window-2k", "-keys", dir, "-n", "2", "-json", file("s.json"), "-waterfall", file("s.svg"), "-trace", file("s.trace"))
	require.Contains(t, out, "verified  true")
	require.Contains(t, out, "msm.b2")
	out = mustRun(t, "prover", "-shape", "window-2k", "-keys", dir, "-set", "circuits=2", "-set", "inflight=2")
	require.NotContains(t, out, "synth.witness")
	out = mustRun(t, "batch", "-shape", "window-2k", "-keys", dir, "-count", "3", "-concurrency", "2")
	require.Contains(t, out, "latency")
	require.Equal(t, before, pinning.LiveBytes())
	var r PhaseResult
	b, err := os.ReadFile(file("s.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &r))
	require.True(t, r.Verified)
	require.Len(t, r.Phases["msm.h"], 2)
	require.Equal(t, "cpu", r.Settings["backend"])
	b, err = os.ReadFile(file("s.svg"))
	require.NoError(t, err)
	wellFormed(t, b)
	var out2 bytes.Buffer
	for _, args := range [][]string{{"single", "-set", "x=1"}, {"single", "-n", "0"}, {"batch", "-count", "0"}, {"prover", "-set", "circuits=0"}, {"prover", "-shape", "mix-3"},
		{"prover", "-shape", "window-2k", "-keys", dir, "-set", "backend=gpu"}} {
		require.Error(t, run(context.Background(), args, &out2, &out2), "%v", args)
	}
}

// The engine from bytes to verified proofs: alone, given up, several at the same time.
func TestProveMode(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "p.json")
	out := mustRun(t, "prove", "-shape", "window-2k", "-partitions", "2", "-devices", "0", "-keys", dir, "-again", "1", "-jobs", "2", "-cancel", "-json", file)
	require.Contains(t, out, "verified: true")
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var r ProveResult
	require.NoError(t, json.Unmarshal(b, &r))
	require.Equal(t, 2, r.Partitions)
	require.NotNil(t, r.Make)
	require.NotNil(t, r.Cancel)
	require.Zero(t, r.Cancel.Host)
	require.Zero(t, r.Leaked)
	require.Len(t, r.Again, 1)
	require.Positive(t, r.PerProof)
	var sink bytes.Buffer
	for _, args := range [][]string{{"-shape", "x"}, {"-jobs", "-1"}, {"-fault", "1", "-devices", "0"}, {"-shape", "winning-2k", "-partitions", "3", "-devices", "0", "-keys", dir}} {
		require.Error(t, run(context.Background(), append([]string{"prove"}, args...), &sink, &sink), "%v", args)
	}
}

// Every phase ends with the context's error and leaves nothing: the mode itself fails where one does not.
func TestCancelMode(t *testing.T) {
	dir := t.TempDir()
	before := runtime.NumGoroutine()
	out := mustRun(t, "cancel", "-shape", "mix-16", "-keys", dir, "-json", filepath.Join(dir, "c.json"))
	require.Contains(t, out, "msm.h")
	require.Contains(t, out, "context canceled")
	require.LessOrEqual(t, runtime.NumGoroutine(), before+1)
}

func TestStressMode(t *testing.T) {
	out := mustRun(t, "stress", "-kinds", "window-2k", "-for", "1s", "-clients", "2", "-cancel", "0.5", "-cache", t.TempDir())
	require.Contains(t, out, "invariants broken: 0")
}

// The sums of bits need a circuit of gnark's; both provers' proofs verify with gnark's verifier.
func TestGnarkMode(t *testing.T) {
	out := mustRun(t, "gnark", "-log", "15", "-n", "1", "-warm", "0")
	require.Contains(t, out, "prover=filgroth")
}

func TestMonitorHalvesItsSamples(t *testing.T) {
	m := startMonitor(time.Microsecond)
	time.Sleep(300 * time.Millisecond)
	s := m.end()
	require.NotEmpty(t, s)
	require.Less(t, len(s), maxSamples)
	for i := 1; i < len(s); i++ {
		require.Less(t, s[i-1].Seconds, s[i].Seconds)
	}
}

func TestEnvironment(t *testing.T) {
	e := ReadEnvironment()
	require.Positive(t, e.Cores)
	for _, row := range e.rows() {
		require.NotEmpty(t, row[1], row[0])
	}
}
