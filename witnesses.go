package filgroth

import (
	"errors"
	"sync"
	"time"

	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// witnessPool keeps the memory of witnesses for the next partitions of the same circuit: a WindowPoSt's witness of 4 GB
// costs as much again in page faults where the memory is new. Each assignment has one owner at a time, a partition or the
// pool. What is kept gives way to work: together with what partitions have reserved it is never more than the host
// budget. Nothing is overwritten in between, because vanilla proofs and what follows from them are no secrets; the next
// witness covers all of it.
type witnessPool struct {
	host *pinning.Budget
	idle time.Duration // how long an unused one is kept; nothing is kept unless positive

	mu     sync.Mutex
	limit  int            // for one circuit
	spare  []spareWitness // the longest unused first
	bytes  int64
	reused int64
	timer  *time.Timer // runs while there are any
	closed bool
}

type spareWitness struct {
	key   *keyEntry
	asg   *synth.Assignment
	bytes int64
	since time.Time
}

// take gives an assignment to fill, used before if there is one. The caller has reserved the memory.
func (p *witnessPool) take(key *keyEntry) (*synth.Assignment, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found *synth.Assignment
	for i := len(p.spare) - 1; i >= 0 && found == nil; i-- { // the last used is the warmest
		if p.spare[i].key == key {
			found = p.remove(i).asg
			p.reused++
		}
	}
	_ = p.trim(0) // an unmap that fails has nobody to tell
	if found != nil {
		return found, nil
	}
	return synth.NewAssignment(key.system)
}

// put takes an assignment back and ends its reservation. Whatever its values are, its memory is good.
func (p *witnessPool) put(key *keyEntry, asg *synth.Assignment, mem *pinning.Reservation) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer mem.Release() // after the memory is given back, or counted as kept
	n := int64(len(asg.Bits)*8 + len(asg.Fields)*32)
	if p.closed || p.idle <= 0 || p.count(key) >= p.limit {
		return asg.Close()
	}
	err := p.trim(n - mem.Bytes())
	if s := p.host.Stats(); s.Used-mem.Bytes()+p.bytes+n > s.Total {
		return errors.Join(err, asg.Close())
	}
	p.spare = append(p.spare, spareWitness{key, asg, n, time.Now()})
	p.bytes += n
	if p.timer == nil {
		p.timer = time.AfterFunc(p.idle, p.expire)
	}
	return err
}

// widen lets it keep n of a circuit, if those were fewer: as many as may be in flight.
func (p *witnessPool) widen(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = max(p.limit, n)
}

// trim closes the longest unused until all that is kept and more bytes fit beside what is reserved.
func (p *witnessPool) trim(more int64) (err error) {
	for s := p.host.Stats(); len(p.spare) > 0 && s.Used+p.bytes+more > s.Total; {
		err = errors.Join(err, p.remove(0).asg.Close())
	}
	return err
}

func (p *witnessPool) remove(i int) spareWitness {
	s := p.spare[i]
	p.spare = append(p.spare[:i:i], p.spare[i+1:]...)
	p.bytes -= s.bytes
	return s
}

func (p *witnessPool) count(key *keyEntry) (n int) {
	for _, s := range p.spare {
		if s.key == key {
			n++
		}
	}
	return n
}

// expire closes what has not been used for the idle time, and comes again for the rest.
func (p *witnessPool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.spare) > 0 && time.Since(p.spare[0].since) >= p.idle {
		_ = p.remove(0).asg.Close()
	}
	p.timer = nil
	if len(p.spare) > 0 {
		p.timer = time.AfterFunc(p.idle-time.Since(p.spare[0].since), p.expire)
	}
}

// drop closes what is kept for a circuit that goes.
func (p *witnessPool) drop(key *keyEntry) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.spare) - 1; i >= 0; i-- {
		if p.spare[i].key == key {
			err = errors.Join(err, p.remove(i).asg.Close())
		}
	}
	return err
}

// held is how much is kept for a circuit.
func (p *witnessPool) held(key *keyEntry) (n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.spare {
		if s.key == key {
			n += s.bytes
		}
	}
	return n
}

// close gives everything back; nothing is kept from now on.
func (p *witnessPool) close() (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for len(p.spare) > 0 {
		err = errors.Join(err, p.remove(0).asg.Close())
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	return err
}

// SpareStats are the witnesses whose memory waits for the next ones.
type SpareStats struct {
	Witnesses int
	Bytes     int64
	// Reused counts the partitions that took such memory.
	Reused int64
}

func (p *witnessPool) stats() SpareStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return SpareStats{len(p.spare), p.bytes, p.reused}
}
