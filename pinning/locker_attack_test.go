package pinning

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Who waits for the budget while the memory that fills it is in a loan gets its turn when that loan ends, though the memory
// would stay locked.
func TestLockerIdleMemoryGivesWayToWaiters(t *testing.T) {
	ctx := context.Background()
	for _, p := range []Policy{PolicyRegisterOnce, PolicyPool} {
		r := newLedger()
		l, err := NewLocker(r, Config{Policy: p}, NewBudget(10000))
		require.NoError(t, err)
		x, err := l.Use(ctx, filled(3000))
		require.NoError(t, err)
		errs := make(chan error)
		go func() {
			y, err := l.Use(ctx, filled(8000))
			if err == nil {
				err = y.Return()
			}
			errs <- err
		}()
		for l.budget.Stats().Waiting == 0 {
			time.Sleep(time.Millisecond)
		}
		require.NoError(t, x.Return())
		select {
		case err := <-errs:
			require.NoError(t, err)
		case <-time.After(time.Minute):
			t.Fatalf("%v: still waiting beside idle memory: %+v", p, l.Stats())
		}
		require.NoError(t, l.Close())
		require.Empty(t, r.locked)
	}
}

// gated is a registrar that can be held up while it unlocks.
type gated struct {
	*ledger
	unlocking, goOn chan struct{}
}

func (g *gated) Unregister(mem []byte, chunk int) error {
	if g.unlocking != nil {
		g.unlocking <- struct{}{}
		<-g.goOn
	}
	return g.ledger.Unregister(mem, chunk)
}

// Memory that is being unlocked is locked again after that, and its buffer is not closed before.
func TestLockerUseWhileUnlocking(t *testing.T) {
	ctx := context.Background()
	r := &gated{ledger: newLedger(), unlocking: make(chan struct{}), goOn: make(chan struct{})}
	l, err := NewLocker(r, Config{Policy: PolicyRegisterOnce}, nil)
	require.NoError(t, err)
	buf, err := Alloc(9000, "locked once")
	require.NoError(t, err)
	x, err := l.Use(ctx, buf.Bytes())
	require.NoError(t, err)
	require.NoError(t, x.Return())
	trimmed := make(chan error, 1)
	go func() { trimmed <- l.Trim() }()
	<-r.unlocking
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	_, err = l.Use(short, buf.Bytes())
	cancel()
	require.ErrorIs(t, err, context.DeadlineExceeded)
	again := make(chan error, 1)
	go func() {
		y, err := l.Use(ctx, buf.Bytes())
		if err == nil {
			err = y.Return()
		}
		again <- err
	}()
	for l.Stats().Loans == 0 {
		time.Sleep(time.Millisecond)
	}
	r.goOn <- struct{}{}
	require.NoError(t, <-trimmed)
	require.NoError(t, <-again, "locked once it was unlocked")
	require.Len(t, r.locked, 1)

	go func() { trimmed <- l.Trim() }()
	<-r.unlocking
	closed := make(chan error, 1)
	go func() { closed <- buf.Close() }()
	select {
	case <-closed:
		t.Fatal("the memory went while it was being unlocked")
	case <-time.After(20 * time.Millisecond):
	}
	r.goOn <- struct{}{}
	require.NoError(t, <-trimmed)
	require.NoError(t, <-closed)
	require.NoError(t, l.Close())
	require.Empty(t, r.locked)
}

// A buffer that is closed while it is in a loan is its owner's mistake, but no address stays on the list of what is locked:
// the next buffer there would be taken for locked.
func TestLockerBufferClosedInLoan(t *testing.T) {
	r := newLedger()
	before := LockedBytes()
	l, err := NewLocker(r, Config{Policy: PolicyRegisterOnce}, NewBudget(9000))
	require.NoError(t, err)
	buf, err := Alloc(9000, "locked once")
	require.NoError(t, err)
	x, err := l.Use(context.Background(), buf.Bytes())
	require.NoError(t, err)
	require.NoError(t, buf.Close())
	require.Empty(t, r.locked)
	require.Zero(t, l.Stats().Held)
	require.Zero(t, l.budget.Stats().Used)
	require.NoError(t, x.Return())
	require.NoError(t, l.Close())
	require.Equal(t, before, LockedBytes())
}

// Loans, trims, forgets and closes at the same time: nothing is locked twice, nothing is unlocked that is in a loan, nothing stays.
func TestLockerTrimmedAtRandom(t *testing.T) {
	before, live := LockedBytes(), LiveBytes()
	for _, p := range []Policy{PolicyRegisterOnce, PolicyPool, PolicyRegister} {
		r := newLedger()
		l, err := NewLocker(r, Config{Policy: p}, NewBudget(200000))
		require.NoError(t, err)
		mem := [][]byte{filled(5000), filled(7000), filled(9000), filled(20000)}
		stop := make(chan struct{})
		var trims, users sync.WaitGroup
		for i := range 2 {
			trims.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					if i == 0 {
						if err := l.Trim(); err != nil {
							t.Error(err)
						}
					} else {
						_ = l.Forget(mem[n%len(mem)]) // ErrInUse, often
					}
				}
			})
		}
		for g := range 4 {
			users.Go(func() {
				for i := range 100 {
					m := mem[(g+i)%len(mem)]
					if p == PolicyRegister { // whole buffers, one loan each
						m = filled(3000)
					}
					x, err := l.Use(context.Background(), m)
					if err != nil {
						t.Error(err)
						return
					}
					r.mu.Lock()
					if r.locked[&x.Mem[0]] == 0 {
						t.Error("a loan that is not locked")
					}
					r.mu.Unlock()
					if err := x.Return(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		users.Wait()
		close(stop)
		trims.Wait()
		require.NoError(t, l.Close())
		require.Empty(t, r.locked)
		require.Zero(t, l.budget.Stats().Used)
	}
	require.Equal(t, before, LockedBytes())
	require.Equal(t, live, LiveBytes())
}

// Requests that add up to more than an integer holds wait like others.
func TestBudgetOverflow(t *testing.T) {
	b := NewBudget(math.MaxInt64)
	var all []*Reservation
	for range 3 {
		r, err := b.Reserve(context.Background(), math.MaxInt64/3, "a third")
		require.NoError(t, err)
		all = append(all, r)
	}
	short, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := b.Reserve(short, math.MaxInt64, "all")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for _, r := range all {
		r.Release()
	}
	require.Zero(t, b.Stats().Used)
	_, err = b.Reserve(short, math.MaxInt64, "all")
	require.NoError(t, err)
}
