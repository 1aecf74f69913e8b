package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/filgroth/filgroth/service/internal/samples"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// daemon answers with proofs that are none, which no test here looks into; a job submitted apart ends by cancellation only.
type daemon struct {
	cuzkv1.UnimplementedProvingEngineServer
	mu       sync.Mutex
	requests map[string]*cuzkv1.SubmitProofRequest
	gone     map[string]bool
	fail     cuzkv1.AwaitProofResponse_Status
}

func (d *daemon) answer(id string, s cuzkv1.AwaitProofResponse_Status) *cuzkv1.AwaitProofResponse {
	r := &cuzkv1.AwaitProofResponse{JobId: id, Status: s, QueueWaitMs: 1000, SynthesisMs: 500, GpuComputeMs: 2000, TotalMs: 3500}
	if s == cuzkv1.AwaitProofResponse_COMPLETED {
		r.Proof = make([]byte, 192)
	}
	return r
}

func (d *daemon) Prove(_ context.Context, r *cuzkv1.ProveRequest) (*cuzkv1.ProveResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests[r.Submit.RequestId] = r.Submit
	s := cuzkv1.AwaitProofResponse_COMPLETED
	if d.fail != 0 {
		s = d.fail
	}
	return &cuzkv1.ProveResponse{Result: d.answer(r.Submit.RequestId, s)}, nil
}

func (d *daemon) SubmitProof(_ context.Context, r *cuzkv1.SubmitProofRequest) (*cuzkv1.SubmitProofResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests[r.RequestId] = r
	return &cuzkv1.SubmitProofResponse{JobId: r.RequestId}, nil
}

func (d *daemon) AwaitProof(_ context.Context, r *cuzkv1.AwaitProofRequest) (*cuzkv1.AwaitProofResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone[r.JobId] {
		return d.answer(r.JobId, cuzkv1.AwaitProofResponse_CANCELLED), nil
	}
	return d.answer(r.JobId, cuzkv1.AwaitProofResponse_TIMEOUT), nil
}

func (d *daemon) CancelProof(_ context.Context, r *cuzkv1.CancelProofRequest) (*cuzkv1.CancelProofResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone[r.JobId] = true
	return &cuzkv1.CancelProofResponse{WasRunning: true}, nil
}

func (d *daemon) GetStatus(context.Context, *cuzkv1.GetStatusRequest) (*cuzkv1.GetStatusResponse, error) {
	return &cuzkv1.GetStatusResponse{TotalProofsCompleted: 4711, Gpus: []*cuzkv1.GPUStatus{{Name: "a card", VramTotalBytes: 16 << 30}},
		LoadedSrs: []*cuzkv1.SRSStatus{{CircuitId: "porep-32g", Tier: cuzkv1.SRSStatus_WARM}}, Queues: []*cuzkv1.QueueStatus{{ProofKind: "WINNING_POST", Pending: 5}}}, nil
}

func (d *daemon) PreloadSRS(_ context.Context, r *cuzkv1.PreloadSRSRequest) (*cuzkv1.PreloadSRSResponse, error) {
	if r.CircuitId == "none" {
		return nil, status.Error(codes.NotFound, "no file")
	}
	return &cuzkv1.PreloadSRSResponse{LoadTimeMs: 1500}, nil
}

func start(t *testing.T) (*daemon, string) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	d := &daemon{requests: map[string]*cuzkv1.SubmitProofRequest{}, gone: map[string]bool{}}
	g := grpc.NewServer()
	cuzkv1.RegisterProvingEngineServer(g, d)
	go func() { _ = g.Serve(ln) }()
	t.Cleanup(g.Stop)
	return d, "unix:" + path
}

func bench(t *testing.T, args ...string) (string, error) {
	var b bytes.Buffer
	err := run(context.Background(), args, &b, &b)
	return b.String(), err
}

func measured(t *testing.T, path string) (r Result) {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &r))
	return r
}

