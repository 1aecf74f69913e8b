package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/service/client"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// one of every kind, with the proof that the fake engine makes of it
func oneOfEach() map[*cuzkv1.SubmitProofRequest][]byte {
	r := [32]byte{9, 31: 1}
	c := [3][32]byte{{1}, {2}, {3}}
	porep, _ := client.PoRep([]byte("{}"), 2048, 1000, 7)
	return map[*cuzkv1.SubmitProofRequest][]byte{
		porep: fakeProof(10, porep.VanillaProof, u64(7), u64(1000)),
		client.Update(3, 32<<30, 1000, 8, c[0], c[1], c[2], [][]byte{{1}, {2}}):         fakeProof(2, u64(3), c[0][:], c[1][:], c[2][:], []byte{1}, []byte{2}),
		client.WindowPoSt(13, 32<<30, 1000, r, [][]byte{[]byte("s1"), []byte("s2")}, 5): fakeProof(1, u64(13), u64(1000), r[:], u64(5), []byte("s1"), []byte("s2")),
		client.WinningPoSt(3, 32<<30, 1001, r, [][]byte{[]byte("s1")}):                  fakeProof(1, u64(3), u64(1001), r[:], []byte("s1")),
	}
}

// Used as Curio's own client does: lazily connected, plain text, Prove with a deadline, GetStatus before.
func TestAllKindsAsCurioCalls(t *testing.T) {
	noLeak(t)
	d := start(t, &fakeEngine{}, t.TempDir(), nil)
	conn, err := grpc.NewClient("dns:///"+d.grpc(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(256<<20), grpc.MaxCallSendMsgSize(256<<20)))
	require.NoError(t, err)
	defer conn.Close()
	c := cuzkv1.NewProvingEngineClient(conn)
	for r, want := range oneOfEach() {
		ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
		s, err := c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
		require.NoError(t, err)
		n := uint32(0)
		for _, q := range s.Queues {
			n += q.Pending + q.InProgress
		}
		require.Zero(t, n)
		resp, err := c.Prove(ctx, &cuzkv1.ProveRequest{Submit: r})
		require.NoError(t, err)
		require.Equal(t, cuzkv1.AwaitProofResponse_COMPLETED, resp.Result.Status)
		require.Equal(t, want, resp.Result.Proof, r.RequestId)
		require.NotEmpty(t, resp.Result.JobId)
		stop()
	}
	s, err := c.GetStatus(context.Background(), &cuzkv1.GetStatusRequest{})
	require.NoError(t, err)
	require.Equal(t, uint64(4), s.TotalProofsCompleted)
	require.Len(t, s.Queues, 4)
	require.Equal(t, "cpu", s.Gpus[0].Name)
	m, err := c.GetMetrics(context.Background(), &cuzkv1.GetMetricsRequest{})
	require.NoError(t, err)
	require.Contains(t, m.PrometheusText, `filgroth_jobs_total{kind="WINNING_POST",state="completed"} 1`)
}

