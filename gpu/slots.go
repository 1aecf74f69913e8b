package gpu

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// slots are the places for witnesses on the device, handed out in order of asking.
type slots struct {
	sem  *semaphore.Weighted
	mu   sync.Mutex
	free []int
}

func newSlots(n int) *slots {
	s := &slots{sem: semaphore.NewWeighted(int64(n))}
	for i := range n {
		s.free = append(s.free, i)
	}
	return s
}

// take waits for n slots at once.
func (s *slots) take(ctx context.Context, n int) ([]int, error) {
	if err := s.sem.Acquire(ctx, int64(n)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := len(s.free) - n
	got := append([]int(nil), s.free[at:]...)
	s.free = s.free[:at]
	return got, nil
}

func (s *slots) give(v []int) {
	s.mu.Lock()
	s.free = append(s.free, v...)
	s.mu.Unlock()
	s.sem.Release(int64(len(v)))
}
