package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/filgroth/filgroth/bench/stats"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
)

// Every knob takes each of its values and gives it back, and the settings stay valid (with the knobs that a value needs).
func TestAxesRoundTrip(t *testing.T) {
	needs := map[string][2]string{"hugepages=on": {"presize", "exact"}, "prefault=on": {"presize", "exact"}}
	names := map[string]bool{}
	for _, a := range axes() {
		require.False(t, names[a.Name], a.Name)
		names[a.Name] = true
		require.NotEmpty(t, a.About, a.Name)
		require.NotEmpty(t, a.Phases, a.Name)
		require.GreaterOrEqual(t, len(a.Values), 2, a.Name)
		before := defaultSettings()
		for _, v := range a.Values {
			s := defaultSettings()
			if n, ok := needs[a.Name+"="+v]; ok {
				x, err := axisNamed(n[0])
				require.NoError(t, err)
				require.NoError(t, x.Set(&s, n[1]))
			}
			require.NoError(t, a.Set(&s, v), "%s=%s", a.Name, v)
			require.Equal(t, v, a.Get(&s))
			require.NoError(t, s.Validate(), "%s=%s", a.Name, v)
		}
		require.Contains(t, a.Values, a.Get(&before), "%s: the default is one of its values", a.Name)
		bad := defaultSettings()
		if err := a.Set(&bad, "nonsense"); err == nil {
			t.Errorf("%s takes nonsense", a.Name)
		}
	}
	_, err := axisNamed("nothing")
	require.Error(t, err)
}

func TestArms(t *testing.T) {
	f := &abFlags{knobs: []string{"inline=0,4", "presize=none,exact,chunked"}, plan: planEach, base: []string{"synthesis=direct"}}
	arms, err := f.arms()
	require.NoError(t, err)
	require.Equal(t, "synth", f.work)
	require.Equal(t, []string{"inline=0/presize=none", "inline=4", "presize=exact", "presize=chunked"}, armNames(arms))
	require.Equal(t, 4, arms[1].Settings.Direct.InlineTerms)
	require.Equal(t, "direct", arms[3].Settings.Synthesis)
	f = &abFlags{knobs: f.knobs, plan: planMatrix, aa: true}
	arms, err = f.arms()
	require.NoError(t, err)
	require.Len(t, arms, 7)
	require.Equal(t, "inline=0/presize=none#again", arms[6].Name)
	f = &abFlags{knobs: []string{"b2=auto,auto"}, plan: planEach}
	arms, err = f.arms()
	require.NoError(t, err)
	require.Equal(t, "prove", f.work)
	require.Equal(t, []string{"b2=auto", "b2=auto#2"}, armNames(arms))
	f = &abFlags{preset: "phase4"}
	arms, err = f.arms()
	require.NoError(t, err)
	require.Len(t, arms, 12)
	require.Equal(t, pinning.PolicyRegister, arms[6].Settings.Prove.Pinning.Policy)
	require.Equal(t, groth16.Windows{H: 13, L: 13, A: 13, B1: 13, B2: 13}, arms[0].Settings.Prove.Windows)
	require.Equal(t, groth16.Windows{}, arms[5].Settings.Prove.Windows)
	require.Equal(t, arms[0].Settings.Prove.Windows, arms[11].Settings.Prove.Windows)
	f = &abFlags{preset: "phase4", work: workProver}
	arms, err = f.arms()
	require.NoError(t, err)
	require.Equal(t, []string{"baseline", "A4", "B1", "D4", "all-three", "all-but-A4", "all-but-B1", "all-but-D4"}, armNames(arms))
	for _, a := range arms {
		require.Equal(t, [2]string{"compiled", "whole"}, [2]string{a.Settings.Synthesis, a.Settings.Evaluation})
		require.Equal(t, synth.PagesBase, a.Settings.Assign.Pages)
	}
	for _, bad := range []*abFlags{
		{plan: planEach}, {preset: "x"}, {knobs: []string{"inline"}, plan: planEach}, {knobs: []string{"inline=3"}, plan: planEach},
		{knobs: []string{"x=1"}, plan: planEach}, {knobs: []string{"inline=1"}, plan: "both"}, {knobs: []string{"inline=1"}, plan: planEach, work: "x"},
		{knobs: []string{"prefault=on"}, plan: planEach}, {knobs: []string{"inline=1"}, plan: planEach, base: []string{"inline=x"}},
	} {
		_, err := bad.arms()
		require.Error(t, err, "%+v", bad)
	}
}

func armNames(arms []Arm) (out []string) {
	for _, a := range arms {
		out = append(out, a.Name)
	}
	return
}