func TestAwaitAndCancelCalls(t *testing.T) {
	noLeak(t)
	e := &fakeEngine{gate: make(chan struct{})}
	d := start(t, e, t.TempDir(), nil)
	c, ctx := d.client(t), context.Background()
	a, err := c.SubmitProof(ctx, winning("a", "a"))
	require.NoError(t, err)
	b, err := c.SubmitProof(ctx, winning("b", "b"))
	require.NoError(t, err)
	eventually(t, "it runs", func() bool { return len(e.begun()) == 1 })
	again, err := c.SubmitProof(ctx, winning("b", "b"))
	require.NoError(t, err)
	require.Equal(t, b.JobId, again.JobId)
	require.Equal(t, uint32(1), again.QueuePosition)
	running, err := c.SubmitProof(ctx, winning("a", "a"))
	require.NoError(t, err)
	require.Equal(t, "cpu", running.AssignedGpu)
	r, err := c.AwaitProof(ctx, &cuzkv1.AwaitProofRequest{JobId: a.JobId, TimeoutMs: 20})
	require.NoError(t, err)
	require.Equal(t, cuzkv1.AwaitProofResponse_TIMEOUT, r.Status)
	s, err := c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
	require.NoError(t, err)
	require.Equal(t, a.JobId, s.Gpus[0].CurrentJobId)
	require.Equal(t, "WINNING_POST", s.Gpus[0].CurrentProofKind)
	n, err := c.Capacity(ctx, 5)
	require.NoError(t, err)
	require.Equal(t, 3, n)

	before := time.Now()
	x, err := c.CancelProof(ctx, &cuzkv1.CancelProofRequest{JobId: a.JobId})
	require.NoError(t, err)
	require.True(t, x.WasRunning)
	e.mu.Lock()
	require.LessOrEqual(t, e.working, 1, "the work has ended when the answer comes")
	e.mu.Unlock()
	t.Logf("cancelled in %v", time.Since(before))
	_, err = c.AwaitJob(ctx, a.JobId)
	var je *client.JobError
	require.ErrorAs(t, err, &je)
	require.Equal(t, cuzkv1.AwaitProofResponse_CANCELLED, je.Status)
	close(e.gate)
	r, err = c.AwaitProof(ctx, &cuzkv1.AwaitProofRequest{JobId: b.JobId, TimeoutMs: 1 << 63})
	require.NoError(t, err)
	require.Equal(t, winningProof("b"), r.Proof)
	for _, err := range []error{
		func() error { _, err := c.AwaitProof(ctx, &cuzkv1.AwaitProofRequest{JobId: "none"}); return err }(),
		func() error { _, err := c.CancelProof(ctx, &cuzkv1.CancelProofRequest{}); return err }(),
	} {
		require.Equal(t, codes.NotFound, status.Code(err))
	}
}

func TestDisconnectCancelsIfConfigured(t *testing.T) {
	noLeak(t)
	for _, configured := range []bool{true, false} {
		e := &fakeEngine{gate: make(chan struct{})}
		d := start(t, e, t.TempDir(), func(_ *QueueConfig, c *Config) { c.CancelOnDisconnect = configured })
		c := d.client(t)
		ctx, leave := context.WithCancel(context.Background())
		errs := make(chan error)
		go func() { _, err := c.ProveJob(ctx, winning("a", "a")); errs <- err }()
		eventually(t, "it runs", func() bool { return len(e.begun()) == 1 })
		leave()
		require.Error(t, <-errs)
		if configured {
			eventually(t, "it ends", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return e.working == 0 })
		}
		close(e.gate)
		r, err := c.Prove(context.Background(), &cuzkv1.ProveRequest{Submit: winning("a", "a")})
		require.NoError(t, err)
		require.Equal(t, winningProof("a"), r.Result.Proof)
		require.Len(t, e.begun(), map[bool]int{true: 2, false: 1}[configured], "the retry joins unless it was cancelled")
		d.stop()
	}
}

