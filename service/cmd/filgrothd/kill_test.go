package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/filgroth/filgroth/service/client"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/filgroth/filgroth/service/internal/samples"
	"github.com/filgroth/filgroth/service/journal"
	"github.com/stretchr/testify/require"
)

const (
	killJobs  = 20
	killTimes = 10
)

// checkJournal reads the journal of a dead daemon.
func (p *process) checkJournal() []journal.Record {
	j, recs, err := journal.Open(p.state)
	require.NoError(p.t, err)
	require.NoError(p.t, j.Check())
	require.NoError(p.t, j.Close())
	return recs
}

// retry asks for a proof until it comes, as a node does: always under the same request id.
func retry(c *client.Client, r *cuzkv1.SubmitProofRequest) ([]byte, error) {
	for range 100 {
		resp, err := c.ProveJob(context.Background(), r)
		var je *client.JobError
		switch {
		case err == nil:
			return resp.Proof, nil
		case errors.As(err, &je), client.Passes(err):
		default:
			return nil, err
		}
	}
	return nil, errors.New("no proof after 100 tries")
}

// The daemon is killed at ten random moments of twenty jobs and started again each time; the clients keep asking under the same ids.
func TestKillAtRandomMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("makes keys and twenty proofs; run without -short")
	}
	p := newProcess(t, "[queue]\nmax_starts = 100\n[log]\nlevel = \"debug\"\n")
	p.start()
	c := p.client(10 * time.Minute)
	for _, id := range []string{"winning-2k", "wpost-2k"} { // keys are made before the first kill
		require.NoError(t, c.Repeat(context.Background(), true, func(ctx context.Context) error {
			_, err := c.PreloadSRS(ctx, &cuzkv1.PreloadSRSRequest{CircuitId: id})
			return err
		}))
	}
	all := make([]*samples.Sample, killJobs)
	proofs := make([][]byte, killJobs)
	errs := make([]error, killJobs)
	var done atomic.Int64
	var wg sync.WaitGroup
	for i := range all {
		s, err := samples.Simulated(context.Background(), []string{"winning", "wpost"}[i%2], "2k", uint64(100+i))
		require.NoError(t, err)
		s.Request.RequestId = fmt.Sprintf("kill-%d", i)
		all[i] = s
		wg.Go(func() {
			proofs[i], errs[i] = retry(c, s.Request)
			done.Add(1)
		})
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	unfinished := 0
	for k := range killTimes {
		// every other kill comes soon after an answer, so that the run gets on and its writes are hit; the others anywhere
		if most := 2500; k%2 == 0 {
			for done.Load() < int64(k) {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Duration(rnd.IntN(most/10)) * time.Millisecond)
		} else {
			time.Sleep(time.Duration(100+rnd.IntN(most)) * time.Millisecond)
		}
		p.kill()
		recs := p.checkJournal()
		n := 0
		for _, r := range recs {
			if r.State.Final() {
				n++
			}
		}
		unfinished += len(recs) - n
		t.Logf("kill %d: %d jobs known, %d at an end", k+1, len(recs), n)
		p.start()
	}
	require.Positive(t, unfinished, "no kill hit a job")
	wg.Wait()
	e := verifier(t)
	seen := map[string]int{}
	for i, s := range all {
		require.NoError(t, errs[i], s.Request.RequestId)
		ok, err := s.Verify(context.Background(), e, proofs[i])
		require.NoError(t, err)
		require.True(t, ok, "%s", s.Request.RequestId)
		ok, err = all[(i+2)%killJobs].Verify(context.Background(), e, proofs[i])
		require.NoError(t, err)
		require.False(t, ok, "the next request of the kind has another statement")
		seen[string(proofs[i])] = i
	}
	require.Len(t, seen, killJobs)

	// what was answered is answered again, at once and with the same bytes, by a daemon that has started anew
	p.kill()
	p.start()
	p.ready(c)
	for i, s := range all {
		r, err := c.ProveJob(context.Background(), s.Request)
		require.NoError(t, err)
		require.Equal(t, proofs[i], r.Proof)
	}
	st, err := c.GetStatus(context.Background(), &cuzkv1.GetStatusRequest{})
	require.NoError(t, err)
	require.Zero(t, st.TotalProofsCompleted, "nothing was proved again")
	p.stop()
	recs := p.checkJournal()
	byID := map[string]int{}
	for _, r := range recs {
		require.Equal(t, journal.Completed, r.State, r.Error)
		byID[r.Request]++
	}
	require.Len(t, byID, killJobs)
	require.Len(t, recs, killJobs, "one record a request")
}

// Cancelling a proof under way gives its memory back within a second or so; the rest goes on.
func TestCancelGivesMemoryBack(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a key and proofs; run without -short")
	}
	p := newProcess(t, "")
	p.start()
	c := p.client(time.Minute)
	ctx := context.Background()
	p.ready(c)
	_, err := c.PreloadSRS(ctx, &cuzkv1.PreloadSRSRequest{CircuitId: "winning-2k"})
	require.NoError(t, err)
	s, err := samples.Simulated(ctx, "winning", "2k", 1)
	require.NoError(t, err)
	sub, err := c.SubmitProof(ctx, s.Request)
	require.NoError(t, err)
	var held uint64
	for held == 0 {
		st, err := c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
		require.NoError(t, err)
		held = st.PinnedMemoryBytes
	}
	start := time.Now()
	x, err := c.CancelProof(ctx, &cuzkv1.CancelProofRequest{JobId: sub.JobId})
	require.NoError(t, err)
	took := time.Since(start)
	require.True(t, x.WasRunning)
	st, err := c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
	require.NoError(t, err)
	require.Zero(t, st.PinnedMemoryBytes)
	t.Logf("%d bytes given back %v after the cancellation", held, took)
	_, err = c.EvictSRS(ctx, &cuzkv1.EvictSRSRequest{CircuitId: "winning-2k"})
	require.NoError(t, err, "nobody uses the key any more")
	r, err := c.ProveJob(ctx, s.Request)
	require.NoError(t, err, "the id is free after a cancellation")
	ok, err := s.Verify(ctx, verifier(t), r.Proof)
	require.NoError(t, err)
	require.True(t, ok)
	p.stop()
}
