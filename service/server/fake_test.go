package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/service/client"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/filgroth/filgroth/service/journal"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// fakeEngine answers with a hash of its arguments. It waits for gate, if there is one, and then for one value of it a proof.
type fakeEngine struct {
	gate chan struct{}
	fail func(call string) error

	mu      sync.Mutex
	calls   []string // in order of begin
	keys    []filgroth.KeyInfo
	working int
	most    int
}

// fakeProof is what the fake engine makes of a call.
func fakeProof(partitions int, parts ...[]byte) []byte {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
		h.Write([]byte{0})
	}
	var out []byte
	for i := range partitions * 6 {
		out = h.Sum(append(out, []byte{}...))[:32*(i+1)]
	}
	return out
}

func (f *fakeEngine) prove(ctx context.Context, name string, partitions int, parts ...[]byte) ([]byte, *filgroth.Report, error) {
	ctx, sp := span.Start(ctx, "synth.witness")
	f.mu.Lock()
	f.calls = append(f.calls, name)
	f.working++
	f.most = max(f.most, f.working)
	f.mu.Unlock()
	defer func() {
		sp.End()
		f.mu.Lock()
		f.working--
		f.mu.Unlock()
	}()
	if f.gate != nil {
		select {
		case <-f.gate:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	if f.fail != nil {
		if err := f.fail(name); err != nil {
			return nil, nil, err
		}
	}
	return fakeProof(partitions, parts...), nil, nil
}

func (f *fakeEngine) begun() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}

func (f *fakeEngine) SealCommitPhase2(ctx context.Context, c1 []byte, sector, miner uint64) ([]byte, *filgroth.Report, error) {
	return f.prove(ctx, "porep "+string(c1), 10, c1, u64(sector), u64(miner))
}

func (f *fakeEngine) GenerateWinningPoStWithVanilla(ctx context.Context, t vanilla.PoStProof, miner uint64, r [32]byte, p [][]byte) (*filgroth.PoStProof, *filgroth.Report, error) {
	b, rep, err := f.prove(ctx, "winning "+string(p[0]), 1, append([][]byte{u64(uint64(t)), u64(miner), r[:]}, p...)...)
	return &filgroth.PoStProof{Proof: t, Bytes: b}, rep, err
}

func (f *fakeEngine) GenerateSinglePartitionWindowPoStWithVanilla(ctx context.Context, t vanilla.PoStProof, miner uint64, r [32]byte, p [][]byte, part uint) (*filgroth.PoStProof, *filgroth.Report, error) {
	b, rep, err := f.prove(ctx, "window "+string(p[0]), 1, append([][]byte{u64(uint64(t)), u64(miner), r[:], u64(uint64(part))}, p...)...)
	return &filgroth.PoStProof{Proof: t, Bytes: b}, rep, err
}

func (f *fakeEngine) GenerateUpdateProofWithVanilla(ctx context.Context, i filgroth.UpdateInfo, p [][]byte) ([]byte, *filgroth.Report, error) {
	return f.prove(ctx, "snap "+string(p[0]), len(p), append([][]byte{u64(uint64(i.Proof)), i.CommROld[:], i.CommRNew[:], i.CommDNew[:]}, p...)...)
}

func (f *fakeEngine) Status() filgroth.Status {
	return filgroth.Status{Backends: []filgroth.BackendStatus{{Name: "cpu", Proofs: 3, LastError: errors.New("an old <failure>")}}}
}

func (f *fakeEngine) Keys() []filgroth.KeyInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]filgroth.KeyInfo(nil), f.keys...)
}

func (f *fakeEngine) Preload(_ context.Context, k filgroth.Kind, s vanilla.SectorSize) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.keys {
		if x.Kind == k && x.Size == s {
			return true, nil
		}
	}
	f.keys = append(f.keys, filgroth.KeyInfo{Kind: k, Size: s, FileBytes: 100, Bytes: 50, Backends: []string{"cpu"}})
	return false, nil
}

func (f *fakeEngine) Evict(k filgroth.Kind, s vanilla.SectorSize) (bool, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, x := range f.keys {
		if x.Kind == k && x.Size == s {
			if x.Users > 0 {
				return true, 0, filgroth.ErrKeyInUse
			}
			f.keys = append(f.keys[:i], f.keys[i+1:]...)
			return true, x.Bytes, nil
		}
	}
	return false, 0, nil
}

