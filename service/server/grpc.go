package server

import (
	"context"
	"errors"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/groth16/params"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// calls are the protocol's.
type calls struct {
	cuzkv1.UnimplementedProvingEngineServer
	queue   *Queue
	devices func() map[string]Device
	started time.Time
	abandon bool // cancel jobs whose callers of Prove are gone
}

// problem is an error in the protocol's terms.
func problem(err error) error {
	for _, p := range []struct {
		is   error
		code codes.Code
	}{{ErrRequest, codes.InvalidArgument}, {ErrBusy, codes.ResourceExhausted}, {ErrConflict, codes.AlreadyExists},
		{ErrStopping, codes.Unavailable}, {ErrUnknownJob, codes.NotFound}, {filgroth.ErrKeyInUse, codes.FailedPrecondition},
		{params.ErrKeyNotFound, codes.NotFound}, {filgroth.ErrUnsupported, codes.InvalidArgument}, {context.Canceled, codes.Canceled},
		{context.DeadlineExceeded, codes.DeadlineExceeded}} {
		if errors.Is(err, p.is) {
			return status.Error(p.code, err.Error())
		}
	}
	return status.Error(codes.Internal, err.Error())
}

// enqueue submits and lets go of the message.
func (c *calls) enqueue(ctx context.Context, r *cuzkv1.SubmitProofRequest, detached bool) (*job, error) {
	j, err := c.queue.submit(ctx, r, detached)
	if r != nil {
		proto.Reset(r)
	}
	if u := uploadOf(ctx); u != nil {
		u.done()
	}
	if err != nil {
		return nil, problem(err)
	}
	return j, nil
}

func (c *calls) SubmitProof(ctx context.Context, r *cuzkv1.SubmitProofRequest) (*cuzkv1.SubmitProofResponse, error) {
	j, err := c.enqueue(ctx, r, true)
	if err != nil {
		return nil, err
	}
	resp := &cuzkv1.SubmitProofResponse{JobId: j.rec.Job, QueuePosition: uint32(c.queue.position(j))}
	for _, g := range c.gpus(c.queue.Snapshot()) {
		if g.CurrentJobId == j.rec.Job {
			resp.AssignedGpu = g.Name
		}
	}
	return resp, nil
}

// maxWait keeps a timeout within what a time.Duration can hold.
const maxWait = 10 * 365 * 24 * time.Hour

func (c *calls) AwaitProof(ctx context.Context, r *cuzkv1.AwaitProofRequest) (*cuzkv1.AwaitProofResponse, error) {
	j, err := c.queue.find(r.JobId)
	if err != nil {
		return nil, problem(err)
	}
	wait := ctx
	if r.TimeoutMs > 0 {
		var stop context.CancelFunc
		wait, stop = context.WithTimeout(ctx, time.Duration(min(r.TimeoutMs, uint64(maxWait/time.Millisecond)))*time.Millisecond)
		defer stop()
	}
	resp, err := c.queue.wait(wait, j, false)
	switch {
	case err == nil:
		return resp, nil
	case ctx.Err() == nil && wait.Err() != nil:
		return &cuzkv1.AwaitProofResponse{JobId: r.JobId, Status: cuzkv1.AwaitProofResponse_TIMEOUT}, nil
	}
	return nil, problem(err)
}

func (c *calls) Prove(ctx context.Context, r *cuzkv1.ProveRequest) (*cuzkv1.ProveResponse, error) {
	j, err := c.enqueue(ctx, r.Submit, false)
	if err != nil {
		return nil, err
	}
	resp, err := c.queue.wait(ctx, j, c.abandon)
	if err != nil {
		return nil, problem(err)
	}
	return &cuzkv1.ProveResponse{Result: resp}, nil
}

func (c *calls) CancelProof(ctx context.Context, r *cuzkv1.CancelProofRequest) (*cuzkv1.CancelProofResponse, error) {
	j, err := c.queue.find(r.JobId)
	if err != nil {
		return nil, problem(err)
	}
	running := c.queue.cancelJob(j)
	select {
	case <-j.done:
	case <-ctx.Done():
		return nil, problem(ctx.Err())
	}
	return &cuzkv1.CancelProofResponse{WasRunning: running}, nil
}

func (c *calls) GetStatus(context.Context, *cuzkv1.GetStatusRequest) (*cuzkv1.GetStatusResponse, error) {
	s := c.queue.Snapshot()
	e := c.queue.engine.Status()
	r := &cuzkv1.GetStatusResponse{Gpus: c.gpus(s), TotalProofsCompleted: s.Completed, TotalProofsFailed: s.Failed,
		UptimeSeconds: uint64(time.Since(c.started).Seconds()), PinnedMemoryBytes: uint64(e.Host.Used), PinnedMemoryLimitBytes: uint64(e.Host.Total)}
	for _, k := range s.Kinds {
		r.Queues = append(r.Queues, &cuzkv1.QueueStatus{ProofKind: k.Kind.String(), Pending: uint32(k.Pending), InProgress: uint32(k.Running)})
	}
	for _, k := range c.queue.engine.Keys() {
		t := cuzkv1.SRSStatus_WARM
		if len(k.Backends) > 0 {
			t = cuzkv1.SRSStatus_HOT
		}
		r.LoadedSrs = append(r.LoadedSrs, &cuzkv1.SRSStatus{CircuitId: CircuitID(k.Kind, k.Size), Tier: t, SizeBytes: uint64(k.FileBytes), RefCount: uint32(k.Users)})
	}
	return r, nil
}

// gpus are the backends that are not only there for the others' failures. The CPU is one if it is the only one.
func (c *calls) gpus(s *Snapshot) []*cuzkv1.GPUStatus {
	devices := map[string]Device{}
	if c.devices != nil {
		devices = c.devices()
	}
	var out []*cuzkv1.GPUStatus
	for i, b := range c.queue.engine.Status().Backends {
		if b.Fallback {
			continue
		}
		g := &cuzkv1.GPUStatus{Ordinal: uint32(i), Name: b.Name}
		if d, ok := devices[b.Name]; ok {
			g.Ordinal, g.Name, g.VramTotalBytes, g.VramFreeBytes = d.Ordinal, d.Name, d.TotalBytes, d.TotalBytes-min(d.HeldByUs, d.TotalBytes)
		}
		for _, r := range s.Running {
			if openOn(r, b.Name) {
				g.CurrentJobId, g.CurrentProofKind = r.Record.Job, cuzkv1.ProofKind(r.Record.Kind).String()
				break
			}
		}
		out = append(out, g)
	}
	return out
}

// openOn says whether a job has an open span in the lane of a backend.
func openOn(r Running, lane string) bool {
	for _, s := range r.Spans {
		if s.Open && s.Lane == lane {
			return true
		}
	}
	return false
}

func (c *calls) GetMetrics(context.Context, *cuzkv1.GetMetricsRequest) (*cuzkv1.GetMetricsResponse, error) {
	text, err := c.queue.metrics.text()
	if err != nil {
		return nil, problem(err)
	}
	return &cuzkv1.GetMetricsResponse{PrometheusText: text}, nil
}

func (c *calls) PreloadSRS(ctx context.Context, r *cuzkv1.PreloadSRSRequest) (*cuzkv1.PreloadSRSResponse, error) {
	kind, size, err := ParseCircuit(r.CircuitId)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	start := time.Now()
	already, err := c.queue.engine.Preload(ctx, kind, size)
	if err != nil {
		return nil, problem(err)
	}
	c.queue.log.Info("key loaded", "circuit", r.CircuitId, "already", already, "elapsed", time.Since(start))
	return &cuzkv1.PreloadSRSResponse{AlreadyLoaded: already, LoadTimeMs: millis(time.Since(start))}, nil
}

func (c *calls) EvictSRS(_ context.Context, r *cuzkv1.EvictSRSRequest) (*cuzkv1.EvictSRSResponse, error) {
	kind, size, err := ParseCircuit(r.CircuitId)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	was, freed, err := c.queue.engine.Evict(kind, size)
	if err != nil {
		return nil, problem(err)
	}
	c.queue.log.Info("key freed", "circuit", r.CircuitId, "was", was, "bytes", freed)
	return &cuzkv1.EvictSRSResponse{WasLoaded: was, FreedBytes: uint64(max(0, freed))}, nil
}