func TestKeyCalls(t *testing.T) {
	d := start(t, &fakeEngine{}, t.TempDir(), nil)
	c, ctx := d.client(t), context.Background()
	p, err := c.PreloadSRS(ctx, &cuzkv1.PreloadSRSRequest{CircuitId: "porep-32g"})
	require.NoError(t, err)
	require.False(t, p.AlreadyLoaded)
	p, err = c.PreloadSRS(ctx, &cuzkv1.PreloadSRSRequest{CircuitId: "porep-32g"})
	require.NoError(t, err)
	require.True(t, p.AlreadyLoaded)
	s, err := c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
	require.NoError(t, err)
	require.Len(t, s.LoadedSrs, 1)
	require.True(t, proto.Equal(&cuzkv1.SRSStatus{CircuitId: "porep-32g", Tier: cuzkv1.SRSStatus_HOT, SizeBytes: 100}, s.LoadedSrs[0]))
	d.engine.mu.Lock()
	d.engine.keys[0].Users = 1
	d.engine.mu.Unlock()
	_, err = c.EvictSRS(ctx, &cuzkv1.EvictSRSRequest{CircuitId: "porep-32g"})
	require.Equal(t, codes.FailedPrecondition, status.Code(err), "in use")
	d.engine.mu.Lock()
	d.engine.keys[0].Users = 0
	d.engine.mu.Unlock()
	x, err := c.EvictSRS(ctx, &cuzkv1.EvictSRSRequest{CircuitId: "porep-32g"})
	require.NoError(t, err)
	require.True(t, x.WasLoaded)
	require.Equal(t, uint64(50), x.FreedBytes)
	x, err = c.EvictSRS(ctx, &cuzkv1.EvictSRSRequest{CircuitId: "porep-32g"})
	require.NoError(t, err)
	require.False(t, x.WasLoaded)
	for _, id := range []string{"", "porep", "porep-32", "32g", "porep-32g-", "x-32g", strings.Repeat("x", 10000)} {
		_, err = c.PreloadSRS(ctx, &cuzkv1.PreloadSRSRequest{CircuitId: id})
		require.Equal(t, codes.InvalidArgument, status.Code(err), id)
		_, err = c.EvictSRS(ctx, &cuzkv1.EvictSRSRequest{CircuitId: id})
		require.Equal(t, codes.InvalidArgument, status.Code(err), id)
	}
}

func TestCircuitIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range circuitKinds {
		for _, s := range circuitSizes {
			id := CircuitID(k, s)
			kind, size, err := ParseCircuit(id)
			require.NoError(t, err)
			require.Equal(t, k, kind)
			require.Equal(t, s, size)
			seen[id] = true
		}
	}
	require.Len(t, seen, 20)
	for _, id := range []string{"porep-32g", "porep-64g", "wpost-32g", "winning-32g", "snap-32g", "snap-64g"} {
		require.True(t, seen[id], id)
	}
}

