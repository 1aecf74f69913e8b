package pinning

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ledger is a registrar that checks its calls.
type ledger struct {
	mu     sync.Mutex
	locked map[*byte]int
	calls  int
	fail   int // the call of Register that fails, counted from 1
	wait   chan struct{}
}

var errLocking = errors.New("cannot lock")

func newLedger() *ledger { return &ledger{locked: map[*byte]int{}} }

func (l *ledger) Register(mem []byte, _ int) error {
	if l.wait != nil {
		<-l.wait
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if l.calls == l.fail {
		return errLocking
	}
	if l.locked[&mem[0]] != 0 {
		return errors.New("locked already")
	}
	l.locked[&mem[0]] = len(mem)
	return nil
}

func (l *ledger) Unregister(mem []byte, _ int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.locked[&mem[0]] != len(mem) {
		return errors.New("not locked")
	}
	delete(l.locked, &mem[0])
	return nil
}

func filled(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

// What each policy locks, how often, and that everything is given back.
func TestLockerPolicies(t *testing.T) {
	ctx := context.Background()
	before, live := LockedBytes(), LiveBytes()
	for p, want := range map[Policy]struct {
		calls int
		held  int64
	}{
		PolicyAuto: {}, PolicyNone: {}, PolicyRing: {}, PolicyRegister: {calls: 6}, PolicyRegisterOnce: {2, 12000}, PolicyPool: {2, 12000},
	} {
		r := newLedger()
		l, err := NewLocker(r, Config{Policy: p}, NewBudget(1<<20))
		require.NoError(t, err)
		mem := [][]byte{filled(8000), filled(4000)}
		for range 3 {
			var loans []*Loan
			for _, m := range mem {
				x, err := l.Use(ctx, m)
				require.NoError(t, err)
				require.Equal(t, m, x.Mem)
				require.Equal(t, p != PolicyPool, &m[0] == &x.Mem[0], p)
				_, isLocked := r.locked[&x.Mem[0]]
				require.Equal(t, want.calls > 0, isLocked, p)
				loans = append(loans, x)
			}
			require.Equal(t, 2, l.Stats().Loans)
			require.ErrorIs(t, l.Close(), ErrInUse)
			for _, x := range loans {
				require.NoError(t, x.Return())
				require.ErrorIs(t, x.Return(), ErrClosed)
			}
		}
		st := l.Stats()
		require.Equal(t, want.calls, r.calls, p)
		require.Equal(t, int64(want.calls), st.Lock.Calls, p)
		require.Equal(t, want.held, st.Held, p)
		require.Equal(t, want.held, LockedBytes()-before)
		empty, err := l.Use(ctx, nil)
		require.NoError(t, err)
		require.NoError(t, empty.Return())
		require.NoError(t, l.Close())
		require.ErrorIs(t, l.Close(), ErrClosed)
		_, err = l.Use(ctx, mem[0])
		require.ErrorIs(t, err, ErrClosed)
		require.Empty(t, r.locked)
		require.Equal(t, l.Stats().Lock.Bytes, l.Stats().Unlock.Bytes)
		require.Equal(t, before, LockedBytes())
		require.Equal(t, live, LiveBytes())
		require.Zero(t, l.budget.Stats().Used)
	}
	_, err := NewLocker(newLedger(), Config{Policy: 99}, nil)
	require.ErrorIs(t, err, ErrConfig)
}

func TestLockerFailures(t *testing.T) {
	ctx := context.Background()
	live := LiveBytes()
	for _, p := range []Policy{PolicyRegister, PolicyRegisterOnce, PolicyPool} {
		r := newLedger()
		r.fail = 1
		l, err := NewLocker(r, Config{Policy: p}, NewBudget(10000))
		require.NoError(t, err)
		l.limit = func() int64 { return -1 }
		_, err = l.Use(ctx, filled(5000))
		require.ErrorIs(t, err, errLocking)
		require.NotErrorAs(t, err, new(*LockLimitError))
		require.Equal(t, int64(1), l.Stats().Lock.Failed)
		r.fail = 2
		l.limit = func() int64 { return LockedBytes() + 4999 }
		_, err = l.Use(ctx, filled(5000))
		var limit *LockLimitError
		require.ErrorAs(t, err, &limit)
		require.ErrorIs(t, err, errLocking)
		require.Equal(t, int64(5000), limit.Need)
		_, err = l.Use(ctx, filled(10001))
		require.ErrorIs(t, err, ErrBudget)
		require.Zero(t, l.budget.Stats().Used)
		x, err := l.Use(ctx, filled(5000))
		require.NoError(t, err, "a failure leaves it usable")
		require.NoError(t, x.Return())
		require.NoError(t, l.Close())
		require.Empty(t, r.locked)
		require.Equal(t, live, LiveBytes())
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		_, err = l.Use(cancelled, nil)
		require.ErrorIs(t, err, context.Canceled)
	}
}

// Memory that stays locked makes room for other memory when the budget is used up, unless it is in a loan: then the other waits.
func TestLockerBudget(t *testing.T) {
	ctx := context.Background()
	for _, p := range []Policy{PolicyRegisterOnce, PolicyPool} {
		r := newLedger()
		l, err := NewLocker(r, Config{Policy: p}, NewBudget(10000))
		require.NoError(t, err)
		a, b := filled(3000), filled(8000)
		x, err := l.Use(ctx, a)
		require.NoError(t, err)
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		_, err = l.Use(short, b)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, x.Return())
		y, err := l.Use(ctx, b)
		require.NoError(t, err, "what is idle gives way")
		require.Len(t, r.locked, 1)
		require.NoError(t, y.Return())
		require.NoError(t, l.Close())
		require.Empty(t, r.locked)
	}
}

func TestLockerOnce(t *testing.T) {
	ctx := context.Background()
	r := newLedger()
	l, err := NewLocker(r, Config{Policy: PolicyRegisterOnce}, nil)
	require.NoError(t, err)
	mem := filled(9000)
	x, err := l.Use(ctx, mem)
	require.NoError(t, err)
	y, err := l.Use(ctx, mem[100:200])
	require.NoError(t, err)
	require.Equal(t, 1, r.calls, "a part of what is locked")
	require.ErrorIs(t, l.Forget(mem), ErrInUse)
	require.NoError(t, x.Return())
	require.NoError(t, y.Return())
	require.NoError(t, l.Forget(filled(10)))
	require.Len(t, r.locked, 1)
	require.NoError(t, l.Forget(mem))
	require.Empty(t, r.locked)
	require.NoError(t, l.Close())

	// A buffer that is closed is forgotten; a locker that is closed no longer hears of it.
	for _, bufferFirst := range []bool{true, false} {
		r = newLedger()
		l, err = NewLocker(r, Config{Policy: PolicyRegisterOnce}, nil)
		require.NoError(t, err)
		buf, err := Alloc(9000, "locked once")
		require.NoError(t, err)
		x, err = l.Use(ctx, buf.Bytes())
		require.NoError(t, err)
		require.NoError(t, x.Return())
		require.Len(t, r.locked, 1)
		if bufferFirst {
			require.NoError(t, buf.Close())
			require.Empty(t, r.locked)
			require.Zero(t, l.Stats().Held)
			require.NoError(t, l.Close())
			continue
		}
		require.NoError(t, l.Close())
		require.Empty(t, r.locked)
		require.NoError(t, buf.Close())
	}

	// Who waits for a lock that another gives up on takes it over.
	r = newLedger()
	l, err = NewLocker(r, Config{Policy: PolicyRegisterOnce}, NewBudget(9000))
	require.NoError(t, err)
	full, err := l.budget.Reserve(ctx, 9000, "another")
	require.NoError(t, err)
	first, cancel := context.WithCancel(ctx)
	errs := make(chan error, 2)
	go func() { _, err := l.Use(first, mem); errs <- err }()
	for l.budget.Stats().Waiting == 0 {
		time.Sleep(time.Millisecond)
	}
	got := make(chan *Loan, 1)
	go func() {
		x, err := l.Use(ctx, mem)
		errs <- err
		got <- x
	}()
	for l.Stats().Loans < 2 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	require.ErrorIs(t, <-errs, context.Canceled)
	full.Release()
	require.NoError(t, <-errs)
	require.NoError(t, (<-got).Return())
	require.NoError(t, l.Close())
	require.Empty(t, r.locked)
}

// Loans of many goroutines, some of them given up: nothing is locked twice or stays.
func TestLockerConcurrent(t *testing.T) {
	for _, p := range []Policy{PolicyRegisterOnce, PolicyPool} {
		r := newLedger()
		l, err := NewLocker(r, Config{Policy: p}, NewBudget(40000))
		require.NoError(t, err)
		mem := [][]byte{filled(5000), filled(7000), filled(9000), filled(20000)}
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := range 60 {
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+i%5)*200*time.Microsecond)
					x, err := l.Use(ctx, mem[(g*31+i)%len(mem)])
					cancel()
					if err == nil {
						err = x.Return()
					}
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				}
			}()
		}
		wg.Wait()
		require.NoError(t, l.Close())
		require.Empty(t, r.locked)
		require.Zero(t, l.budget.Stats().Used)
	}
}