// fakeResult feeds seeded durations of two phases to a result: the second arm is slower in phase "b", the third equal to the first.
func fakeResult(t *testing.T, rounds int) *ABResult {
	f := &abFlags{shape: "made-up", work: "synth", n: rounds}
	r := newABResult(f, []Arm{{Name: "x=1", Changed: []string{"b"}}, {Name: "x=2", Changed: []string{"b"}}, {Name: "x=1#again"}, {Name: "x=<3>"}})
	for i := range r.Arms {
		r.Arms[i].settings = defaultSettings()
	}
	r.Arms[3].Unavailable = "no <such> device"
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := -1; round < rounds; round++ {
		for arm, slow := range []float64{1, 1.4, 1} {
			a := time.Duration(1e9 * math.Exp(0.01*rnd.NormFloat64()))
			b := time.Duration(5e8 * slow * math.Exp(0.01*rnd.NormFloat64()))
			o := &Outcome{Checks: [][32]byte{{7}}, Cost: Cost{Wall: (a + b).Seconds(), User: (a + b).Seconds()}, Records: []span.Record{
				{ID: 1, Name: "a", Lane: "cpu", End: a}, {ID: 2, Name: "b", Lane: "gpu0", Start: a, End: a + b, Bytes: 9}}}
			require.NoError(t, r.note(arm, round, o))
		}
	}
	r.RSS = []Sample{{0, 5}, {1, 9}}
	r.judge()
	return r
}

func TestResultVerdicts(t *testing.T) {
	r := fakeResult(t, 10)
	require.Equal(t, []string{"a", "b"}, r.Phases)
	got := map[string]stats.Verdict{}
	for _, c := range r.Comparisons {
		got[c.Arm+" "+c.Phase] = c.Verdict
		require.Equal(t, c.Phase != "a" && (c.Phase != "b" || c.Arm == "x=2"), c.Touched, "%+v", c)
	}
	require.Equal(t, map[string]stats.Verdict{
		"x=2 a": stats.NoDifference, "x=2 b": stats.Worse, "x=2 total": stats.Worse, "x=2 core-seconds": stats.Worse,
		"x=1#again a": stats.NoDifference, "x=1#again b": stats.NoDifference, "x=1#again total": stats.NoDifference, "x=1#again core-seconds": stats.NoDifference,
	}, got)
	var b bytes.Buffer
	r.table(&b)
	require.Contains(t, b.String(), "unavailable: no <such> device")
	require.Contains(t, b.String(), "worse")
	for _, c := range fakeResult(t, 2).Comparisons {
		require.Equal(t, stats.NoVerdict, c.Verdict, "two rounds prove nothing")
		require.Nil(t, c.Low)
	}
}

func TestResultsMustBeEqual(t *testing.T) {
	r := newABResult(&abFlags{}, []Arm{{Name: "one", Settings: defaultSettings()}, {Name: "two", Settings: defaultSettings()}})
	require.NoError(t, r.note(0, -1, &Outcome{Checks: [][32]byte{{1}}}))
	require.NoError(t, r.note(1, 0, &Outcome{Checks: [][32]byte{{1}}}))
	require.NoError(t, r.note(1, 0, &Outcome{Checks: [][32]byte{{1}, {3}}}), "more circuits")
	require.ErrorContains(t, r.note(1, 1, &Outcome{Checks: [][32]byte{{2}}}), "two")
	require.ErrorContains(t, r.note(0, 1, &Outcome{Checks: [][32]byte{{1}, {4}}}), "circuit 1")
}

func TestReportFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, fakeResult(t, 10).write(dir))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 7)
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		require.NotContains(t, string(b), "http://www.w3.org/1999") // nothing but the SVG namespace
		require.Equal(t, strings.Count(string(b), "http"), strings.Count(string(b), `xmlns="http://www.w3.org/2000/svg"`), "%s refers to the network", e.Name())
		if strings.HasSuffix(e.Name(), ".svg") {
			wellFormed(t, b)
			require.Contains(t, string(b), "viewBox", "%s cannot be made narrower", e.Name())
		}
		if e.Name() == "phases.svg" {
			require.Greater(t, strings.Count(string(b), ">x=2<"), 2, "each bar has its arm's name beside it")
		}
		if e.Name() == "report.html" {
			require.Contains(t, string(b), "x=2")
			require.Contains(t, string(b), "no &lt;such&gt; device")
			require.NotContains(t, string(b), "ZgotmplZ")
		}
		if e.Name() == "results.txt" {
			require.Equal(t, 30, strings.Count(string(b), "BenchmarkSynth/shape=made-up/x="))
		}
	}
	require.Error(t, fakeResult(t, 1).write("/proc/nowhere"))
}

// The span around a proof changes with what is in it; one that a knob has no part in is worth a look.
func TestMarkOfOtherPhases(t *testing.T) {
	inside, synthesis := &ArmResult{Changed: []string{"synth.direct", "msm.h"}}, &ArmResult{Changed: []string{"synth.direct", "synth.witness"}}
	for phase, marks := range map[string][2]bool{"prove": {false, true}, "assemble": {true, true}} {
		for i, a := range []*ArmResult{inside, synthesis} {
			require.Equal(t, marks[i], strings.Contains(a.mark(&Comparison{Phase: phase, Verdict: stats.Worse}), "not a phase"), "%s, arm %d", phase, i)
			require.NotContains(t, a.mark(&Comparison{Phase: phase, Verdict: stats.NoDifference}), "not a phase")
		}
	}
	require.NotContains(t, inside.mark(&Comparison{Phase: "msm.h", Touched: true, Verdict: stats.Better}), "not a phase")
	require.Equal(t, "window=13/window-h=13/w…", short("window=13/window-h=13/window-l=13"))
}