func TestMalformedRequests(t *testing.T) {
	d := start(t, &fakeEngine{}, t.TempDir(), nil)
	c, ctx := d.client(t), context.Background()
	good := func() []*cuzkv1.SubmitProofRequest {
		var out []*cuzkv1.SubmitProofRequest
		for r := range oneOfEach() {
			out = append(out, r)
		}
		return out
	}
	kind := func(k cuzkv1.ProofKind) *cuzkv1.SubmitProofRequest {
		for _, r := range good() {
			if r.ProofKind == k {
				return r
			}
		}
		panic(k)
	}
	type bad struct {
		field string
		r     *cuzkv1.SubmitProofRequest
	}
	change := func(k cuzkv1.ProofKind, field string, f func(*cuzkv1.SubmitProofRequest)) bad {
		r := kind(k)
		f(r)
		return bad{field, r}
	}
	cases := []bad{
		change(1, "proof_kind", func(r *cuzkv1.SubmitProofRequest) { r.ProofKind = 0 }),
		change(1, "proof_kind", func(r *cuzkv1.SubmitProofRequest) { r.ProofKind = 5 }),
		change(1, "proof_kind", func(r *cuzkv1.SubmitProofRequest) { r.ProofKind = -1 }),
		change(1, "priority", func(r *cuzkv1.SubmitProofRequest) { r.Priority = 5 }),
		change(1, "priority", func(r *cuzkv1.SubmitProofRequest) { r.Priority = -7 }),
		change(1, "request_id", func(r *cuzkv1.SubmitProofRequest) { r.RequestId = strings.Repeat("x", 513) }),
		change(1, "vanilla_proof", func(r *cuzkv1.SubmitProofRequest) { r.VanillaProof = nil }),
		change(1, "sector_size", func(r *cuzkv1.SubmitProofRequest) { r.SectorSize = 4096 }),
		change(1, "sector_number", func(r *cuzkv1.SubmitProofRequest) { r.SectorNumber = 1 << 63 }),
		change(2, "registered_proof", func(r *cuzkv1.SubmitProofRequest) { r.RegisteredProof = 5 }),
		change(2, "sector_size", func(r *cuzkv1.SubmitProofRequest) { r.SectorSize = 64 << 30 }),
		change(2, "comm_r_old", func(r *cuzkv1.SubmitProofRequest) { r.CommROld = nil }),
		change(2, "comm_r_new", func(r *cuzkv1.SubmitProofRequest) { r.CommRNew = make([]byte, 31) }),
		change(2, "comm_d_new", func(r *cuzkv1.SubmitProofRequest) { r.CommDNew = make([]byte, 33) }),
		change(2, "vanilla_proofs", func(r *cuzkv1.SubmitProofRequest) { r.VanillaProofs = nil }),
		change(3, "randomness", func(r *cuzkv1.SubmitProofRequest) { r.Randomness = r.Randomness[:31] }),
		change(3, "registered_proof", func(r *cuzkv1.SubmitProofRequest) { r.RegisteredProof = 3 }),
		change(3, "registered_proof", func(r *cuzkv1.SubmitProofRequest) { r.RegisteredProof = 15 }),
		change(3, "registered_proof", func(r *cuzkv1.SubmitProofRequest) { r.RegisteredProof = 1<<64 - 1 }),
		change(3, "vanilla_proofs", func(r *cuzkv1.SubmitProofRequest) { r.VanillaProofs = make([][]byte, maxProofs+1) }),
		change(4, "registered_proof", func(r *cuzkv1.SubmitProofRequest) { r.RegisteredProof = 8 }),
		change(4, "randomness", func(r *cuzkv1.SubmitProofRequest) { r.Randomness = nil }),
		change(4, "vanilla_proofs", func(r *cuzkv1.SubmitProofRequest) { r.VanillaProofs = nil }),
	}
	for i, b := range cases {
		_, err := c.SubmitProof(ctx, b.r)
		require.Equal(t, codes.InvalidArgument, status.Code(err), "case %d: %v", i, err)
		require.ErrorContains(t, err, b.field)
		_, err = c.Prove(ctx, &cuzkv1.ProveRequest{Submit: b.r})
		require.Equal(t, codes.InvalidArgument, status.Code(err))
	}
	_, err := c.Prove(ctx, &cuzkv1.ProveRequest{})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.ErrorContains(t, err, "submit")
	require.Empty(t, d.engine.begun())
	for _, r := range good() {
		_, err := c.ProveJob(ctx, r)
		require.NoError(t, err, "the daemon goes on")
	}
}

func TestErrorCodes(t *testing.T) {
	for err, code := range map[error]codes.Code{ErrBusy: codes.ResourceExhausted, ErrConflict: codes.AlreadyExists, ErrStopping: codes.Unavailable,
		ErrUnknownJob: codes.NotFound, filgroth.ErrKeyInUse: codes.FailedPrecondition, errors.New("x"): codes.Internal, context.Canceled: codes.Canceled} {
		require.Equal(t, code, status.Code(problem(fmt.Errorf("it: %w", err))), err)
	}
	d := start(t, &fakeEngine{gate: make(chan struct{})}, t.TempDir(), nil)
	c := d.client(t)
	_, err := c.SubmitProof(context.Background(), winning("a", "a"))
	require.NoError(t, err)
	_, err = c.SubmitProof(context.Background(), winning("a", "b"))
	require.Equal(t, codes.AlreadyExists, status.Code(err))
	close(d.engine.gate)
}

