package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/filgroth/filgroth/service/journal"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

func submit(t *testing.T, q *Queue, r *cuzkv1.SubmitProofRequest) *job {
	t.Helper()
	j, err := q.submit(context.Background(), r, true)
	require.NoError(t, err)
	return j
}

func result(t *testing.T, q *Queue, j *job) *cuzkv1.AwaitProofResponse {
	t.Helper()
	r, err := q.wait(context.Background(), j, false)
	require.NoError(t, err)
	return r
}

func stopQueue(t *testing.T, q *Queue, j *journal.Journal) {
	ctx, now := context.WithCancel(context.Background())
	now()
	q.Stop(ctx)
	require.NoError(t, j.Check())
	require.NoError(t, j.Close())
}

func TestSameRequestJoinsOtherContentIsRefused(t *testing.T) {
	e := &fakeEngine{gate: make(chan struct{})}
	q, jn := openQueue(t, t.TempDir(), e, nil)
	q.Start()
	defer stopQueue(t, q, jn)
	a := submit(t, q, winning("a", "x"))
	same := winning("a", "x")
	same.Priority = cuzkv1.Priority_LOW
	require.Same(t, a, submit(t, q, same), "priority is not content")
	_, err := q.submit(context.Background(), winning("a", "y"), true)
	require.ErrorIs(t, err, ErrConflict)
	anonymous := submit(t, q, winning("", "x"))
	require.NotSame(t, anonymous, submit(t, q, winning("", "x")), "no id, no joining")
	close(e.gate)
	require.Equal(t, winningProof("x"), result(t, q, a).Proof)
	require.Same(t, a, submit(t, q, winning("a", "x")), "finished: answered at once")
	_, err = q.submit(context.Background(), winning("a", "y"), true)
	require.ErrorIs(t, err, ErrConflict)
	q.cfg.Replace = true
	b := submit(t, q, winning("a", "y"))
	require.Equal(t, winningProof("y"), result(t, q, b).Proof)
}

func TestEveryFieldIsContent(t *testing.T) {
	seen := map[string]int{}
	changes := []func(*cuzkv1.SubmitProofRequest){func(*cuzkv1.SubmitProofRequest) {},
		func(r *cuzkv1.SubmitProofRequest) { r.ProofKind = 3 }, func(r *cuzkv1.SubmitProofRequest) { r.SectorSize++ },
		func(r *cuzkv1.SubmitProofRequest) { r.RegisteredProof++ }, func(r *cuzkv1.SubmitProofRequest) { r.VanillaProof = []byte{1} },
		func(r *cuzkv1.SubmitProofRequest) { r.VanillaProofs = append(r.VanillaProofs, nil) }, func(r *cuzkv1.SubmitProofRequest) { r.SectorNumber++ },
		func(r *cuzkv1.SubmitProofRequest) { r.MinerId++ }, func(r *cuzkv1.SubmitProofRequest) { r.Randomness = make([]byte, 32) },
		func(r *cuzkv1.SubmitProofRequest) { r.PartitionIndex++ }, func(r *cuzkv1.SubmitProofRequest) { r.CommROld = []byte{1} },
		func(r *cuzkv1.SubmitProofRequest) { r.CommRNew = []byte{1} }, func(r *cuzkv1.SubmitProofRequest) { r.CommDNew = []byte{1} },
		func(r *cuzkv1.SubmitProofRequest) { r.VanillaProofs = [][]byte{[]byte("ab"), []byte("c")} },
		func(r *cuzkv1.SubmitProofRequest) { r.VanillaProofs = [][]byte{[]byte("a"), []byte("bc")} }}
	for i, change := range changes {
		r := winning("a", "x")
		change(r)
		seen[string(digest(r))] = i
	}
	require.Len(t, seen, len(changes))
}