func TestBatch(t *testing.T) {
	d, addr := start(t)
	path := filepath.Join(t.TempDir(), "r.json")
	out, err := bench(t, "batch", "-addr", addr, "-kind", "winning", "-n", "3", "-c", "2", "-json", path)
	require.NoError(t, err)
	require.Contains(t, out, "3 COMPLETED")
	r := measured(t, path)
	require.Equal(t, map[string]int{"COMPLETED": 3}, r.Counts)
	require.Equal(t, Spread{3.5, 3.5, 3.5, 3.5}, r.Times["total"])
	require.Equal(t, 2.0, r.Jobs[0].Compute)
	require.Len(t, d.requests, 3)
	contents := map[string]bool{}
	for _, q := range d.requests {
		contents[string(q.VanillaProofs[0])] = true
	}
	require.Len(t, contents, 3, "no request is another's content")
	d.fail = cuzkv1.AwaitProofResponse_FAILED
	_, err = bench(t, "single", "-addr", addr, "-kind", "porep", "-golden")
	require.ErrorContains(t, err, "FAILED")
	require.NotEmpty(t, d.requests)
}

// TestC1File: a C1 file goes out the same whether it comes bare or in an envelope.
func TestC1File(t *testing.T) {
	d, addr := start(t)
	golden, err := samples.Golden("porep")
	require.NoError(t, err)
	var e struct{ Phase1Out []byte }
	require.NoError(t, json.Unmarshal(golden.Request.VanillaProof, &e))
	for name, content := range map[string][]byte{"bare": e.Phase1Out, "enveloped": golden.Request.VanillaProof} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		_, err := bench(t, "single", "-addr", addr, "-c1", path, "-sector", "1", "-miner", "1000")
		require.NoError(t, err, name)
	}
	require.Len(t, d.requests, 2)
	for id, r := range d.requests {
		require.JSONEq(t, string(golden.Request.VanillaProof), string(r.VanillaProof), id)
	}
}

// TestNobodyThere: a daemon that cannot be reached is an error that says so, not a busy one.
func TestNobodyThere(t *testing.T) {
	out, err := bench(t, "single", "-addr", "unix:"+filepath.Join(t.TempDir(), "none"), "-kind", "wpost", "-golden")
	require.ErrorContains(t, err, "AWAY")
	require.ErrorContains(t, err, "no such file")
	require.NotContains(t, out, "BUSY")
}

func TestStress(t *testing.T) {
	d, addr := start(t)
	path := filepath.Join(t.TempDir(), "r.json")
	_, err := bench(t, "stress", "-addr", addr, "-kind", "winning,wpost", "-n", "12", "-c", "4", "-cancel", "0.5", "-seed", "5", "-json", path)
	require.NoError(t, err)
	r := measured(t, path)
	require.Equal(t, 12, r.Counts["COMPLETED"]+r.Counts["CANCELLED"])
	require.Len(t, d.gone, r.Counts["CANCELLED"])
	require.Positive(t, r.Counts["CANCELLED"])
	require.Positive(t, r.Counts["COMPLETED"])
	kinds, priorities := map[string]bool{}, map[string]bool{}
	for _, j := range r.Jobs {
		kinds[j.Kind], priorities[j.Priority] = true, true
	}
	require.Len(t, kinds, 2)
	require.Greater(t, len(priorities), 1)
}

func TestAdministration(t *testing.T) {
	_, addr := start(t)
	out, err := bench(t, "status", "-addr", addr)
	require.NoError(t, err)
	for _, want := range []string{"4711", "a card", "16384", "porep-32g", "WARM", "WINNING_POST"} {
		require.Contains(t, out, want)
	}
	out, err = bench(t, "preload", "-addr", addr, "porep-32g")
	require.NoError(t, err)
	require.Contains(t, out, "1.5s")
	_, err = bench(t, "preload", "-addr", addr, "none")
	require.Equal(t, codes.NotFound, status.Code(errors.Unwrap(err)))
	for _, bad := range [][]string{{"preload", "-addr", addr}, {"other"}, {"batch", "-n", "0"}, {"batch", "-kind", "x", "-addr", addr}, {"single", "x", "-addr", addr},
		{"single", "-c1", "/no/such", "-addr", addr}, {"status", "-token-file", "/no/such"}} {
		_, err := bench(t, bad...)
		require.Error(t, err, bad)
	}
	_, err = bench(t)
	require.ErrorIs(t, err, flag.ErrHelp)
}

func TestSpread(t *testing.T) {
	require.Equal(t, Spread{}, spread(nil))
	require.Equal(t, Spread{1, 3, 5, 5}, spread([]float64{5, 1, 4, 2, 3}))
}
