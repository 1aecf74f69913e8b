package faulty

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Op is a call that can be made to fail.
type Op uint8

// Bind and Sums are calls of a backend and its sessions, G1 and G2 of an msm.Engine, Transform and Quotient of an ntt.Engine.
const (
	Bind Op = iota
	Sums
	G1
	G2
	Transform
	Quotient
	numOps
)

var opNames = [numOps]string{"bind", "sums", "g1", "g2", "transform", "quotient"}

func (o Op) String() string {
	if o < numOps {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// Kind is what goes wrong.
type Kind uint8

const (
	// Fail returns an *InjectedError and no result.
	Fail Kind = iota
	// Wrong returns the right result with one point or element changed.
	Wrong
	// Slow waits for Delay, or until the context ends, before the call.
	Slow
	// Panic panics with an *InjectedError.
	Panic
	numKinds
)

var kindNames = [numKinds]string{"fail", "wrong", "slow", "panic"}

func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Fault is one thing to go wrong.
type Fault struct {
	Op   Op
	Kind Kind
	// Call is the call that it happens at, the first being 1; 0 is every call.
	Call int
	// Err, if set, is what the *InjectedError wraps: the error of a device that is lost, say.
	Err error
	// Delay is how long a Slow call waits.
	Delay time.Duration
}

var (
	// ErrInjected: every InjectedError is one.
	ErrInjected = errors.New("faulty: injected fault")
	// ErrConfig: a Fault that makes no sense.
	ErrConfig = errors.New("faulty: bad fault")
)

// Validate refuses values out of range with ErrConfig.
func (f Fault) Validate() error {
	switch {
	case f.Op >= numOps, f.Kind >= numKinds, f.Call < 0, f.Delay < 0:
	case f.Op == Bind && f.Kind == Wrong:
		return fmt.Errorf("%w: bind has no result that could be wrong", ErrConfig)
	case (f.Kind == Slow) != (f.Delay > 0):
	default:
		return nil
	}
	return fmt.Errorf("%w: %v", ErrConfig, f)
}

func (f Fault) String() string {
	s := fmt.Sprintf("%v:%v:%d", f.Op, f.Kind, f.Call)
	if f.Kind == Slow {
		s += ":" + f.Delay.String()
	}
	return s
}

// InjectedError is an error made here. It is ErrInjected and what Err is.
type InjectedError struct {
	Op   Op
	Call int
	Err  error
}

func (e *InjectedError) Error() string {
	s := fmt.Sprintf("faulty: injected fault in call %d of %v", e.Call, e.Op)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives ErrInjected and the cause.
func (e *InjectedError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrInjected}
	}
	return []error{ErrInjected, e.Err}
}

// Counter counts calls and holds the faults. It is safe for concurrent use.
type Counter struct {
	mu       sync.Mutex
	faults   []Fault
	calls    [numOps]int
	injected int
}

// Calls is how many calls of op there were, those that failed included.
func (c *Counter) Calls(op Op) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if op >= numOps {
		return 0
	}
	return c.calls[op]
}

// Injected is how many faults have happened.
func (c *Counter) Injected() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.injected
}

// SetFaults replaces the faults; counting goes on.
func (c *Counter) SetFaults(faults ...Fault) error {
	for _, f := range faults {
		if err := f.Validate(); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append([]Fault(nil), faults...)
	return nil
}

// enter counts a call and lets happen what comes before it. wrong says that its result is to be changed.
func (c *Counter) enter(ctx context.Context, op Op) (wrong bool, err error) {
	c.mu.Lock()
	c.calls[op]++
	call := c.calls[op]
	var hits []Fault
	for _, f := range c.faults {
		if f.Op == op && (f.Call == 0 || f.Call == call) {
			hits = append(hits, f)
		}
	}
	c.injected += len(hits)
	c.mu.Unlock()
	for _, f := range hits {
		switch f.Kind {
		case Fail:
			return false, &InjectedError{op, call, f.Err}
		case Panic:
			panic(&InjectedError{op, call, f.Err})
		case Wrong:
			wrong = true
		case Slow:
			t := time.NewTimer(f.Delay)
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return false, ctx.Err()
			}
		}
	}
	return wrong, nil
}