func TestFailedAndCancelledIdsAreFree(t *testing.T) {
	var fails atomic.Bool
	fails.Store(true)
	e := &fakeEngine{fail: func(string) error {
		if fails.Load() {
			return fmt.Errorf("%w: nothing fits", filgroth.ErrVanilla)
		}
		return nil
	}}
	q, jn := openQueue(t, t.TempDir(), e, nil)
	q.Start()
	defer stopQueue(t, q, jn)
	a := submit(t, q, winning("a", "x"))
	r := result(t, q, a)
	require.Equal(t, cuzkv1.AwaitProofResponse_FAILED, r.Status)
	require.Contains(t, r.ErrorMessage, "nothing fits")
	require.Empty(t, r.Proof)
	fails.Store(false)
	b := submit(t, q, winning("a", "x"))
	require.NotSame(t, a, b)
	require.Equal(t, cuzkv1.AwaitProofResponse_COMPLETED, result(t, q, b).Status)
	fails.Store(true)
	result(t, q, submit(t, q, winning("c", "x")))
	fails.Store(false)
	require.Equal(t, winningProof("y"), result(t, q, submit(t, q, winning("c", "y"))).Proof, "other content after a failure")
}

func TestEnginePanicAndNonsenseAreFailures(t *testing.T) {
	e := &fakeEngine{fail: func(c string) error {
		if c == "winning boom" {
			panic("boom")
		}
		return nil
	}}
	q, jn := openQueue(t, t.TempDir(), e, nil)
	q.Start()
	defer stopQueue(t, q, jn)
	r := result(t, q, submit(t, q, winning("a", "boom")))
	require.Equal(t, cuzkv1.AwaitProofResponse_FAILED, r.Status)
	require.Contains(t, r.ErrorMessage, "boom")
	_, _, err := prove(context.Background(), emptyEngine{e}, winning("b", "x"))
	require.ErrorContains(t, err, "no proof")
	require.Equal(t, cuzkv1.AwaitProofResponse_COMPLETED, result(t, q, submit(t, q, winning("c", "x"))).Status)
}

type emptyEngine struct{ *fakeEngine }

func (emptyEngine) GenerateWinningPoStWithVanilla(context.Context, vanilla.PoStProof, uint64, [32]byte, [][]byte) (*filgroth.PoStProof, *filgroth.Report, error) {
	return &filgroth.PoStProof{}, nil, nil
}

func TestOrder(t *testing.T) {
	e := &fakeEngine{gate: make(chan struct{})}
	q, jn := openQueue(t, t.TempDir(), e, nil)
	defer stopQueue(t, q, jn)
	q.stopping = false
	now := time.Unix(0, 0)
	q.now = func() time.Time { return now }
	q.pressed = true // nothing begins but CRITICAL, once something is at work
	q.running[&job{}] = true
	submit(t, q, with("low", cuzkv1.Priority_LOW))
	submit(t, q, with("normal1", cuzkv1.Priority_NORMAL))
	submit(t, q, with("high", cuzkv1.Priority_HIGH))
	submit(t, q, with("normal2", cuzkv1.Priority_NORMAL))
	order := func() (s []string) {
		for _, r := range q.Snapshot().Waiting {
			s = append(s, r.Request)
		}
		return s
	}
	require.Equal(t, []string{"high", "normal1", "normal2", "low"}, order())
	now = now.Add(150 * time.Minute)
	submit(t, q, with("later", cuzkv1.Priority_HIGH))
	require.Equal(t, []string{"high", "normal1", "normal2", "low", "later"}, order(), "a low job is served within a bound")
	q.mu.Lock()
	q.running[&job{rec: journal.Record{Priority: int32(cuzkv1.Priority_CRITICAL)}}] = true
	q.mu.Unlock()
	submit(t, q, with("critical", cuzkv1.Priority_CRITICAL))
	require.Equal(t, "critical", order()[0], "nothing ages past CRITICAL")
	q.mu.Lock()
	clear(q.running)
	q.mu.Unlock()
	close(e.gate)
}