func wellFormed(t *testing.T, b []byte) {
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

// A small live comparison of both kinds of work; arms that cannot run are shown as such.
func TestLiveComparison(t *testing.T) {
	before := pinning.LiveBytes()
	var out, errOut bytes.Buffer
	dir := t.TempDir()
	err := run(context.Background(), []string{"ab", "-shape", "mix-16", "-knob", "synthesis=compiled,direct", "-knob", "evaluation=stream,whole", "-n", "2", "-out", filepath.Join(dir, "synth")}, &out, &errOut)
	require.NoError(t, err, errOut.String())
	require.Contains(t, out.String(), "synth.direct")
	out.Reset()
	err = run(context.Background(), []string{"ab", "-shape", "window-2k", "-knob", "pin=none,register", "-knob", "synthesis=compiled,direct", "-knob", "b2=sequential,parallel,device",
		"-knob", "key=resident,streamed", "-knob", "bits=aware,dense", "-knob", "window=0,8", "-knob", "backend=cpu", "-knob", "circuits=1,2", "-knob", "workers=1,2", "-n", "1", "-warm", "0", "-keys", dir, "-out", filepath.Join(dir, "prove")}, &out, &errOut)
	require.NoError(t, err, errOut.String())
	require.Regexp(t, `(?m)^pin=register +unavailable: .*pin=register without a device`, out.String())
	require.Regexp(t, `(?m)^b2=device +unavailable: `, out.String())
	require.Contains(t, out.String(), "msm.h")
	require.Equal(t, before, pinning.LiveBytes())
}

// Ready witnesses, with and without a, b, c, and witnesses that overlap with proofs give the same sums and leave nothing behind.
func TestLiveProver(t *testing.T) {
	before := pinning.LiveBytes()
	var out, errOut bytes.Buffer
	dir := t.TempDir()
	err := run(context.Background(), []string{"ab", "-shape", "window-2k", "-work", "prover", "-knob", "evaluation=stream,whole", "-knob", "pages=base,huge", "-n", "1", "-warm", "0", "-keys", dir}, &out, &errOut)
	require.NoError(t, err, errOut.String())
	require.NotContains(t, out.String(), "synth.witness", "no part of the run")
	require.NotRegexp(t, `(?m)^evaluation=whole +synth.eval`, out.String())
	out.Reset()
	err = run(context.Background(), []string{"ab", "-shape", "window-2k", "-knob", "inflight=0,1,2", "-knob", "workers=1,2", "-plan", "matrix", "-set", "circuits=3", "-n", "50", "-for", "1ns", "-warm", "0", "-keys", dir}, &out, &errOut)
	require.NoError(t, err, errOut.String())
	require.Contains(t, out.String(), "inflight=2/workers=2")
	require.Contains(t, out.String(), "prove, 1 rounds", "the time was over")
	require.Equal(t, before, pinning.LiveBytes())
}

// A prover that fails in a run whose circuits overlap leaves no witness behind.
func TestOverlapFailure(t *testing.T) {
	before := pinning.LiveBytes()
	ctx := context.Background()
	w, err := newWorkload(ctx, "window-2k", 3, true, t.TempDir())
	require.NoError(t, err)
	s := defaultSettings()
	s.Circuits, s.InFlight, s.Workers = 3, 2, 2
	b, err := w.bind(ctx, s)
	require.NoError(t, err)
	require.NoError(t, b.prover.Close())
	_, err = b.run(ctx)
	require.ErrorIs(t, err, groth16.ErrClosed)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = b.run(cancelled)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, w.close())
	require.Equal(t, before, pinning.LiveBytes())
}

func TestCommandLine(t *testing.T) {
	var out, errOut bytes.Buffer
	ctx := context.Background()
	require.Error(t, run(ctx, nil, &out, &errOut))
	require.Contains(t, errOut.String(), "porep-32g")
	require.Error(t, run(ctx, []string{"nothing"}, &out, &errOut))
	require.Error(t, run(ctx, []string{"synth", "extra"}, &out, &errOut))
	require.Error(t, run(ctx, []string{"synth", "-shape", "porep-3k"}, &out, &errOut))
	require.Error(t, run(ctx, []string{"synth", "-n", "0"}, &out, &errOut))
	for _, m := range modes() {
		errOut.Reset()
		require.Error(t, run(ctx, []string{m.name, "-h"}, &out, &errOut))
		require.Contains(t, errOut.String(), m.about)
	}
	require.NoError(t, run(ctx, []string{"ab", "-list"}, &out, &errOut))
	require.Contains(t, out.String(), "presize")
}

func TestSynthMode(t *testing.T) {
	var out, errOut bytes.Buffer
	path := filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, run(context.Background(), []string{"synth", "-shape", "window-2k", "-n", "1", "-full", "-json", path}, &out, &errOut))
	require.Contains(t, out.String(), "golden: equal")
	require.Contains(t, out.String(), "satisfied        true")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(b), `"satisfied": true`)
}
