package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/stretchr/testify/require"
)

func fetchPage(t *testing.T, d *daemon, path string) (int, string, http.Header) {
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get("http://" + d.web() + path)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b), resp.Header
}

// busyDaemon has jobs in every state.
func busyDaemon(t *testing.T) *daemon {
	e := &fakeEngine{gate: make(chan struct{}), keys: []filgroth.KeyInfo{{Kind: filgroth.PoRep, Size: 32 << 30, Bytes: 5 << 30, FileBytes: 45 << 30, Users: 1, Backends: []string{"gpu0"}}}}
	e.fail = func(c string) error {
		if c == "winning bad" {
			return errors.New("vanilla proof <b>does not</b> hold")
		}
		return nil
	}
	d := start(t, e, t.TempDir(), nil)
	c := d.client(t)
	go func() { e.gate <- struct{}{}; e.gate <- struct{}{} }()
	_, err := c.ProveJob(context.Background(), winning("winpost-1000-good", "good"))
	require.NoError(t, err)
	_, err = c.ProveJob(context.Background(), winning("<script>alert(1)</script>", "bad"))
	require.Error(t, err)
	for _, id := range []string{"running", "next"} {
		_, err = c.SubmitProof(context.Background(), with(id, cuzkv1.Priority_HIGH))
		require.NoError(t, err)
	}
	eventually(t, "it runs", func() bool { return len(e.begun()) == 3 })
	return d
}

func TestStatusPage(t *testing.T) {
	d := busyDaemon(t)
	code, text, h := fetchPage(t, d, "/")
	require.Equal(t, 200, code)
	require.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'")
	for _, want := range []string{"healthy", "WINNING_POST", "porep-32g", "45.00 GiB", "winpost-1000-good", "completed", "failed",
		"&lt;b&gt;does not&lt;/b&gt;", "&lt;script&gt;alert(1)&lt;/script&gt;", "<svg", "synth.witness", "an old &lt;failure&gt;", "1 proofs, 1 failed"} {
		require.Contains(t, text, want)
	}
	require.Equal(t, 3, strings.Count(text, "<svg"), "two that ended, and what the third is at")
	require.NotContains(t, text, "<script")
	require.Empty(t, regexp.MustCompile(`(?i)(src|href)\s*=`).FindString(text), "the page needs nothing from outside")
	code, _, _ = fetchPage(t, d, "/other")
	require.Equal(t, 404, code)
	close(d.engine.gate)
}

func TestHealthAndMetrics(t *testing.T) {
	d := busyDaemon(t)
	code, text, _ := fetchPage(t, d, "/healthz")
	require.Equal(t, 200, code)
	require.Equal(t, "ok\n", text)
	read := func() map[string]float64 {
		code, text, _ := fetchPage(t, d, "/metrics")
		require.Equal(t, 200, code)
		out := map[string]float64{}
		for _, line := range strings.Split(text, "\n") {
			if name, v, ok := strings.Cut(line, " "); ok && !strings.HasPrefix(line, "#") {
				f, err := strconv.ParseFloat(v, 64)
				require.NoError(t, err, line)
				out[name] = f
			}
		}
		return out
	}
	m := read()
	for name, want := range map[string]float64{`filgroth_jobs_total{kind="WINNING_POST",state="completed"}`: 1, `filgroth_jobs_total{kind="WINNING_POST",state="failed"}`: 1,
		`filgroth_jobs_total{kind="POREP_SEAL_COMMIT",state="failed"}`: 0, `filgroth_queued{kind="WINNING_POST"}`: 1, `filgroth_running{kind="WINNING_POST"}`: 1,
		`filgroth_healthy`: 1, `filgroth_key_bytes{circuit="porep-32g"}`: 5 << 30, `filgroth_backend_proofs_total{backend="cpu"}`: 3,
		`filgroth_proof_seconds_count{kind="WINNING_POST"}`: 1} {
		got, ok := m[name]
		require.True(t, ok, name)
		require.Equal(t, want, got, name)
	}
	require.Positive(t, m["filgroth_spool_bytes"])
	require.Positive(t, m[`filgroth_phase_seconds_total{lane="cpu",phase="synth.witness"}`])
	close(d.engine.gate)
	eventually(t, "all done", func() bool { return d.queue.Snapshot().Completed == 3 })
	after := read()
	for name, v := range m {
		if strings.Contains(name, "_total") || strings.Contains(name, "_count") || strings.Contains(name, "_bucket") {
			require.GreaterOrEqual(t, after[name], v, "counters never fall: %s", name)
		}
	}
	d.queue.note(errors.New("disk full"))
	code, text, _ = fetchPage(t, d, "/healthz")
	require.Equal(t, 503, code)
	require.Contains(t, text, "disk full")
	require.Zero(t, read()["filgroth_healthy"])
}

// TestStatusPageInBrowser needs Chromium; CHROMIUM=require makes its absence a failure. SCREENSHOT keeps the picture.
func TestStatusPageInBrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CHROMIUM") == "require" {
			t.Fatal(err)
		}
		t.Skip("chromium is not installed; CHROMIUM=require makes this a failure")
	}
	d := busyDaemon(t)
	defer close(d.engine.gate)
	shot := os.Getenv("SCREENSHOT")
	if shot == "" {
		shot = filepath.Join(t.TempDir(), "page.png")
	}
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	base := []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir=" + t.TempDir(), "--window-size=1400,1400",
		"--no-first-run", "--disable-extensions", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"}
	out, err := exec.CommandContext(ctx, browser, append(base, "--dump-dom", "http://"+d.web()+"/")...).Output()
	require.NoError(t, err)
	dom := string(out)
	for _, want := range []string{`id="health">healthy`, `id="recent"`, "porep-32g", "<svg", "winpost-1000-good"} {
		require.Contains(t, dom, want)
	}
	require.NotContains(t, dom, "<script")
	require.NoError(t, exec.CommandContext(ctx, browser, append(base, "--screenshot="+shot, "http://"+d.web()+"/")...).Run())
	b, err := os.ReadFile(shot)
	require.NoError(t, err)
	require.Equal(t, "\x89PNG", string(b[:4]))
	require.Greater(t, len(b), 20_000, "an empty page is smaller")
}
