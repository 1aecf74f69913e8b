package sched

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.t }
func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func pop(t *testing.T, q *Queue[int]) int {
	v, err := q.Pop(context.Background(), nil, nil, nil)
	require.NoError(t, err)
	require.Len(t, v, 1)
	return v[0]
}

func TestUrgentFirstThenInOrder(t *testing.T) {
	c := &clock{}
	q := NewQueue[int](time.Second, c.now)
	for i, p := range []Priority{0, 5, 0, 5, 9} {
		require.NoError(t, q.Push(i, p))
	}
	for _, want := range []int{4, 1, 3, 0, 2} {
		require.Equal(t, want, pop(t, q))
	}
}

func TestNothingStarves(t *testing.T) {
	c := &clock{}
	q := NewQueue[int](time.Second, c.now)
	require.NoError(t, q.Push(-1, 0))
	taken := -1
	for i := 0; i < 1000 && taken < 0; i++ { // an urgent item arrives for every one that leaves
		require.NoError(t, q.Push(i, 10))
		c.add(500 * time.Millisecond)
		if pop(t, q) == -1 {
			taken = i
		}
	}
	require.GreaterOrEqual(t, taken, 0, "the low item never ran")
	require.LessOrEqual(t, taken, 21, "priority 10 is passed after ten steps")
}

func TestPopTakesCompanions(t *testing.T) {
	q := NewQueue[int](0, nil)
	for _, v := range []int{11, 20, 13, 15, 17} {
		require.NoError(t, q.Push(v, 0))
	}
	same := func(a, b int) bool { return a%2 == b%2 }
	two := func(first int) int { return 2 * (first % 2) } // none for even ones
	v, err := q.Pop(context.Background(), nil, two, same)
	require.NoError(t, err)
	require.Equal(t, []int{11, 13, 15}, v)
	v, err = q.Pop(context.Background(), func(v int) bool { return v == 17 }, two, same)
	require.NoError(t, err)
	require.Equal(t, []int{17}, v)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = q.Pop(ctx, func(v int) bool { return v == 99 }, nil, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []int{20}, q.Remove(func(v int) bool { return true }))
	q.Close()
	q.Close()
	require.ErrorIs(t, q.Push(1, 1), ErrClosed)
	_, err = q.Pop(context.Background(), nil, nil, nil)
	require.ErrorIs(t, err, ErrClosed)
}

func TestPushAndCloseWake(t *testing.T) {
	q := NewQueue[int](0, nil)
	done := make(chan []int)
	go func() {
		v, _ := q.Pop(context.Background(), func(v int) bool { return v == 7 }, nil, nil)
		done <- v
	}()
	require.NoError(t, q.Push(6, 0))
	require.NoError(t, q.Push(7, 0))
	require.Equal(t, []int{7}, <-done)
	require.Equal(t, 6, pop(t, q))
	errs := make(chan error)
	go func() { _, err := q.Pop(context.Background(), nil, nil, nil); errs <- err }()
	q.Close()
	require.ErrorIs(t, <-errs, ErrClosed)
}

func TestSemaphoreWidthAndOrder(t *testing.T) {
	c := &clock{}
	s := NewSem(2, time.Second, c.now)
	ctx := context.Background()
	r1, err := s.Acquire(ctx, 0)
	require.NoError(t, err)
	r2, err := s.Acquire(ctx, 0)
	require.NoError(t, err)
	order := make(chan int, 3)
	var wg sync.WaitGroup
	for i, p := range []Priority{1, 3, 2} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r, err := s.Acquire(ctx, p)
			if err != nil {
				panic(err)
			}
			order <- i
			r()
		}()
		for s.Waiting() <= i {
			time.Sleep(time.Millisecond)
		}
	}
	cctx, cancel := context.WithCancel(ctx)
	gone := make(chan error)
	go func() { _, err := s.Acquire(cctx, 100); gone <- err }()
	for s.Waiting() < 4 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	r1()
	r1() // no effect
	wg.Wait()
	require.Equal(t, []int{1, 2, 0}, []int{<-order, <-order, <-order})
	r2()
	require.Zero(t, s.Waiting())
	require.Equal(t, 2, s.free)
}

func TestSemaphoreUnderCancellation(t *testing.T) {
	s := NewSem(3, time.Millisecond, nil)
	var in, worst atomic.Int32
	var wg sync.WaitGroup
	for g := 0; g < 16; g++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; i < 100; i++ {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration((g*7+i)%5)*50*time.Microsecond)
				if r, err := s.Acquire(ctx, Priority(i%3)); err == nil {
					if n := in.Add(1); n > worst.Load() {
						worst.Store(n)
					}
					in.Add(-1)
					r()
				}
				cancel()
			}
		}()
	}
	wg.Wait()
	require.LessOrEqual(t, worst.Load(), int32(3))
	require.Equal(t, 3, s.free)
	require.Zero(t, s.Waiting())
}
