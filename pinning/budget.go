package pinning

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// BudgetError is a request that is larger than its whole budget: waiting would never help. It wraps ErrBudget.
type BudgetError struct {
	Purpose    string
	Need, Have int64
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("%v: %s needs %d bytes, the budget is %d", ErrBudget, e.Purpose, e.Need, e.Have)
}

func (e *BudgetError) Unwrap() error { return ErrBudget }

// Budget is a number of bytes that work reserves before it starts. Requests are served in order of arrival, so that a
// large one is not starved by small ones; urgent ones before the others. It counts what it is told; it allocates nothing.
type Budget struct {
	mu      sync.Mutex
	total   int64
	used    int64
	peak    int64
	waiters []*waiter
}

type waiter struct {
	n      int64
	urgent bool
	ready  chan struct{}
}

// NewBudget makes a budget of total bytes; see SystemMemory for what the machine has.
func NewBudget(total int64) *Budget { return &Budget{total: total} }

// Reservation is a part of a budget, to be released once.
type Reservation struct {
	b *Budget
	n int64
}

// Reserve waits until n bytes are free. A request over the total is a *BudgetError at once; a cancelled wait is ctx.Err().
func (b *Budget) Reserve(ctx context.Context, n int64, purpose string) (*Reservation, error) {
	return b.reserve(ctx, n, purpose, false)
}

// ReserveUrgent is Reserve that is served before all requests that are not urgent. Who asks so all the time starves them.
func (b *Budget) ReserveUrgent(ctx context.Context, n int64, purpose string) (*Reservation, error) {
	return b.reserve(ctx, n, purpose, true)
}

func (b *Budget) reserve(ctx context.Context, n int64, purpose string, urgent bool) (*Reservation, error) {
	if n < 0 {
		return nil, &BudgetError{purpose, n, b.total}
	}
	b.mu.Lock()
	if n > b.total {
		b.mu.Unlock()
		return nil, &BudgetError{purpose, n, b.total}
	}
	if len(b.waiters) == 0 && n <= b.total-b.used {
		b.take(n)
		b.mu.Unlock()
		return &Reservation{b, n}, nil
	}
	w := &waiter{n, urgent, make(chan struct{})}
	at := len(b.waiters)
	if urgent {
		for at = 0; at < len(b.waiters) && b.waiters[at].urgent; {
			at++
		}
	}
	b.waiters = slices.Insert(b.waiters, at, w)
	b.serve() // what stood in front of an urgent one may have been all that it waited for
	b.mu.Unlock()
	select {
	case <-w.ready:
		return &Reservation{b, n}, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, x := range b.waiters {
		if x == w {
			b.waiters = append(b.waiters[:i], b.waiters[i+1:]...)
			b.serve() // those behind may fit now
			return nil, ctx.Err()
		}
	}
	b.used -= n // served in the meantime
	b.serve()
	return nil, ctx.Err()
}

func (b *Budget) take(n int64) {
	b.used += n
	b.peak = max(b.peak, b.used)
}

func (b *Budget) serve() {
	for len(b.waiters) > 0 && b.waiters[0].n <= b.total-b.used {
		w := b.waiters[0]
		b.waiters = b.waiters[1:]
		b.take(w.n)
		close(w.ready)
	}
}

// Shrink gives all but n bytes back, for work that has freed some of its memory. A larger n is ignored.
func (r *Reservation) Shrink(n int64) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	if n >= r.n || n < 0 {
		return
	}
	r.b.used -= r.n - n
	r.n = n
	r.b.serve()
}

// Release gives everything back; further calls do nothing.
func (r *Reservation) Release() { r.Shrink(0) }

// Bytes is what the reservation still holds.
func (r *Reservation) Bytes() int64 {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	return r.n
}

// BudgetStats is a budget at one moment.
type BudgetStats struct {
	Total, Used, Peak int64
	Waiting           int
}

// Stats reads the counters.
func (b *Budget) Stats() BudgetStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return BudgetStats{b.total, b.used, b.peak, len(b.waiters)}
}
