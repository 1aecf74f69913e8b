package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// scripted answers Prove with what it is told, one after the other.
type scripted struct {
	cuzkv1.UnimplementedProvingEngineServer
	answers []any
	calls   atomic.Int64
	token   atomic.Value
}

func (s *scripted) Prove(ctx context.Context, _ *cuzkv1.ProveRequest) (*cuzkv1.ProveResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if v := md.Get("authorization"); len(v) == 1 {
		s.token.Store(v[0])
	}
	switch a := s.answers[min(int(s.calls.Add(1))-1, len(s.answers)-1)].(type) {
	case error:
		return nil, a
	case *cuzkv1.AwaitProofResponse:
		return &cuzkv1.ProveResponse{Result: a}, nil
	}
	return &cuzkv1.ProveResponse{}, nil
}

func (s *scripted) AwaitProof(context.Context, *cuzkv1.AwaitProofRequest) (*cuzkv1.AwaitProofResponse, error) {
	return &cuzkv1.AwaitProofResponse{Status: cuzkv1.AwaitProofResponse_TIMEOUT}, nil
}

func (s *scripted) GetStatus(context.Context, *cuzkv1.GetStatusRequest) (*cuzkv1.GetStatusResponse, error) {
	return &cuzkv1.GetStatusResponse{Queues: []*cuzkv1.QueueStatus{{Pending: 2, InProgress: 1}, {Pending: 1}}}, nil
}

func serve(t *testing.T, answers ...any) (*scripted, string) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	s := &scripted{answers: answers}
	g := grpc.NewServer()
	cuzkv1.RegisterProvingEngineServer(g, s)
	go func() { _ = g.Serve(ln) }()
	t.Cleanup(g.Stop)
	return s, "unix:" + path
}

func connect(t *testing.T, o Options) *Client {
	c, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestPassingErrorsAreWaitedOut(t *testing.T) {
	busy, away := status.Error(codes.ResourceExhausted, "server: busy: 10 jobs wait"), status.Error(codes.Unavailable, "stopping")
	good := &cuzkv1.AwaitProofResponse{Status: cuzkv1.AwaitProofResponse_COMPLETED, Proof: make([]byte, 384)}
	s, addr := serve(t, busy, away, good)
	c := connect(t, Options{Address: addr, Patience: time.Minute, Token: "secret"})
	r, err := c.ProveJob(context.Background(), &cuzkv1.SubmitProofRequest{RequestId: "a"})
	require.NoError(t, err)
	require.Len(t, r.Proof, 384)
	require.Equal(t, int64(3), s.calls.Load())
	require.Equal(t, "Bearer secret", s.token.Load())

	s, addr = serve(t, busy)
	_, err = connect(t, Options{Address: addr}).ProveJob(context.Background(), &cuzkv1.SubmitProofRequest{RequestId: "a"})
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "no patience")
	require.Equal(t, int64(1), s.calls.Load())
	_, err = connect(t, Options{Address: addr, Patience: time.Minute}).ProveJob(context.Background(), &cuzkv1.SubmitProofRequest{})
	require.Error(t, err, "without an id it would be another job")
	require.Equal(t, int64(2), s.calls.Load())
	ctx, stop := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer stop()
	_, err = connect(t, Options{Address: addr, Patience: time.Hour}).ProveJob(ctx, &cuzkv1.SubmitProofRequest{RequestId: "a"})
	require.Error(t, err)
}

func TestOnlyProofsAreAnswers(t *testing.T) {
	for _, a := range []any{nil, &cuzkv1.AwaitProofResponse{}, &cuzkv1.AwaitProofResponse{Status: cuzkv1.AwaitProofResponse_COMPLETED},
		&cuzkv1.AwaitProofResponse{Status: cuzkv1.AwaitProofResponse_COMPLETED, Proof: make([]byte, 191)},
		&cuzkv1.AwaitProofResponse{Status: cuzkv1.AwaitProofResponse_FAILED, ErrorMessage: "why", Proof: make([]byte, 192)},
		&cuzkv1.AwaitProofResponse{Status: cuzkv1.AwaitProofResponse_CANCELLED}, &cuzkv1.AwaitProofResponse{Status: 77, Proof: make([]byte, 192)},
		status.Error(codes.ResourceExhausted, "grpc: received message larger than max")} {
		s, addr := serve(t, a)
		r, err := connect(t, Options{Address: addr, Patience: time.Minute}).ProveJob(context.Background(), &cuzkv1.SubmitProofRequest{RequestId: "a"})
		require.Error(t, err, "%v", a)
		require.Nil(t, r)
		require.Equal(t, int64(1), s.calls.Load(), "not asked again")
		var je *JobError
		if errors.As(err, &je) && je.Status == cuzkv1.AwaitProofResponse_FAILED {
			require.Equal(t, "why", je.Message)
		}
	}
	_, addr := serve(t, nil)
	c := connect(t, Options{Address: addr})
	_, err := c.AwaitJob(context.Background(), "x")
	require.Error(t, err, "a time-out is no answer")
	n, err := c.Capacity(context.Background(), 7)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	n, err = c.Capacity(context.Background(), 2)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestOptions(t *testing.T) {
	_, err := New(Options{})
	require.Error(t, err)
	_, err = New(Options{Address: "x:1", CAFile: "/no/such/file"})
	require.Error(t, err)
	// a token does not go out in plain text, except on this machine
	_, err = New(Options{Address: "prover.example:9820", Token: "secret"})
	require.Error(t, err)
	for _, a := range []string{"127.0.0.1:1", "localhost:1", "[::1]:1", "unix:/x", "dns:///127.0.0.1:1"} {
		connect(t, Options{Address: a, Token: "secret"})
	}
	for _, a := range []string{"127.0.0.1.example:1", "localhost.example:1"} {
		_, err = New(Options{Address: a, Token: "secret"})
		require.Error(t, err, a)
	}
}

func TestRequests(t *testing.T) {
	r, err := PoRep([]byte(`{"a":1}`), 2048, 1000, 7)
	require.NoError(t, err)
	require.Equal(t, "porep-1000-7", r.RequestId)
	var e map[string]any
	require.NoError(t, json.Unmarshal(r.VanillaProof, &e))
	require.Equal(t, map[string]any{"SectorNum": 7.0, "SectorSize": 2048.0, "Phase1Out": base64.StdEncoding.EncodeToString([]byte(`{"a":1}`))}, e)
	require.Equal(t, "winpost-1000-0102000000000000", WinningPoSt(0, 2048, 1000, [32]byte{1, 2}, nil).RequestId)
	require.Equal(t, "wdpost-1000-3-[1 2 0 0 0 0 0 0]", WindowPoSt(5, 2048, 1000, [32]byte{1, 2}, nil, 3).RequestId)
	require.Equal(t, "snap-1000-7", Update(0, 2048, 1000, 7, [32]byte{}, [32]byte{}, [32]byte{}, nil).RequestId)
}
