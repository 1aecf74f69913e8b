package pinning

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBufferLife(t *testing.T) {
	before := Live()
	b, err := Alloc(10000, "test")
	require.NoError(t, err)
	s := Slice[uint64](b, 1250)
	for i := range s {
		require.Zero(t, s[i])
		s[i] = ^uint64(0)
	}
	require.Equal(t, int64(10000), LiveBytes()-bytesOf(before))
	closed := 0
	b.OnClose(func() { closed++ })
	require.NoError(t, b.Close())
	require.ErrorIs(t, b.Close(), ErrClosed)
	require.Equal(t, 1, closed)
	require.Equal(t, before, Live())

	e, err := AllocWith(0, "empty", Options{HugePages: true, Prefault: true})
	require.NoError(t, err)
	require.Nil(t, Slice[uint64](e, 0))
	require.NoError(t, e.Close())
	h, err := AllocWith(1<<20, "huge", Options{HugePages: true, Prefault: true})
	require.NoError(t, err)
	require.Panics(t, func() { Slice[uint64](h, 1<<17+1) })
	require.NoError(t, h.Close())

	_, err = Alloc(-1, "negative")
	var ae *AllocError
	require.ErrorAs(t, err, &ae)
	_, err = Alloc(1<<62, "absurd")
	require.ErrorAs(t, err, &ae)
	require.Equal(t, before, Live())
}

func bytesOf(u []Use) (n int64) {
	for _, x := range u {
		n += x.Bytes
	}
	return
}

func TestMapFile(t *testing.T) {
	dir := t.TempDir()
	_, err := MapFile(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	for _, n := range []int{0, 1, 4096, 5000} {
		p := filepath.Join(dir, "f")
		want := make([]byte, n)
		for i := range want {
			want[i] = byte(i)
		}
		require.NoError(t, os.WriteFile(p, want, 0o600))
		m, err := MapFile(p)
		require.NoError(t, err)
		require.Equal(t, len(want), len(m.Bytes()))
		require.Equal(t, string(want), string(m.Bytes()))
		require.NoError(t, m.Close())
		require.NoError(t, m.Close())
	}
	_, err = MapFile(dir)
	require.Error(t, err)
}

func TestBudgetServesInOrder(t *testing.T) {
	ctx := context.Background()
	b := NewBudget(100)
	_, err := b.Reserve(ctx, 101, "too much")
	var be *BudgetError
	require.ErrorAs(t, err, &be)
	require.ErrorIs(t, err, ErrBudget)
	require.Equal(t, int64(100), be.Have)

	first, err := b.Reserve(ctx, 60, "first")
	require.NoError(t, err)
	order := make(chan int, 2)
	var wg sync.WaitGroup
	wait := func(n int) { // until n requests wait
		for b.Stats().Waiting < n {
			time.Sleep(time.Millisecond)
		}
	}
	for i, n := range []int64{95, 10} { // the small one would fit, but came later
		wg.Add(1)
		go func() {
			defer wg.Done()
			r, err := b.Reserve(ctx, n, "waits")
			if err != nil {
				panic(err)
			}
			order <- i
			r.Release()
		}()
		wait(i + 1)
	}
	first.Shrink(50)
	require.Equal(t, int64(50), first.Bytes())
	require.Equal(t, 2, b.Stats().Waiting)
	first.Release()
	first.Release()
	wg.Wait()
	require.Equal(t, 0, <-order)
	require.Equal(t, BudgetStats{Total: 100, Used: 0, Peak: 95}, b.Stats())
}

func TestBudgetServesUrgentFirst(t *testing.T) {
	ctx := context.Background()
	b := NewBudget(10)
	hold, err := b.Reserve(ctx, 6, "held")
	require.NoError(t, err)
	served := make(chan string, 8)
	ask := func(name string, n int64, urgent bool) {
		waiting := b.Stats().Waiting
		go func() {
			reserve := b.Reserve
			if urgent {
				reserve = b.ReserveUrgent
			}
			r, err := reserve(ctx, n, name)
			if err != nil {
				name = err.Error()
			}
			served <- name
			r.Release()
		}()
		for b.Stats().Waiting == waiting {
			time.Sleep(time.Millisecond)
		}
	}
	ask("large", 8, false)
	r, err := b.ReserveUrgent(ctx, 4, "fits")
	require.NoError(t, err, "not kept by the large one that waits")
	ask("small", 1, false)
	ask("urgent 1", 9, true)
	ask("urgent 2", 9, true)
	_, err = b.ReserveUrgent(ctx, 11, "never")
	require.ErrorIs(t, err, ErrBudget)
	r.Release()
	require.Empty(t, served)
	hold.Release()
	require.Equal(t, []string{"urgent 1", "urgent 2"}, []string{<-served, <-served})
	require.ElementsMatch(t, []string{"large", "small"}, []string{<-served, <-served})
	for b.Stats().Used > 0 {
		time.Sleep(time.Millisecond)
	}
	require.Equal(t, BudgetStats{Total: 10, Peak: 10}, b.Stats())
}

func TestBudgetCancelledWait(t *testing.T) {
	b := NewBudget(10)
	r, err := b.Reserve(context.Background(), 10, "all")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := b.Reserve(ctx, 5, "cancelled")
		done <- err
	}()
	for b.Stats().Waiting == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Equal(t, 0, b.Stats().Waiting)
	r.Release()
	require.Zero(t, b.Stats().Used)
}

func TestBudgetNeverExceeded(t *testing.T) {
	b := NewBudget(1000)
	var wg sync.WaitGroup
	for g := 0; g < 8; g++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; i < 200; i++ {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%3)*100*time.Microsecond)
				r, err := b.Reserve(ctx, int64(1+(g*37+i*101)%999), "x")
				if err == nil {
					r.Shrink(r.Bytes() / 2)
					r.Release()
				} else if !errors.Is(err, context.DeadlineExceeded) {
					panic(err)
				}
				cancel()
			}
		}()
	}
	wg.Wait()
	st := b.Stats()
	require.LessOrEqual(t, st.Peak, int64(1000))
	require.Zero(t, st.Used)
	require.Zero(t, st.Waiting)
}
