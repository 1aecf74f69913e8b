package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/service/client"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/filgroth/filgroth/service/internal/samples"
	"github.com/filgroth/filgroth/synth/porep"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// sample is the i-th request of a run.
func (o *options) sample(ctx context.Context, kind string, i int) (*samples.Sample, error) {
	switch {
	case o.c1 != "" && i == 0:
		return o.fileSample()
	case o.c1 != "":
		return nil, errors.New("-c1 is one request: use single, or -n 1")
	case o.golden && i == 0:
		s, err := samples.Golden(kind)
		if err == nil {
			s.Request.RequestId += fmt.Sprintf("-golden-%d", o.seed)
		}
		return s, err
	}
	s, err := samples.Simulated(ctx, kind, o.size, o.seed+uint64(i))
	if err == nil {
		s.Request.RequestId += fmt.Sprintf("-bench-%d", o.seed+uint64(i))
	}
	return s, err
}

func (o *options) fileSample() (*samples.Sample, error) {
	b, err := os.ReadFile(o.c1)
	if err != nil {
		return nil, err
	}
	c, err := porep.DecodeC1(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.c1, err)
	}
	if _, err := porep.DecodeEnvelope(b); err == nil { // the request gets an envelope of its own
		var inner struct{ Phase1Out []byte }
		if err := json.Unmarshal(b, &inner); err != nil {
			return nil, fmt.Errorf("%s: %w", o.c1, err)
		}
		b = inner.Phase1Out
	}
	r, err := client.PoRep(b, uint64(c.Proof.Size()), o.miner, o.sector)
	if err != nil {
		return nil, err
	}
	r.RequestId += fmt.Sprintf("-bench-%d", o.seed)
	return &samples.Sample{Request: r, Verify: func(ctx context.Context, e *filgroth.Engine, proof []byte) (bool, error) {
		return e.VerifySeal(ctx, filgroth.SealVerifyInfo{Proof: c.Proof, Miner: o.miner, Sector: o.sector, Ticket: c.Ticket, Seed: c.Seed,
			CommR: c.CommR, CommD: c.CommD, Bytes: proof})
	}}, nil
}

// verifier is the engine of -verify, nil without.
func (o *options) verifier() (*filgroth.Engine, error) {
	switch o.verify {
	case "":
		return nil, nil
	case "dev":
		return filgroth.New(filgroth.Config{DevelopmentKeys: true})
	}
	return filgroth.New(filgroth.Config{Parameters: o.verify})
}

// prove sends one request and measures it. A cancelling one is given up after a random while.
func (o *options) prove(ctx context.Context, c *client.Client, e *filgroth.Engine, s *samples.Sample, after time.Duration) Job {
	r := s.Request
	j := Job{Request: r.RequestId, Kind: r.ProofKind.String(), Priority: r.Priority.String(), Bytes: requestBytes(r)}
	start := time.Now()
	var resp *cuzkv1.AwaitProofResponse
	var err error
	if after > 0 {
		resp, err = cancelling(ctx, c, r, after)
	} else {
		resp, err = c.ProveJob(ctx, r)
	}
	j.Wall = time.Since(start).Seconds()
	j.fill(resp)
	var je *client.JobError
	switch {
	case errors.As(err, &je):
		j.Status, j.Error = je.Status.String(), je.Message
	case status.Code(err) == codes.Unavailable: // nobody there, or one who drains
		j.Status, j.Error = "AWAY", err.Error()
	case err != nil && client.Passes(err):
		j.Status, j.Error = "BUSY", err.Error()
	case err != nil:
		j.Status, j.Error = "ERROR", err.Error()
	}
	if e != nil && j.Status == "COMPLETED" {
		ok, err := s.Verify(ctx, e, resp.Proof)
		j.Verified = &ok
		if err != nil || !ok {
			j.Status, j.Error = "WRONG", fmt.Sprintf("the proof does not verify here: %v", err)
		}
	}
	return j
}

