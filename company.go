package filgroth

import (
	"sync"
	"time"
)

// Where circuits share a pass over a streamed key, a call waits for those whose witness is being made.

const (
	// linger is how long it waits at most.
	linger = 2 * time.Second
	// patience is how long a partition may wait for a place or for memory and still be waited for.
	patience = 20 * time.Millisecond
)

// ripe says whether w should take t now: where a call is shared, not before it is full, no witness is being made for another,
// or it has waited long enough.
func (w *worker) ripe(t *task) bool {
	n := int64(t.key.perCall(w))
	return n == 1 || t.key.queued.Load() >= n || t.key.coming.Load() <= 0 || !time.Now().Before(t.due)
}

// comer is a partition on its way to the queue. It counts in its key's coming.
type comer struct {
	d   *dispatcher
	key *keyEntry

	mu      sync.Mutex
	counted bool
	gone    bool
}

func (d *dispatcher) expect(k *keyEntry) *comer {
	k.coming.Add(1)
	return &comer{d: d, key: k, counted: true}
}

// no: it is there, or it never will be.
func (c *comer) no() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	c.count(false)
}

// waits notes that the partition waits for something that others hold, until the function that it returns is called.
func (c *comer) waits() func() {
	t := time.AfterFunc(patience, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.count(false)
	})
	return func() {
		t.Stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.count(!c.gone)
	}
}

func (c *comer) count(yes bool) {
	if yes == c.counted {
		return
	}
	c.counted = yes
	if yes {
		c.key.coming.Add(1)
		return
	}
	c.key.coming.Add(-1)
	c.d.queue.Wake() // who waits for its company
}
