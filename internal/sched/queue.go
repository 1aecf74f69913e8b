// Package sched orders work by priority with ageing: urgent work first, and nothing waits for ever.
package sched

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrClosed: the queue was closed while or before an item waited.
var ErrClosed = errors.New("sched: queue closed")

// Priority of an item; higher is more urgent.
type Priority int

// Item is something that waits in a Queue.
type Item[T any] struct {
	Value    T
	Priority Priority
	since    time.Time
	seq      uint64
}

// Queue is an unbounded priority queue with ageing: an item gains one priority for each Step that it has waited, so that it
// passes any stream of more urgent items within a bounded time. Items of equal standing leave in order of arrival.
type Queue[T any] struct {
	// Step is the waiting time that is worth one priority; 0 means no ageing.
	step time.Duration
	now  func() time.Time

	mu     sync.Mutex
	items  []Item[T]
	seq    uint64
	wake   chan struct{} // closed and renewed at every change
	closed bool
}

// NewQueue makes a queue with the given ageing step. now is the clock; nil is time.Now.
func NewQueue[T any](step time.Duration, now func() time.Time) *Queue[T] {
	if now == nil {
		now = time.Now
	}
	return &Queue[T]{step: step, now: now, wake: make(chan struct{})}
}

// Push adds v.
func (q *Queue[T]) Push(v T, p Priority) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	q.seq++
	q.items = append(q.items, Item[T]{v, p, q.now(), q.seq})
	q.changed()
	return nil
}

func (q *Queue[T]) changed() {
	close(q.wake)
	q.wake = make(chan struct{})
}

// Pop waits for an item that accept (nil: any) lets through (asked again at every change of the queue) and removes the most urgent of them, together with up to
// more(first) others (nil: none), in order of urgency, for which with(first, other) holds. The functions are called under the
// queue's lock. ErrClosed once the queue is closed and empty.
func (q *Queue[T]) Pop(ctx context.Context, accept func(T) bool, more func(first T) int, with func(first, other T) bool) ([]T, error) {
	for {
		q.mu.Lock()
		if i := q.best(accept); i >= 0 {
			res := []T{q.remove(i)}
			for others := 0; more != nil && others < more(res[0]); others++ {
				j := q.best(func(v T) bool { return (accept == nil || accept(v)) && with(res[0], v) })
				if j < 0 {
					break
				}
				res = append(res, q.remove(j))
			}
			q.mu.Unlock()
			return res, nil
		}
		if q.closed {
			q.mu.Unlock()
			return nil, ErrClosed
		}
		wake := q.wake
		q.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// best is the index of the most urgent acceptable item, or -1.
func (q *Queue[T]) best(accept func(T) bool) int {
	now, at := q.now(), -1
	var top float64
	for i := range q.items {
		x := &q.items[i]
		if accept != nil && !accept(x.Value) {
			continue
		}
		u := float64(x.Priority)
		if q.step > 0 {
			u += float64(now.Sub(x.since)) / float64(q.step)
		}
		if at < 0 || u > top || u == top && x.seq < q.items[at].seq {
			at, top = i, u
		}
	}
	return at
}

func (q *Queue[T]) remove(i int) T {
	v := q.items[i].Value
	q.items = slices.Delete(q.items, i, i+1) // which also forgets it
	return v
}

// Remove takes out the items that match and returns them, for work that was cancelled.
func (q *Queue[T]) Remove(match func(T) bool) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	var res []T
	for i := 0; i < len(q.items); {
		if match(q.items[i].Value) {
			res = append(res, q.remove(i))
			continue
		}
		i++
	}
	return res
}

// Wake makes those that wait in Pop ask accept again, after something that it looks at has changed.
func (q *Queue[T]) Wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed()
}

// Len is the number of items.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items)
}

// Close refuses further items; those that wait can still be taken.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		q.changed()
	}
}

// Sem is a counting semaphore that serves waiters by urgency.
type Sem struct {
	q     *Queue[chan struct{}]
	mu    sync.Mutex
	width int
	free  int
}

// NewSem makes a semaphore of width n.
func NewSem(n int, step time.Duration, now func() time.Time) *Sem {
	return &Sem{q: NewQueue[chan struct{}](step, now), width: n, free: n}
}

// Acquire waits for a place; release gives it back, once.
func (s *Sem) Acquire(ctx context.Context, p Priority) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	s.mu.Lock()
	if s.free > 0 && s.q.Len() == 0 {
		s.free--
		s.mu.Unlock()
		return s.releaser(), nil
	}
	err = s.q.Push(ready, p)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case <-ready:
		return s.releaser(), nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	removed := s.q.Remove(func(c chan struct{}) bool { return c == ready })
	s.mu.Unlock()
	if len(removed) == 0 { // served in the meantime
		s.put()
	}
	return nil, ctx.Err()
}

func (s *Sem) releaser() func() {
	var once sync.Once
	return func() { once.Do(s.put) }
}

// Grow widens the semaphore to n places, if it has fewer.
func (s *Sem) Grow(n int) {
	s.mu.Lock()
	more := n - s.width
	s.width = max(s.width, n)
	s.mu.Unlock()
	for range more {
		s.put()
	}
}

func (s *Sem) put() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.q.mu.Lock()
	i := s.q.best(nil)
	var next chan struct{}
	if i >= 0 {
		next = s.q.remove(i)
	}
	s.q.mu.Unlock()
	if next == nil {
		s.free++
		return
	}
	close(next)
}

// Waiting is the number of waiters.
func (s *Sem) Waiting() int { return s.q.Len() }