func TestCriticalBeginsBeforeAndBesideNormal(t *testing.T) {
	e := &fakeEngine{gate: make(chan struct{})}
	q, jn := openQueue(t, t.TempDir(), e, nil)
	q.Start()
	defer stopQueue(t, q, jn)
	var all []*job
	for i := range 5 {
		all = append(all, submit(t, q, with(fmt.Sprintf("n%d", i), cuzkv1.Priority_NORMAL)))
	}
	eventually(t, "the first begins", func() bool { return len(e.begun()) == 1 })
	c := submit(t, q, with("c", cuzkv1.Priority_CRITICAL))
	eventually(t, "CRITICAL begins beside it", func() bool { return len(e.begun()) == 2 })
	require.Equal(t, []string{"winning n0", "winning c"}, e.begun())
	c2 := submit(t, q, with("c2", cuzkv1.Priority_CRITICAL))
	require.Equal(t, 2, q.position(c2), "behind the two at work, before all that wait")
	for _, j := range append(all, c, c2) {
		e.gate <- struct{}{}
		_ = j
	}
	for _, j := range append(all, c, c2) {
		require.Equal(t, cuzkv1.AwaitProofResponse_COMPLETED, result(t, q, j).Status)
	}
	order := e.begun()
	require.Equal(t, "winning c2", order[2])
}

func TestTheMoreUrgentCallerCounts(t *testing.T) {
	e := &fakeEngine{gate: make(chan struct{})}
	q, jn := openQueue(t, t.TempDir(), e, nil)
	q.Start()
	defer stopQueue(t, q, jn)
	submit(t, q, with("a", cuzkv1.Priority_NORMAL))
	b := submit(t, q, with("b", cuzkv1.Priority_NORMAL))
	eventually(t, "the first begins", func() bool { return len(e.begun()) == 1 })
	require.Same(t, b, submit(t, q, with("b", cuzkv1.Priority_CRITICAL)))
	eventually(t, "it begins beside the first", func() bool { return len(e.begun()) == 2 })
	require.Same(t, b, submit(t, q, with("b", cuzkv1.Priority_LOW)))
	close(e.gate)
	require.Equal(t, cuzkv1.AwaitProofResponse_COMPLETED, result(t, q, b).Status)
}

func TestReasonsAreBoundedText(t *testing.T) {
	long := reason(errors.New(strings.Repeat("ä", maxReason)))
	require.Less(t, len(long), maxReason+10)
	require.True(t, utf8.ValidString(long))
	require.Equal(t, "a?b", reason(errors.New("a\xff\xfeb")))
}

func TestBusy(t *testing.T) {
	e := &fakeEngine{gate: make(chan struct{})}
	q, jn := openQueue(t, t.TempDir(), e, func(c *QueueConfig) { c.Size, c.CriticalReserve, c.SpoolBytes = 2, 1, 600 })
	q.Start()
	defer stopQueue(t, q, jn)
	submit(t, q, with("1", cuzkv1.Priority_LOW))
	submit(t, q, with("2", cuzkv1.Priority_LOW))
	submit(t, q, with("3", cuzkv1.Priority_LOW))
	_, err := q.submit(context.Background(), with("4", cuzkv1.Priority_LOW), true)
	require.ErrorIs(t, err, ErrBusy)
	submit(t, q, with("3", cuzkv1.Priority_LOW)) // joining needs no place
	submit(t, q, with("c1", cuzkv1.Priority_CRITICAL))
	submit(t, q, with("c2", cuzkv1.Priority_CRITICAL))
	_, err = q.submit(context.Background(), with("c3", cuzkv1.Priority_CRITICAL), true)
	require.ErrorIs(t, err, ErrBusy)
	close(e.gate)
	eventually(t, "all done", func() bool { return q.Snapshot().Completed == 5 })
	require.Zero(t, q.Snapshot().Spooled)
	big := winning("big", string(make([]byte, 700)))
	_, err = q.submit(context.Background(), big, true)
	require.ErrorIs(t, err, ErrBusy, "the spool's bytes are bounded")
	submit(t, q, with("4", cuzkv1.Priority_LOW))
}

