package groth16

import (
	"fmt"
	"sync"
)

// lifecycle lets calls in until close begins, which waits for those inside. Nobody else waits: a call that comes while close
// does is ErrClosed at once, whatever its context.
type lifecycle struct {
	mu     sync.Mutex
	inside int
	closed bool
	empty  chan struct{} // made by close if it has to wait
	what   string
}

func (l *lifecycle) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return fmt.Errorf("%w: %s", ErrClosed, l.what)
	}
	l.inside++
	return nil
}

func (l *lifecycle) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside--; l.inside == 0 && l.empty != nil {
		close(l.empty)
	}
}

func (l *lifecycle) close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return fmt.Errorf("%w: %s", ErrClosed, l.what)
	}
	l.closed = true
	if l.inside > 0 {
		l.empty = make(chan struct{})
	}
	l.mu.Unlock()
	if l.empty != nil {
		<-l.empty
	}
	return nil
}
