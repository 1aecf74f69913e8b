package pinning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// ErrInUse: a Locker was closed, or memory forgotten, while a Loan is out.
var ErrInUse = errors.New("pinning: memory in use")

// Registrar page-locks memory, in pieces of at most chunk bytes (0: its own choice). After a failed Register nothing stays locked.
// What is locked at the same time should not share a page, which drivers refuse: lock whole buffers.
// gpu.Device is one, HostLock another.
type Registrar interface {
	Register(mem []byte, chunk int) error
	Unregister(mem []byte, chunk int) error
}

// LockLimitError is a registration that failed where RLIMIT_MEMLOCK would be exceeded. Drivers that pin pages themselves do not
// count against that limit, so that it explains a failure but never forbids an attempt.
type LockLimitError struct {
	Need, Held, Limit int64 // bytes
	Err               error // what the registrar said
}

func (e *LockLimitError) Error() string {
	return fmt.Sprintf("pinning: locking %d bytes beside %d: the process may lock %d (RLIMIT_MEMLOCK): %v", e.Need, e.Held, e.Limit, e.Err)
}

func (e *LockLimitError) Unwrap() error { return e.Err }

// lockedBytes is what all Lockers of the process hold.
var lockedBytes atomic.Int64

// LockedBytes is what all Lockers of the process hold locked at the moment; tests compare it before and after to find leaks.
func LockedBytes() int64 { return lockedBytes.Load() }

// Locker makes host memory ready for transfers under one policy, within a budget, and counts what that costs. It is safe for
// concurrent use; it must be closed by its owner, when no Loan is out.
type Locker struct {
	r      Registrar
	c      Config
	budget *Budget
	limit  func() int64

	mu     sync.Mutex
	held   []*locked // once: by first use; pool: those of the pool
	loans  int
	closed bool
	lock   meter
	unlock meter
	copies meter
}

// locked is memory that stays locked between loans.
type locked struct {
	mem   []byte
	buf   *Buffer // of the pool; nil where mem is the caller's
	uses  int
	room  *Reservation
	ready chan struct{} // closed when it is locked, or failed to be
	err   error
	stay  func()        // takes back what the owner's Close would do
	gone  chan struct{} // not nil while it is being unlocked; closed then
}

// NewLocker makes a Locker. PolicyAuto, PolicyNone and PolicyRing lock nothing here: a ring belongs to the backend that copies through
// it. A nil budget is no limit. A budget should be the Locker's own: what another one keeps locked and idle does not give way.
func NewLocker(r Registrar, c Config, budget *Budget) (*Locker, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Locker{r: r, c: c, budget: budget, limit: LockLimit}, nil
}

// Loan is memory that is ready for transfers until Return.
type Loan struct {
	// Mem is what transfers should use: the caller's memory, or a locked copy of it (PolicyPool), of which the owner of the loan
	// copies results back.
	Mem   []byte
	owner *Locker
	at    *locked
	room  *Reservation
	done  bool
}

// Use makes mem ready. With a budget it may wait; an error leaves nothing locked. Return the loan once.
func (l *Locker) Use(ctx context.Context, mem []byte) (*Loan, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := l.begin(); err != nil {
		return nil, err
	}
	x := &Loan{Mem: mem, owner: l}
	var err error
	if len(mem) > 0 {
		switch l.c.Policy {
		case PolicyRegister:
			if x.room, err = l.reserve(ctx, len(mem)); err == nil {
				err = l.register(mem)
			}
		case PolicyRegisterOnce:
			x.at, err = l.once(ctx, mem)
		case PolicyPool:
			if x.at, err = l.pooled(ctx, len(mem)); err == nil {
				x.Mem = x.at.mem[:len(mem):len(mem)]
				l.copies.measure(len(mem), func() error { copy(x.Mem, mem); return nil })
			}
		}
	}
	if err != nil {
		x.room.give()
		l.end()
		return nil, err
	}
	return x, nil
}

// Return ends a loan; a second one is ErrClosed.
func (x *Loan) Return() (err error) {
	if x.done {
		return fmt.Errorf("%w: loan", ErrClosed)
	}
	x.done = true
	l := x.owner
	if l.c.Policy == PolicyRegister && len(x.Mem) > 0 {
		err = l.unregister(x.Mem)
	}
	x.room.give()
	if x.at != nil {
		l.put(x.at)
	}
	l.end()
	return err
}