func TestCancel(t *testing.T) {
	e := &fakeEngine{gate: make(chan struct{})}
	dir := t.TempDir()
	q, jn := openQueue(t, dir, e, nil)
	q.Start()
	defer stopQueue(t, q, jn)
	a, b := submit(t, q, winning("a", "a")), submit(t, q, winning("b", "b"))
	eventually(t, "the first begins", func() bool { return len(e.begun()) == 1 })
	require.False(t, q.cancelJob(b))
	require.Equal(t, cuzkv1.AwaitProofResponse_CANCELLED, result(t, q, b).Status)
	require.True(t, q.cancelJob(a))
	require.Equal(t, cuzkv1.AwaitProofResponse_CANCELLED, result(t, q, a).Status)
	require.False(t, q.cancelJob(a), "over already")
	require.Equal(t, []string{"winning a"}, e.begun())
	files, err := os.ReadDir(filepath.Join(dir, "spool"))
	require.NoError(t, err)
	require.Empty(t, files, "vanilla proofs are not kept")
	close(e.gate)
	require.Equal(t, cuzkv1.AwaitProofResponse_COMPLETED, result(t, q, submit(t, q, winning("a", "a"))).Status)
}

func TestAbandonedJobsAreCancelled(t *testing.T) {
	e := &fakeEngine{gate: make(chan struct{})}
	q, jn := openQueue(t, t.TempDir(), e, func(c *QueueConfig) { c.Running = 3 })
	q.Start()
	defer stopQueue(t, q, jn)
	ctx, leave := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	jobs := map[string]*job{}
	for id, detached := range map[string]bool{"alone": false, "shared": false, "submitted": true} {
		j, err := q.submit(ctx, winning(id, id), detached)
		require.NoError(t, err)
		jobs[id] = j
		wg.Go(func() { _, err := q.wait(ctx, j, true); require.ErrorIs(t, err, context.Canceled) })
	}
	kept := make(chan *cuzkv1.AwaitProofResponse, 1)
	wg2 := make(chan struct{})
	go func() {
		close(wg2)
		r, _ := q.wait(context.Background(), jobs["shared"], true)
		kept <- r
	}()
	<-wg2
	eventually(t, "all wait", func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return jobs["shared"].waiters == 2 && jobs["alone"].waiters == 1 && jobs["submitted"].waiters == 1
	})
	leave()
	wg.Wait()
	require.Equal(t, cuzkv1.AwaitProofResponse_CANCELLED, result(t, q, jobs["alone"]).Status)
	close(e.gate)
	require.Equal(t, cuzkv1.AwaitProofResponse_COMPLETED, (<-kept).Status)
	require.Equal(t, cuzkv1.AwaitProofResponse_COMPLETED, result(t, q, jobs["submitted"]).Status)
}

func TestJobsSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	e := &fakeEngine{gate: make(chan struct{}, 1)}
	q, jn := openQueue(t, dir, e, nil)
	q.Start()
	e.gate <- struct{}{}
	done := submit(t, q, winning("done", "d"))
	require.Equal(t, winningProof("d"), result(t, q, done).Proof)
	running, waiting := submit(t, q, winning("running", "r")), submit(t, q, winning("waiting", "w"))
	eventually(t, "it runs", func() bool { return len(e.begun()) == 2 })
	stopQueue(t, q, jn)
	for _, j := range []*job{running, waiting} {
		_, err := q.wait(context.Background(), j, false)
		require.ErrorIs(t, err, ErrStopping)
	}
	_, err := q.submit(context.Background(), winning("new", "n"), true)
	require.ErrorIs(t, err, ErrStopping)

	e = &fakeEngine{}
	q, jn = openQueue(t, dir, e, nil)
	defer stopQueue(t, q, jn)
	require.Len(t, q.Snapshot().Waiting, 2)
	q.Start()
	for id, content := range map[string]string{"done": "d", "running": "r", "waiting": "w"} {
		require.Equal(t, winningProof(content), result(t, q, submit(t, q, winning(id, content))).Proof)
	}
	j, err := q.find(running.rec.Job)
	require.NoError(t, err, "the job keeps its name")
	require.Equal(t, winningProof("r"), result(t, q, j).Proof)
	require.ElementsMatch(t, []string{"winning r", "winning w"}, e.begun(), "what was done is not done again")
	_, err = q.submit(context.Background(), winning("done", "other"), true)
	require.ErrorIs(t, err, ErrConflict)
}

