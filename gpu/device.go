package gpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// Device is one open CUDA device. It is safe for concurrent use: calls are served one after another, by a thread of its
// own. Close it to give its memory back.
type Device struct {
	lib  native
	info DeviceInfo
	opts Options
	h    handle

	// choose, for tests, says which plans may be taken.
	choose func(*sessionConfig) bool

	jobs chan *job
	done chan struct{} // closed when the thread has ended

	binding chan struct{} // holds a value while a session is planned and filled

	mu       sync.Mutex
	closed   bool
	sessions map[*session]uint64 // that are open, with the scratch memory that each needs at least
}

type job struct {
	run  func() error
	err  error
	done chan struct{}
	last bool // the thread ends with it
}

// Open opens a device. What is missing is a *LibraryError or *DeviceError.
func Open(o Options) (*Device, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	lib, err := open(o.Library)
	if err != nil {
		return nil, err
	}
	return openOn(lib, o)
}

func openOn(lib native, o Options) (*Device, error) {
	_, _, n, res := lib.versions()
	if err := res.err(-1); err != nil {
		return nil, err
	}
	if o.Ordinal >= n {
		return nil, &DeviceError{ErrNoDevice, o.Ordinal, fmt.Sprintf("there are %d", n)}
	}
	d := &Device{lib: lib, opts: o, jobs: make(chan *job), done: make(chan struct{}), binding: make(chan struct{}, 1)}
	go d.serve()
	err := d.do(context.Background(), func(*int32) result {
		info, res := lib.query(o.Ordinal)
		if res.code != codeOK {
			return res
		}
		d.info = info
		d.h, res = lib.deviceOpen(o.Ordinal, uint64(o.MemoryBudget))
		return res
	})
	if err != nil {
		d.end(func() error { return nil })
		return nil, err
	}
	return d, nil
}

// Info describes the device as it was when it was opened.
func (d *Device) Info() DeviceInfo { return d.info }

// String names the device in reports and spans.
func (d *Device) String() string { return fmt.Sprintf("gpu%d", d.opts.Ordinal) }

// Held is what the library holds on this device, for all Devices of its number in the process.
func (d *Device) Held() BytesHeld { return d.lib.held(d.opts.Ordinal) }

// ResetPeak starts a new measurement of BytesHeld.DevicePeak.
func (d *Device) ResetPeak() { d.lib.resetPeak(d.opts.Ordinal) }

// InjectFault makes the n-th checked CUDA call of the process from now on fail; 0 takes that back. FaultPending says
// whether it is still to come. For tests of error paths.
func (d *Device) InjectFault(n int64) { d.lib.faultSet(n) }

// FaultPending is described at InjectFault.
func (d *Device) FaultPending() bool { return d.lib.faultLeft() > 0 }

// Trim gives back scratch memory and twiddles that later calls would use again.
func (d *Device) Trim() error {
	return d.do(context.Background(), func(*int32) result { return d.lib.deviceTrim(d.h) })
}

// Close waits for running calls and gives everything back. Sessions must be closed before. A second Close is ErrClosed.
func (d *Device) Close() error {
	d.mu.Lock()
	n, was := len(d.sessions), d.closed
	d.closed = d.closed || n == 0
	d.mu.Unlock()
	switch {
	case was:
		return ErrClosed
	case n > 0:
		return fmt.Errorf("gpu: %d sessions are open on device %d", n, d.opts.Ordinal)
	}
	return d.end(func() error { d.lib.deviceClose(d.h); return nil })
}

// end runs the thread's last job. Calls that still wait for the device find it closed.
func (d *Device) end(f func() error) error {
	j := &job{run: f, done: make(chan struct{}), last: true}
	d.jobs <- j
	<-d.done
	return j.err
}

// enter notes an open session, so that the device is not closed under it.
func (d *Device) enter(s *session) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	if d.sessions == nil {
		d.sessions = map[*session]uint64{}
	}
	d.sessions[s] = 0
	return nil
}

// leave forgets a session.
func (d *Device) leave(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sessions, s)
}

// promise keeps so many bytes of scratch memory possible for a session that is open.
func (d *Device) promise(s *session, bytes uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions[s] = bytes
}

// promised is the most that an open session needs of scratch memory, which all share.
func (d *Device) promised() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	most := uint64(0)
	for _, n := range d.sessions {
		most = max(most, n)
	}
	return most
}

// bindAlone waits until no other session is being filled: what one has planned and not yet taken, another would plan
// again. done ends it.
func (d *Device) bindAlone(ctx context.Context) (done func(), err error) {
	select {
	case d.binding <- struct{}{}:
		return func() { <-d.binding }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve is the device's thread. CUDA keeps a current device for each thread, hence the lock; it is never unlocked, so
// that the thread ends with the goroutine.
func (d *Device) serve() {
	runtime.LockOSThread()
	defer close(d.done)
	for {
		j := <-d.jobs
		j.err = protect(j.run)
		close(j.done)
		if j.last {
			return
		}
	}
}

func protect(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrPanic, p, debug.Stack())
		}
	}()
	return f()
}

// do runs f on the device's thread and waits for its end, however ctx ends: the library may be using the caller's
// memory. f gets a flag to hand to the library, raised when ctx ends.
func (d *Device) do(ctx context.Context, f func(cancel *int32) result) error {
	return d.submit(ctx, func(flag *int32) error {
		r := f(flag)
		return r.err(d.opts.Ordinal)
	})
}

func (d *Device) submit(ctx context.Context, f func(cancel *int32) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	flag, stop := raiseOn(ctx)
	defer stop()
	j := &job{run: func() error { return f(flag) }, done: make(chan struct{})}
	if err := d.hand(ctx, j); err != nil {
		return err
	}
	<-j.done
	if errors.Is(j.err, errCancelled) && ctx.Err() != nil {
		return ctx.Err()
	}
	return j.err
}

func (d *Device) hand(ctx context.Context, j *job) error {
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	if closed {
		return ErrClosed
	}
	select {
	case d.jobs <- j:
		return nil
	case <-d.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}
