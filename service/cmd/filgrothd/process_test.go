package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/service/client"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/filgroth/filgroth/service/internal/samples"
	"github.com/stretchr/testify/require"
)

// binary builds the daemon once for all tests of a run.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "filgrothd-test-*")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "filgrothd")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// keyCache holds the development keys of all tests of a run.
var keyCache = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "filgrothd-keys-*") })

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := keyCache(); err == nil {
		_ = os.RemoveAll(dir)
	}
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// process is a daemon of its own.
type process struct {
	t      *testing.T
	config string
	state  string
	socket string
	cmd    *exec.Cmd
	log    bytes.Buffer // of the present run; read after the end only
}

// newProcess prepares a daemon with development keys on a unix socket; more are further lines of its configuration.
func newProcess(t *testing.T, more string) *process {
	keys, err := keyCache()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "fd-*") // short, for the socket's path
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &process{t: t, config: filepath.Join(dir, "c.toml"), state: filepath.Join(dir, "state"), socket: filepath.Join(dir, "s")}
	text := fmt.Sprintf("[listen]\ngrpc = []\nunix = %q\nhttp = \"\"\n[engine]\ndevelopment_keys = true\ndevices = \"cpu\"\ncache_dir = %q\n[state]\ndir = %q\n%s",
		p.socket, keys, p.state, more)
	require.NoError(t, os.WriteFile(p.config, []byte(text), 0o600))
	t.Cleanup(func() {
		if p.cmd != nil {
			p.kill()
		}
	})
	return p
}

func (p *process) start() {
	path, err := binary()
	require.NoError(p.t, err)
	p.log.Reset()
	p.cmd = exec.Command(path, "-config", p.config)
	p.cmd.Stderr = &p.log
	require.NoError(p.t, p.cmd.Start())
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}

// stop is a SIGTERM; it gives the log.
func (p *process) stop() string {
	require.NoError(p.t, p.cmd.Process.Signal(os.Interrupt))
	err := p.cmd.Wait()
	p.cmd = nil
	require.NoError(p.t, err, p.log.String())
	return p.log.String()
}

func (p *process) client(patience time.Duration) *client.Client {
	c, err := client.New(client.Options{Address: "unix:" + p.socket, Patience: patience})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

// ready waits until the daemon answers.
func (p *process) ready(c *client.Client) {
	require.NoError(p.t, c.Repeat(context.Background(), true, func(ctx context.Context) error {
		_, err := c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
		return err
	}))
}

// verifier checks proofs as another party with the same keys.
func verifier(t *testing.T) *filgroth.Engine {
	keys, err := keyCache()
	require.NoError(t, err)
	e, err := filgroth.New(filgroth.Config{DevelopmentKeys: true, CacheDir: keys})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// proveGolden proves a golden request through a daemon and verifies it.
func proveGolden(t *testing.T, kinds ...string) {
	p := newProcess(t, "")
	p.start()
	c := p.client(time.Minute)
	e := verifier(t)
	for _, kind := range kinds {
		s, err := samples.Golden(kind)
		require.NoError(t, err)
		r, err := c.ProveJob(context.Background(), s.Request)
		require.NoError(t, err, kind)
		ok, err := s.Verify(context.Background(), e, r.Proof)
		require.NoError(t, err)
		require.True(t, ok, kind)
		require.Positive(t, r.GpuComputeMs)
		require.GreaterOrEqual(t, r.TotalMs, r.GpuComputeMs+r.SynthesisMs)
		t.Logf("%s: %v", kind, time.Duration(r.TotalMs)*time.Millisecond)
	}
	log := p.stop()
	require.Contains(t, log, "DEVELOPMENT KEYS")
	for _, line := range strings.Split(log, "\n") {
		require.Less(t, len(line), 2000, "no vanilla proof in the log")
	}
}

func TestGoldenPoSt(t *testing.T) {
	if testing.Short() {
		t.Skip("makes keys and proofs; run without -short")
	}
	proveGolden(t, "winning", "wpost")
}

func TestBadVanillaProofsFail(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a key; run without -short")
	}
	p := newProcess(t, "")
	p.start()
	c := p.client(time.Minute)
	for _, kind := range samples.Kinds {
		s, err := samples.Golden(kind)
		require.NoError(t, err)
		r := s.Request
		if kind == "porep" {
			r.VanillaProof = r.VanillaProof[:len(r.VanillaProof)/2]
		} else {
			r.VanillaProofs[0] = r.VanillaProofs[0][:len(r.VanillaProofs[0])-1]
		}
		_, err = c.ProveJob(context.Background(), r)
		var je *client.JobError
		require.ErrorAs(t, err, &je, kind)
		require.Equal(t, cuzkv1.AwaitProofResponse_FAILED, je.Status)
	}
	s, err := samples.Golden("winning")
	require.NoError(t, err)
	s.Request.MinerId++ // the prover id is not part of a PoSt's statement
	r, err := c.ProveJob(context.Background(), s.Request)
	require.NoError(t, err)
	ok, err := s.Verify(context.Background(), verifier(t), r.Proof)
	require.NoError(t, err)
	require.True(t, ok)
	s, err = samples.Golden("porep")
	require.NoError(t, err)
	s.Request.SectorNumber++
	_, err = c.ProveJob(context.Background(), s.Request)
	require.ErrorContains(t, err, "does not verify", "another sector")
	p.stop()
}
