package gpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"
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

	mu       sync.RWMutex // held for reading while a job is handed over, for writing by Close
	closed   bool
	sessions atomic.Int64 // that are open
}

type job struct {
	run  func() error
	err  error
	done chan struct{}
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
	d := &Device{lib: lib, opts: o, jobs: make(chan *job), done: make(chan struct{})}
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
		close(d.jobs)
		<-d.done
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

// Register page-locks memory for transfers to all devices, in pieces of at most chunk bytes (0: 16 GiB); Unregister undoes
// it with the same arguments. An empty mem is nothing to do. On failure nothing stays locked.
func (d *Device) Register(mem []byte, chunk int) error {
	return d.do(context.Background(), func(*int32) result { return d.registerNow(mem, chunk) })
}

// Unregister is described at Register.
func (d *Device) Unregister(mem []byte, chunk int) error {
	return d.do(context.Background(), func(*int32) result { return d.unregisterNow(mem, chunk) })
}

// registerNow is Register, on any thread.
func (d *Device) registerNow(mem []byte, chunk int) result {
	for at, part := range pieces(mem, chunk) {
		if r := d.lib.hostRegister(d.opts.Ordinal, unsafe.Pointer(&part[0]), uint64(len(part))); r.code != codeOK {
			d.unregisterNow(mem[:at], chunk)
			return r
		}
	}
	return result{}
}

// unregisterNow goes on after a failure and returns the first.
func (d *Device) unregisterNow(mem []byte, chunk int) result {
	var first result
	for _, part := range pieces(mem, chunk) {
		if r := d.lib.hostUnregister(d.opts.Ordinal, unsafe.Pointer(&part[0]), uint64(len(part))); r.code != codeOK && first.code == codeOK {
			first = r
		}
	}
	return first
}

// pieces yields mem in parts with their offsets. One registration of 512 GiB or more fails in some drivers.
func pieces(mem []byte, chunk int) func(yield func(int, []byte) bool) {
	if chunk <= 0 {
		chunk = 16 << 30
	}
	return func(yield func(int, []byte) bool) {
		for at := 0; at < len(mem); at += chunk {
			if !yield(at, mem[at:min(at+chunk, len(mem))]) {
				return
			}
		}
	}
}

// Trim gives back scratch memory and twiddles that later calls would use again.
func (d *Device) Trim() error {
	return d.do(context.Background(), func(*int32) result { return d.lib.deviceTrim(d.h) })
}

// Close waits for running calls and gives everything back. Sessions must be closed before. A second Close is ErrClosed.
func (d *Device) Close() error {
	if n := d.sessions.Load(); n > 0 {
		return fmt.Errorf("gpu: %d sessions are open on device %d", n, d.opts.Ordinal)
	}
	d.mu.Lock()
	was := d.closed
	d.closed = true // no call is handed over from here on
	d.mu.Unlock()
	if was {
		return ErrClosed
	}
	j := &job{run: func() error { d.lib.deviceClose(d.h); return nil }, done: make(chan struct{})}
	d.jobs <- j
	<-j.done
	close(d.jobs)
	<-d.done
	return j.err
}

// serve is the device's thread. CUDA keeps a current device for each thread, hence the lock; it is never unlocked, so
// that the thread ends with the goroutine.
func (d *Device) serve() {
	runtime.LockOSThread()
	defer close(d.done)
	for j := range d.jobs {
		j.err = protect(j.run)
		close(j.done)
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
	flag := new(int32)
	stop := context.AfterFunc(ctx, func() { atomic.StoreInt32(flag, 1) })
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
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return ErrClosed
	}
	select {
	case d.jobs <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
