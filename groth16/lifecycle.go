package groth16

import (
	"fmt"
	"sync"
)

// lifecycle lets calls in until closed; close waits for those inside.
type lifecycle struct {
	mu     sync.RWMutex
	closed bool
	what   string
}

func (l *lifecycle) enter() error {
	l.mu.RLock()
	if l.closed {
		l.mu.RUnlock()
		return fmt.Errorf("%w: %s", ErrClosed, l.what)
	}
	return nil
}

func (l *lifecycle) leave() { l.mu.RUnlock() }

func (l *lifecycle) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return fmt.Errorf("%w: %s", ErrClosed, l.what)
	}
	l.closed = true
	return nil
}
