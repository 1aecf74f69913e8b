package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/filgroth/filgroth/span"
	"github.com/stretchr/testify/require"
)

// Flags that mean nothing are refused in every mode before anything is done: no panic, no run of minutes.
func TestHostileFlags(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(blocked, nil, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const prove = "prove -shape window-2k -devices 0 -keys " // and a directory in which no key may appear
	for _, line := range []string{
		prove + dir + " -jobs 99999999999999", prove + dir + " -again 9223372036854775807", prove + dir + " -workers -1",
		prove + dir + " -workers 65", prove + dir + " -circuits -1", prove + dir + " -circuits 100000", prove + dir + " -partitions 99999",
		prove + dir + " -partitions -1", prove + dir + " -devices -1", prove + dir + " -fault -1",
		prove + dir + " -host-memory -1", prove + dir + " -host-memory NaN", prove + dir + " -host-memory 9999999999GiB", prove + dir + " -host-memory",
		prove + dir + " -json " + dir, prove + dir + " -waterfall " + dir, prove + dir + " -json " + blocked + "/x.json",
		"prove -shape porep-2k -devices 0 -partitions 7", "prove -shape winning-2k -devices 0 -partitions 2", "prove -shape update-2k -devices 0 -partitions 16",
		"prove -shape porep-32g -devices 0 -partitions 1", "prove -shape", "prove x",
		"batch -count 999999999999999", "batch -concurrency -1", "single -n -1", "single -n 99999999999", "single -json " + dir,
		"cancel -at NaN", "cancel -at 1", "cancel -at -0.1", "stress -cancel NaN", "stress -cancel Inf", "stress -clients 99999999999", "stress -kinds ,",
		"scale -pib NaN", "scale -pib 1e300", "scale -pib -1", "scale -hosts 99999999999 -pib 1", "scale -horizon Inf", "scale -poll 0", "scale -partitions 0",
		"synth -shape window-2k -dir " + blocked, "synth -shape window-2k -n 0",
		"ab -n 99999999999", "ab -quick -alpha NaN", "ab -quick -alpha 1", "ab -quick -tolerance -1", "ab -quick -effect -3", "ab -quick -shape winning-2k", "ab -quick -knob b2=parallel,sequential", "ab -quick -out " + blocked,
		"pin -bytes 0", "pin -n 0", "pin -out " + blocked, "pin -shape nothing", "gnark -log 1000", "gnark -log -5", "gnark -out " + blocked,
		"sums -circuits 99999999999", "sums -n 0", "nothing",
	} {
		require.Error(t, run(ctx, strings.Fields(line), io.Discard, io.Discard), line)
		require.NoError(t, ctx.Err(), line)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "no key was made, nothing was left")
}

// The folder of a result is there before the run, and a result that cannot be written where it should be is kept elsewhere.
func TestResultsAreNotLost(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tmp"), 0o755))
	path := filepath.Join(dir, "new", "folder", "x.json")
	require.NoError(t, checkFile(path))
	require.NoError(t, writeJSON(path, map[string]int{"a": 1}))
	gone := filepath.Join(dir, "gone", "x.json")
	err := writeJSON(gone, map[string]int{"a": 2})
	require.ErrorIs(t, err, os.ErrNotExist)
	kept, err2 := filepath.Glob(filepath.Join(dir, "tmp", "*x.json"))
	require.NoError(t, err2)
	require.Len(t, kept, 1)
	require.ErrorContains(t, err, kept[0])
	b, err := os.ReadFile(kept[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"a": 2}`, string(b))
	require.Error(t, writeJSON(path, math.NaN()))
	b, err = os.ReadFile(path)
	require.NoError(t, err)
	require.JSONEq(t, `{"a": 1}`, string(b), "an older result stays")
}

// What was measured before a run failed is written, with the failure; a run that measured nothing leaves an older file alone.
func TestFailedProveRunIsWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.json")
	f := &proveFlags{json: file}
	boom := errors.New("boom")
	require.ErrorIs(t, f.finish(&ProveResult{}, boom, io.Discard), boom)
	require.NoFileExists(t, file)
	r := &ProveResult{ProveRun: ProveRun{First: Cost{Wall: 3}}, sample: []span.Record{{}}}
	var out strings.Builder
	require.ErrorIs(t, f.finish(r, boom, &out), boom)
	require.Contains(t, out.String(), "verified: false")
	var back ProveResult
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, "boom", back.Failed)
	require.False(t, back.Verified)
	require.Equal(t, 3.0, back.First.Wall)
}

// The rounds of a comparison that was ended in the middle of one are judged and written, and say so.
func TestEndedComparisonIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	f := &abFlags{out: dir}
	boom := errors.New("boom <9>")
	empty := newABResult(f, []Arm{{Name: "x=1"}})
	require.ErrorIs(t, f.finish(empty, boom, io.Discard), boom)
	require.NoDirExists(t, dir)
	r := fakeResult(t, 6)
	r.Rounds, r.Comparisons = 10, nil
	require.NoError(t, r.note(0, 6, &Outcome{Cost: Cost{Wall: 1}}), "the baseline is a round ahead")
	var out strings.Builder
	require.ErrorIs(t, f.finish(r, boom, &out), boom)
	require.Contains(t, out.String(), "ENDED BEFORE ITS TIME: boom <9>")
	var back ABResult
	b, err := os.ReadFile(filepath.Join(dir, "results.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, boom.Error(), back.Failed)
	require.Equal(t, 7, back.Rounds)
	require.NotEmpty(t, back.Comparisons)
	b, err = os.ReadFile(filepath.Join(dir, "report.html"))
	require.NoError(t, err)
	require.Contains(t, string(b), "boom &lt;9&gt;")

	pin := &pinFlags{out: filepath.Join(dir, "pin")}
	require.ErrorIs(t, pin.finish(&PinResult{}, boom, io.Discard), boom)
	require.NoDirExists(t, pin.out)
	require.ErrorIs(t, pin.finish(&PinResult{Copies: []PinCopy{{Pages: "base", Seconds: []float64{1}}}}, boom, io.Discard), boom)
	require.FileExists(t, filepath.Join(pin.out, "pin.json"))

	file := filepath.Join(dir, "s.json")
	p := &phaseFlags{json: file}
	require.ErrorIs(t, p.finish(&PhaseResult{Verified: true}, boom, io.Discard), boom)
	require.NoFileExists(t, file)
	require.ErrorIs(t, p.finish(&PhaseResult{Runs: []Cost{{Wall: 2}}}, boom, io.Discard), boom)
	require.FileExists(t, file)
}
