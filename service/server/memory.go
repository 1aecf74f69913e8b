package server

import (
	"context"
	"errors"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/pinning"
)

// MemoryUse is the process's memory. Pages of mapped files are left out: the system takes them back by itself.
type MemoryUse struct {
	Resident, Limit int64 // bytes; 0 where the system does not tell
	Peak            int64 // resident, of the process's life, mapped files included
}

// ReadMemory asks the system.
func ReadMemory() MemoryUse {
	u := MemoryUse{Limit: pinning.SystemMemory(), Peak: pinning.ReadUsage().PeakRSS}
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return u
	}
	for _, line := range strings.Split(string(b), "\n") {
		for _, key := range []string{"RssAnon:", "RssShmem:"} {
			if rest, ok := strings.CutPrefix(line, key); ok {
				kb, _ := strconv.ParseInt(strings.Fields(rest + " 0")[0], 10, 64)
				u.Resident += kb << 10
			}
		}
	}
	return u
}

// watchMemory looks at the process's memory until ctx ends. Beyond high per cent of the limit idle keys are freed and
// only CRITICAL jobs begin; below, all is as before.
func (q *Queue) watchMemory(ctx context.Context, every time.Duration, high int, read func() MemoryUse) {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		u := read()
		q.press(u.Limit > 0 && u.Resident > u.Limit/100*int64(high), u)
	}
}

func (q *Queue) press(short bool, u MemoryUse) {
	q.mu.Lock()
	changed := q.pressed != short
	q.pressed = short
	if changed && !short {
		q.pump()
	}
	q.mu.Unlock()
	if changed {
		q.log.Warn("memory", "short", short, "resident", u.Resident, "limit", u.Limit)
	}
	if !short {
		return
	}
	for _, k := range q.engine.Keys() {
		if k.Users > 0 {
			continue
		}
		_, freed, err := q.engine.Evict(k.Kind, k.Size)
		if err != nil && !errors.Is(err, filgroth.ErrKeyInUse) {
			q.log.Error("evict", "circuit", CircuitID(k.Kind, k.Size), "err", err)
		} else if err == nil {
			q.log.Warn("idle key freed", "circuit", CircuitID(k.Kind, k.Size), "bytes", freed)
		}
	}
}

func sortRunning(r []Running) {
	sort.Slice(r, func(a, b int) bool { return r[a].Record.Seq < r[b].Record.Seq })
}
