package filgroth

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// Every kind and size has its number of partitions, and proofs of another number are refused before any key is looked for.
func TestPartitionCounts(t *testing.T) {
	ctx := context.Background()
	e, err := New(Config{Parameters: t.TempDir()})
	require.NoError(t, err)
	defer e.Close()
	one := [32]byte{1}
	check := func(partitions int, what string, verify func(proof []byte) error) {
		for _, n := range []int{0, 1, partitions - 1, partitions + 1, 10, 16} {
			if n != partitions {
				require.ErrorIs(t, verify(make([]byte, n*groth16.ProofSize)), ErrInput, "%s: %d proofs", what, n)
			}
		}
		err := verify(make([]byte, partitions*groth16.ProofSize))
		require.NotErrorIs(t, err, ErrInput, what)
		require.Error(t, err, "there are no keys")
	}
	for p := vanilla.SealProof(0); p < 15; p++ {
		check([5]int{1, 1, 1, 10, 10}[p%5], p.String(), func(b []byte) error {
			_, err := e.VerifySeal(ctx, SealVerifyInfo{Proof: p, CommR: one, CommD: one, Bytes: b})
			return err
		})
	}
	for p := range vanilla.UpdateProof(vanilla.UpdateProofs) {
		check([5]int{1, 4, 16, 16, 16}[p], p.String(), func(b []byte) error {
			_, err := e.VerifySectorUpdate(ctx, UpdateInfo{Proof: p, CommROld: one, CommRNew: one, CommDNew: one, Bytes: b})
			return err
		})
	}
	for p := range vanilla.PoStProof(vanilla.PoStProofs) {
		if p.Winning() {
			check(1, p.String(), func(b []byte) error {
				_, err := e.VerifyWinningPoSt(ctx, one, PoStProof{p, b}, PoStSector{1, one})
				return err
			})
			continue
		}
		per := [5]int{2, 2, 2, 2349, 2300}[p%5]
		for _, n := range []int{1, per, per + 1, 3 * per} {
			sectors := make([]PoStSector, n)
			for i := range sectors {
				sectors[i] = PoStSector{uint64(i), one}
			}
			check((n+per-1)/per, fmt.Sprintf("%v of %d sectors", p, n), func(b []byte) error {
				_, err := e.VerifyWindowPoSt(ctx, one, PoStProof{p, b}, sectors)
				return err
			})
		}
	}
}

// However slow the backend, no more witnesses live than the configuration allows.
func TestWitnessesInFlight(t *testing.T) {
	w := newSimWindow(t, 9) // five partitions
	for _, limit := range []int{1, 3} {
		b := &stepped{Backend: testCPU(), token: make(chan struct{})}
		e := developer(t, func(c *Config) {
			c.Backends, c.PartitionsInFlight, c.WitnessIdle = []NamedBackend{{"gpu0", b}}, limit, -1
		})
		done := make(chan error)
		go func() { _, _, err := w.prove(named("", PriorityNormal), e, 1, 9); done <- err }()
		for i := range 5 {
			live := min(limit, 5-i)
			eventually(t, "the next call", func() bool { return len(b.calls()) == i+1 && e.Status().Queued == live-1 })
			require.Equal(t, live, witnesses())
			b.token <- struct{}{}
		}
		require.NoError(t, <-done)
		require.Zero(t, witnesses())
		require.NoError(t, e.Close())
	}
}

func witnesses() int {
	for _, u := range pinning.Live() {
		if u.Purpose == "witness fields" {
			return u.Buffers
		}
	}
	return 0
}

// sharing is a backend that likes to be given several circuits at a time, and several calls; it counts the circuits of each.
type sharing struct {
	stepped
	per, inFlight int
}

func (s *sharing) CallsInFlight() int { return s.inFlight }

func (s *sharing) Bind(ctx context.Context, sys *synth.System, k *groth16.ProvingKey, c groth16.Config) (groth16.Session, error) {
	in, err := s.stepped.Bind(ctx, sys, k, c)
	return &sharingSession{in, s}, err
}

type sharingSession struct {
	groth16.Session
	s *sharing
}

func (s *sharingSession) CircuitsPerCall() int { return s.s.per }

func (s *sharingSession) Sums(ctx context.Context, a []*synth.Assignment) ([]groth16.Sums, error) {
	return s.Session.Sums(context.WithValue(ctx, jobName{}, strconv.Itoa(len(a))), a)
}

// A call has as many circuits as the configuration says, or as the session likes, once it is bound. How many have a witness
// when the first call is made is up to the scheduler; all others wait before the second.
func TestCircuitsPerCall(t *testing.T) {
	w := newSimWindow(t, 11) // six partitions
	for _, x := range []struct{ given, likes, first, then int }{{0, 3, 1, 3}, {0, 0, 1, 1}, {2, 3, 2, 2}} {
		b := &sharing{stepped{Backend: testCPU(), token: make(chan struct{})}, x.likes, 1}
		e := developer(t, func(c *Config) {
			c.Backends, c.PartitionsInFlight, c.Prover.CircuitsPerCall = []NamedBackend{{"gpu0", b}}, 6, x.given
		})
		done := make(chan error)
		go func() { _, _, err := w.prove(named("", PriorityNormal), e, 1, 11); done <- err }()
		for i, left := 0, 6; left > 0; i++ {
			eventually(t, "the next call", func() bool { return len(b.calls()) == i+1 })
			took, err := strconv.Atoi(b.calls()[i])
			require.NoError(t, err)
			if i == 0 {
				require.LessOrEqual(t, took, x.first)
			} else {
				require.Equal(t, min(x.then, left), took)
			}
			left -= took
			eventually(t, "all others wait", func() bool { return e.Status().Queued == left })
			b.token <- struct{}{}
		}
		require.NoError(t, <-done)
		require.NoError(t, e.Close())
	}
}

// sharedDir tells a process that TestProcessesShareADirectory has started where to work.
const sharedDir = "FILGROTH_TEST_SHARED_DIR"

// Several processes, with several engines each, make and use the keys of one directory at the same time: there are no locks.
func TestProcessesShareADirectory(t *testing.T) {
	dir := os.Getenv(sharedDir)
	child := dir != ""
	if testing.Short() && !child {
		t.Skip("makes a key in three processes at once; run without -short")
	}
	if !child {
		dir = t.TempDir()
	}
	w := newSimWindow(t, 1)
	var wg sync.WaitGroup
	errs := make(chan error, 4)
	for i := range 2 {
		wg.Add(1)
		go func() { defer wg.Done(); errs <- proveIn(dir, w, uint64(i)) }()
	}
	for range 2 {
		if child {
			break
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			c := exec.Command(os.Args[0], "-test.run=^TestProcessesShareADirectory$", "-test.short")
			c.Env = append(os.Environ(), sharedDir+"="+dir)
			out, err := c.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			errs <- err
		}()
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}

func proveIn(dir string, w *simWindow, miner uint64) error {
	e, err := New(Config{DevelopmentKeys: true, CacheDir: dir})
	if err != nil {
		return err
	}
	defer e.Close()
	p, _, err := w.prove(context.Background(), e, miner, 1)
	if err != nil {
		return err
	}
	ok, err := e.VerifyWindowPoSt(context.Background(), w.randomness, *p, w.sectors[:1])
	if err == nil && !ok {
		err = ErrRejected
	}
	return err
}