func u64(v uint64) []byte {
	return []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24), byte(v >> 32)}
}

// winning is a request of one sector with the given content.
func winning(id, content string) *cuzkv1.SubmitProofRequest {
	r := client.WinningPoSt(0, 2048, 1000, [32]byte{1, 2, 3}, [][]byte{[]byte(content)})
	r.RequestId = id
	return r
}

// with is a request with a priority.
func with(id string, p cuzkv1.Priority) *cuzkv1.SubmitProofRequest {
	r := winning(id, id)
	r.Priority = p
	return r
}

func winningProof(content string) []byte {
	return fakeProof(1, u64(0), u64(1000), append([]byte{1, 2, 3}, make([]byte, 29)...), []byte(content))
}

func testQueueConfig() QueueConfig {
	return QueueConfig{Size: 10, Running: 1, Ageing: time.Hour, SpoolBytes: 1 << 30, MaxStarts: 3, Keep: time.Hour, KeepJobs: 100,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

// openQueue makes a queue over the journal in dir.
func openQueue(t *testing.T, dir string, e Engine, change func(*QueueConfig)) (*Queue, *journal.Journal) {
	cfg := testQueueConfig()
	if change != nil {
		change(&cfg)
	}
	j, recs, err := journal.Open(dir)
	require.NoError(t, err)
	return NewQueue(cfg, e, j, recs), j
}

// daemon is a server at work in the test's process.
type daemon struct {
	*Server
	queue  *Queue
	engine *fakeEngine
	stop   func() // drains, at once, and waits
	drain  context.CancelFunc
	done   chan error
}

// start runs a daemon until the test's end.
func start(t *testing.T, e *fakeEngine, dir string, change func(*QueueConfig, *Config)) *daemon {
	qc := testQueueConfig()
	sc := Config{GRPC: []string{"127.0.0.1:0"}, HTTP: "127.0.0.1:0", MaxConnections: 300, MaxRequest: 1 << 20, MaxUploads: 300,
		UploadTimeout: 10 * time.Second, Drain: time.Minute, MemoryEvery: time.Hour, MemoryHigh: 90, Logger: qc.Logger}
	if change != nil {
		change(&qc, &sc)
	}
	j, recs, err := journal.Open(dir)
	require.NoError(t, err)
	q := NewQueue(qc, e, j, recs)
	s := New(sc, q)
	require.NoError(t, s.Listen())
	ctx, drain := context.WithCancel(context.Background())
	hurry, now := context.WithCancel(context.Background())
	d := &daemon{Server: s, queue: q, engine: e, drain: drain, done: make(chan error, 1)}
	go func() { d.done <- s.Serve(ctx, hurry) }()
	d.stop = sync.OnceFunc(func() {
		drain()
		now()
		require.NoError(t, <-d.done)
		require.NoError(t, j.Check())
		require.NoError(t, j.Close())
	})
	t.Cleanup(d.stop)
	return d
}

func (d *daemon) grpc() string { return d.Addrs()[0].String() }
func (d *daemon) web() string  { return d.Addrs()[len(d.Addrs())-1].String() }

func dial(t *testing.T, o client.Options) *client.Client {
	c, err := client.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (d *daemon) client(t *testing.T) *client.Client {
	return dial(t, client.Options{Address: d.grpc()})
}

// eventually waits for a condition, long, since machines are slow.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "never happened: %s", what)
	}
}

// noLeak checks at the test's end that no goroutine of ours is left. Call it first.
func noLeak(t *testing.T) {
	t.Cleanup(func() {
		var ours []string
		eventually(t, "goroutines end", func() bool {
			buf := make([]byte, 1<<20)
			ours = nil
			for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")[1:] {
				if strings.Contains(g, "filgroth/service") && !strings.Contains(g, "testing.tRunner") || strings.Contains(g, "google.golang.org/grpc") {
					ours = append(ours, g)
				}
			}
			return len(ours) == 0
		})
	})
}

func unixSocket(t *testing.T) string { return filepath.Join(t.TempDir(), "s") }

func rawDial(t *testing.T, addr string) net.Conn {
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// liveHeap is what the heap holds after a collection.
func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