func (l *Locker) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return fmt.Errorf("%w: locker", ErrClosed)
	}
	l.loans++
	return nil
}

func (l *Locker) end() {
	l.mu.Lock()
	l.loans--
	l.mu.Unlock()
}

func (l *Locker) reserve(ctx context.Context, n int) (*Reservation, error) {
	if l.budget == nil {
		return nil, nil
	}
	return l.budget.Reserve(ctx, int64(n), "page-locked memory")
}

func (r *Reservation) give() {
	if r != nil {
		r.Release()
	}
}

func (l *Locker) register(mem []byte) error {
	err := l.lock.measure(len(mem), func() error { return l.r.Register(mem, int(l.c.ChunkBytes)) })
	if err == nil {
		lockedBytes.Add(int64(len(mem)))
		return nil
	}
	if limit, held := l.limit(), LockedBytes(); limit >= 0 && held+int64(len(mem)) > limit {
		return &LockLimitError{Need: int64(len(mem)), Held: held, Limit: limit, Err: err}
	}
	return err
}

func (l *Locker) unregister(mem []byte) error {
	lockedBytes.Add(-int64(len(mem)))
	return l.unlock.measure(len(mem), func() error { return l.r.Unregister(mem, int(l.c.ChunkBytes)) })
}

// once finds memory that holds mem and is locked, or locks mem.
func (l *Locker) once(ctx context.Context, mem []byte) (*locked, error) {
	l.mu.Lock()
	for _, h := range l.held {
		if !within(mem, h.mem) {
			continue
		}
		if h.gone != nil { // locked again before that it would be locked twice, or not at all
			l.mu.Unlock()
			select {
			case <-h.gone:
				return l.once(ctx, mem)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		h.uses++
		l.mu.Unlock()
		switch err := await(ctx, h); {
		case err == nil:
			return h, nil
		case ctx.Err() == nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
			return l.once(ctx, mem) // the one that was locking it gave up, we did not
		default:
			l.put(h)
			return nil, err
		}
	}
	h := &locked{mem: mem, uses: 1, ready: make(chan struct{})}
	l.held = append(l.held, h)
	l.mu.Unlock()
	err := l.fill(ctx, h, func() error { return l.register(mem) })
	if o := Owner(mem); err == nil && o != nil {
		stay, _ := o.BeforeClose(func() { _ = l.drop(func(x *locked) bool { return x == h }, dropAll) })
		l.mu.Lock()
		h.stay = stay
		l.mu.Unlock()
	}
	return h, err
}

// await waits until another use has locked h.
func await(ctx context.Context, h *locked) error {
	select {
	case <-h.ready:
		return h.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// put ends a use. What nobody uses any more makes room for those who wait.
func (l *Locker) put(h *locked) {
	l.mu.Lock()
	h.uses--
	idle := h.uses == 0
	l.mu.Unlock()
	if idle && l.budget != nil && l.budget.Stats().Waiting > 0 {
		_ = l.Trim() // what cannot be unlocked has nobody to tell here
	}
}

// fill reserves room for h and makes it ready; on failure h is dropped.
func (l *Locker) fill(ctx context.Context, h *locked, f func() error) (err error) {
	defer close(h.ready)
	if l.budget != nil {
		if st := l.budget.Stats(); st.Used+int64(len(h.mem)) > st.Total {
			err = l.Trim() // what is idle must not keep others waiting for ever
		}
	}
	if err == nil {
		if h.room, err = l.reserve(ctx, len(h.mem)); err == nil {
			err = f()
		}
	}
	if err != nil {
		h.err = err
		h.room.give()
		l.mu.Lock()
		l.held = slices.DeleteFunc(l.held, func(x *locked) bool { return x == h })
		l.mu.Unlock()
	}
	return err
}

// pooled takes the smallest idle buffer of at least n bytes that is not twice as large, or makes one.
func (l *Locker) pooled(ctx context.Context, n int) (*locked, error) {
	l.mu.Lock()
	var best *locked
	for _, h := range l.held {
		if h.uses == 0 && h.gone == nil && h.buf != nil && len(h.mem) >= n && len(h.mem)/2 <= n && (best == nil || len(h.mem) < len(best.mem)) {
			best = h
		}
	}
	if best != nil {
		best.uses++
		l.mu.Unlock()
		return best, nil
	}
	l.mu.Unlock()
	buf, err := AllocWith(n, "page-locked pool", Options{HugePages: true, Node: l.c.Node})
	if err != nil {
		return nil, err
	}
	h := &locked{mem: buf.Bytes(), buf: buf, uses: 1, ready: make(chan struct{})}
	l.mu.Lock()
	l.held = append(l.held, h)
	l.mu.Unlock()
	if err := l.fill(ctx, h, func() error { return l.register(h.mem) }); err != nil {
		return nil, errors.Join(err, buf.Close())
	}
	return h, nil
}

// within says whether a lies in b.
func within(a, b []byte) bool {
	from, at := uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(unsafe.Pointer(unsafe.SliceData(a)))
	return at >= from && at+uintptr(len(a)) <= from+uintptr(len(b))
}

// Forget unlocks what PolicyRegisterOnce locked of mem, before its owner gives the memory back; a Buffer of this package does so
// itself when it is closed. What is in a loan is ErrInUse.
func (l *Locker) Forget(mem []byte) error {
	return l.drop(func(h *locked) bool { return h.buf == nil && within(h.mem, mem) }, dropStrict)
}

// Trim unlocks what stays locked but is in no loan.
func (l *Locker) Trim() error { return l.drop(func(*locked) bool { return true }, dropIdle) }

// How drop treats memory in a loan: left alone, an error, or dropped too because it goes away whatever the loan says.
const (
	dropIdle = iota
	dropStrict
	dropAll
)

// drop gives memory back. What another call gives back at the moment it waits for.
func (l *Locker) drop(which func(*locked) bool, mode int) error {
	l.mu.Lock()
	var out, others []*locked
	var errs []error
	for _, h := range l.held {
		switch {
		case !which(h):
		case h.gone != nil:
			others = append(others, h)
		case h.uses > 0 && mode == dropStrict:
			errs = append(errs, fmt.Errorf("%w: %d bytes in %d loans", ErrInUse, len(h.mem), h.uses))
		case h.uses == 0 || mode == dropAll:
			h.gone = make(chan struct{})
			out = append(out, h)
		}
	}
	l.mu.Unlock()
	for _, h := range out {
		errs = append(errs, l.unregister(h.mem))
		if h.stay != nil { // only now: an owner that closes the memory meanwhile has to wait
			h.stay()
		}
		l.mu.Lock()
		l.held = slices.DeleteFunc(l.held, func(x *locked) bool { return x == h })
		l.mu.Unlock()
		close(h.gone)
		if h.buf != nil {
			errs = append(errs, h.buf.Close())
		}
		h.room.give()
	}
	for _, h := range others {
		<-h.gone
	}
	return errors.Join(errs...)
}

// Close unlocks everything. While a loan is out it is ErrInUse and does nothing; a second Close is ErrClosed.
func (l *Locker) Close() error {
	l.mu.Lock()
	switch {
	case l.closed:
		l.mu.Unlock()
		return fmt.Errorf("%w: locker", ErrClosed)
	case l.loans > 0:
		n := l.loans
		l.mu.Unlock()
		return fmt.Errorf("%w: %d loans are out", ErrInUse, n)
	}
	l.closed = true
	l.mu.Unlock()
	return l.Trim()
}

// LockerStats is what a Locker did so far, and what it holds.
type LockerStats struct {
	Lock   Counters `json:"lock"`
	Unlock Counters `json:"unlock"`
	Copies Counters `json:"copies"`     // into memory of the pool
	Held   int64    `json:"held_bytes"` // stay locked between loans
	Loans  int      `json:"loans"`
}

// Stats reads the counters.
func (l *Locker) Stats() LockerStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := LockerStats{Lock: l.lock.read(), Unlock: l.unlock.read(), Copies: l.copies.read(), Loans: l.loans}
	for _, h := range l.held {
		s.Held += int64(len(h.mem))
	}
	return s
}