func TestDamagedSpoolAndDeadlyJobsFail(t *testing.T) {
	dir := t.TempDir()
	q, jn := openQueue(t, dir, &fakeEngine{gate: make(chan struct{})}, nil)
	q.Start()
	var jobs []*job
	for _, id := range []string{"a", "b", "c", "d"} {
		jobs = append(jobs, submit(t, q, winning(id, id)))
	}
	stopQueue(t, q, jn)
	path := func(i int) string { return filepath.Join(dir, "spool", jobs[i].rec.Job+".request") }
	require.NoError(t, os.WriteFile(path(0), []byte{0xff}, 0o600))
	require.NoError(t, os.Remove(path(1)))
	b, err := os.ReadFile(path(3))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path(2), b, 0o600), "another job's request")

	j, recs, err := journal.Open(dir)
	require.NoError(t, err)
	recs[3].Starts = 3
	e := &fakeEngine{}
	q = NewQueue(testQueueConfig(), e, j, recs)
	q.Start()
	defer stopQueue(t, q, j)
	for i, says := range []string{"damaged", "no such file", "not the one", "3 times"} {
		x, err := q.find(jobs[i].rec.Job)
		require.NoError(t, err)
		r := result(t, q, x)
		require.Equal(t, cuzkv1.AwaitProofResponse_FAILED, r.Status)
		require.Contains(t, r.ErrorMessage, says)
	}
	require.Empty(t, e.begun())
	require.Zero(t, q.Snapshot().Spooled)
}

func TestRetention(t *testing.T) {
	q, jn := openQueue(t, t.TempDir(), &fakeEngine{}, func(c *QueueConfig) { c.KeepJobs = 3 })
	q.Start()
	defer stopQueue(t, q, jn)
	var jobs []*job
	for i := range 5 {
		j := submit(t, q, winning(fmt.Sprint(i), "x"))
		result(t, q, j)
		jobs = append(jobs, j)
	}
	require.NoError(t, q.Clean())
	for i, j := range jobs {
		_, err := q.find(j.rec.Job)
		require.Equal(t, i < 2, errors.Is(err, ErrUnknownJob), i)
	}
	q.mu.Lock()
	q.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	q.mu.Unlock()
	require.NoError(t, q.Clean())
	require.Empty(t, q.jobs)
	require.Empty(t, q.byRequest)
}

func TestMemoryPressure(t *testing.T) {
	e := &fakeEngine{gate: make(chan struct{}), keys: []filgroth.KeyInfo{{Kind: filgroth.PoRep, Size: 2048, Users: 1}, {Kind: filgroth.SnapDeals, Size: 2048}}}
	q, jn := openQueue(t, t.TempDir(), e, func(c *QueueConfig) { c.Running = 5 })
	q.Start()
	defer stopQueue(t, q, jn)
	var use atomic.Int64
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		q.watchMemory(ctx, time.Millisecond, 90, func() MemoryUse { return MemoryUse{Resident: use.Load(), Limit: 1000} })
	})
	submit(t, q, with("a", cuzkv1.Priority_HIGH))
	eventually(t, "it runs", func() bool { return len(e.begun()) == 1 })
	use.Store(950)
	eventually(t, "the idle key goes", func() bool { return len(e.Keys()) == 1 })
	require.Equal(t, filgroth.PoRep, e.Keys()[0].Kind)
	submit(t, q, with("b", cuzkv1.Priority_HIGH))
	submit(t, q, with("c", cuzkv1.Priority_CRITICAL))
	eventually(t, "the critical one runs", func() bool { return len(e.begun()) == 2 })
	require.Equal(t, "winning c", e.begun()[1])
	use.Store(100)
	eventually(t, "the other runs", func() bool { return len(e.begun()) == 3 })
	stop()
	wg.Wait()
	close(e.gate)
}