func TestManySubmissions(t *testing.T) {
	noLeak(t)
	e := &fakeEngine{gate: make(chan struct{})}
	d := start(t, e, t.TempDir(), func(_ *QueueConfig, c *Config) { c.MaxUploads = 40 })
	c := d.client(t)
	var ok, busy, other atomic.Int64
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			r := with(fmt.Sprintf("r%d", i), cuzkv1.Priority_NORMAL)
			r.VanillaProofs = append(r.VanillaProofs, make([]byte, 100<<10))
			switch _, err := c.SubmitProof(context.Background(), r); {
			case err == nil:
				ok.Add(1)
			case status.Code(err) == codes.ResourceExhausted && client.Passes(err):
				busy.Add(1)
			default:
				other.Add(1)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(200), ok.Load()+busy.Load())
	require.Zero(t, other.Load())
	require.LessOrEqual(t, ok.Load(), int64(11), "ten wait, one is at work")
	require.Positive(t, ok.Load())
	s := d.queue.Snapshot()
	require.LessOrEqual(t, len(s.Waiting), 10)
	require.LessOrEqual(t, s.Spooled, int64(11*101<<10))
	require.Len(t, d.queue.jobs, int(ok.Load()))
	close(e.gate)
	eventually(t, "all are done", func() bool { return d.queue.Snapshot().Completed == uint64(ok.Load()) })
	require.Equal(t, 1, e.most, "never more at work than configured")
	require.Zero(t, d.queue.Snapshot().Spooled)
	// a client with patience gets through
	patient := dial(t, client.Options{Address: d.grpc(), Patience: time.Minute})
	var done atomic.Int64
	for i := range 60 {
		wg.Go(func() {
			if r, err := patient.ProveJob(context.Background(), winning(fmt.Sprintf("p%d", i), fmt.Sprint(i))); err == nil && string(r.Proof) == string(winningProof(fmt.Sprint(i))) {
				done.Add(1)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(60), done.Load())
}

func TestReflection(t *testing.T) {
	d := start(t, &fakeEngine{}, t.TempDir(), nil)
	conn, err := grpc.NewClient(d.grpc(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	require.NoError(t, err)
	require.NoError(t, s.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}))
	resp, err := s.Recv()
	require.NoError(t, err)
	var names []string
	for _, x := range resp.GetListServicesResponse().GetService() {
		names = append(names, x.Name)
	}
	require.Contains(t, names, "cuzk.v1.ProvingEngine")
	require.NoError(t, s.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "cuzk.v1.ProvingEngine"}}))
	resp, err = s.Recv()
	require.NoError(t, err)
	var file descriptorpb.FileDescriptorProto
	require.NoError(t, proto.Unmarshal(resp.GetFileDescriptorResponse().GetFileDescriptorProto()[0], &file))
	require.Equal(t, "cuzk.v1", file.GetPackage())
	require.Len(t, file.Service[0].Method, 8)
}

func TestDrain(t *testing.T) {
	noLeak(t)
	dir := t.TempDir()
	e := &fakeEngine{gate: make(chan struct{})}
	d := start(t, e, dir, nil)
	c := d.client(t)
	type answer struct {
		r   *cuzkv1.AwaitProofResponse
		err error
	}
	ask := func(id string) chan answer {
		ch := make(chan answer, 1)
		go func() { r, err := c.ProveJob(context.Background(), winning(id, id)); ch <- answer{r, err} }()
		return ch
	}
	running := ask("running")
	eventually(t, "it runs", func() bool { return len(e.begun()) == 1 })
	waiting := ask("waiting")
	eventually(t, "it waits", func() bool { return len(d.queue.Snapshot().Waiting) == 1 })
	d.drain()
	w := <-waiting
	require.Equal(t, codes.Unavailable, status.Code(w.err), "what waits is for the next start")
	_, err := c.SubmitProof(context.Background(), winning("new", "new"))
	require.Equal(t, codes.Unavailable, status.Code(err))
	close(e.gate)
	r := <-running
	require.NoError(t, r.err, "what runs is brought to its end")
	require.Equal(t, winningProof("running"), r.r.Proof)
	d.stop()

	d = start(t, &fakeEngine{}, dir, nil)
	got, err := d.client(t).ProveJob(context.Background(), winning("waiting", "waiting"))
	require.NoError(t, err)
	require.Equal(t, winningProof("waiting"), got.Proof)
	require.Equal(t, []string{"winning waiting"}, d.engine.begun())
}