// cancelling submits, waits a while, and cancels what is not done by then.
func cancelling(ctx context.Context, c *client.Client, r *cuzkv1.SubmitProofRequest, after time.Duration) (*cuzkv1.AwaitProofResponse, error) {
	var job string
	err := c.Repeat(ctx, true, func(ctx context.Context) error {
		s, err := c.SubmitProof(ctx, r)
		job = s.GetJobId()
		return err
	})
	if err != nil {
		return nil, err
	}
	resp, err := c.AwaitProof(ctx, &cuzkv1.AwaitProofRequest{JobId: job, TimeoutMs: max(1, uint64(after.Milliseconds()))})
	if err != nil {
		return nil, err
	}
	if resp.Status == cuzkv1.AwaitProofResponse_TIMEOUT {
		if _, err := c.CancelProof(ctx, &cuzkv1.CancelProofRequest{JobId: job}); err != nil {
			return nil, err
		}
	}
	return c.AwaitJob(ctx, job)
}

func requestBytes(r *cuzkv1.SubmitProofRequest) (n int) {
	n = len(r.VanillaProof)
	for _, p := range r.VanillaProofs {
		n += len(p)
	}
	return n
}

func single(ctx context.Context, o *options, c *client.Client, args []string, out io.Writer) error {
	return o.many(ctx, c, args, out, "single", func(int) (string, cuzkv1.Priority, time.Duration) { return o.kind, 0, 0 })
}

func batch(ctx context.Context, o *options, c *client.Client, args []string, out io.Writer) error {
	return o.many(ctx, c, args, out, "batch", func(int) (string, cuzkv1.Priority, time.Duration) { return o.kind, 0, 0 })
}

// stress draws kind, priority and cancellation of each job from the seed.
func stress(ctx context.Context, o *options, c *client.Client, args []string, out io.Writer) error {
	kinds := strings.Split(o.kind, ",")
	return o.many(ctx, c, args, out, "stress", func(i int) (string, cuzkv1.Priority, time.Duration) {
		r := rand.New(rand.NewPCG(o.seed, uint64(i)))
		kind, p := kinds[r.IntN(len(kinds))], cuzkv1.Priority(1+r.IntN(4))
		if r.Float64() < o.cancel {
			return kind, p, time.Duration(1+r.IntN(2000)) * time.Millisecond
		}
		return kind, p, 0
	})
}

// many runs a mode's jobs and reports. It fails if a job that was not to be cancelled has no proof.
func (o *options) many(ctx context.Context, c *client.Client, args []string, out io.Writer, name string,
	draw func(i int) (kind string, p cuzkv1.Priority, cancel time.Duration)) error {
	if len(args) > 0 {
		return fmt.Errorf("what is %q?", args[0])
	}
	for _, k := range strings.Split(o.kind, ",") {
		if !slices.Contains(samples.Kinds, k) {
			return fmt.Errorf("-kind %q: %s", k, strings.Join(samples.Kinds, ", "))
		}
	}
	e, err := o.verifier()
	if err != nil {
		return err
	}
	if e != nil {
		defer e.Close()
	}
	res := newResult(name, o)
	var mu sync.Mutex
	var wg sync.WaitGroup
	places := make(chan struct{}, o.parallel)
	start := time.Now()
	for i := range o.n {
		kind, p, cancel := draw(i)
		s, err := o.sample(ctx, kind, i)
		if err != nil {
			return err
		}
		if p != 0 {
			s.Request.Priority = p
		}
		if i == 0 {
			start = time.Now() // making the first request is not the daemon's time
		}
		if o.rate > 0 {
			time.Sleep(time.Until(start.Add(time.Duration(float64(i) / o.rate * float64(time.Second)))))
		}
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			j := o.prove(ctx, c, e, s, cancel)
			mu.Lock()
			defer mu.Unlock()
			res.Jobs = append(res.Jobs, j)
		})
	}
	wg.Wait()
	res.sum(time.Since(start))
	if err := res.write(out, o.json); err != nil {
		return err
	}
	return res.failure()
}
