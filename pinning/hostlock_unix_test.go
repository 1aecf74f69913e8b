//go:build unix

package pinning

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The system's own locks count, where the process may lock that much, and its refusal names the limit.
func TestHostLock(t *testing.T) {
	buf, err := Alloc(64<<10, "locked by a test")
	require.NoError(t, err)
	defer func() { require.NoError(t, buf.Close()) }()
	l, err := NewLocker(HostLock{}, Config{Policy: PolicyRegister, ChunkBytes: 16 << 10}, nil)
	require.NoError(t, err)
	x, err := l.Use(context.Background(), buf.Bytes())
	if limit := LockLimit(); limit >= 0 && limit < 64<<10 {
		require.ErrorAs(t, err, new(*LockLimitError))
		return
	}
	require.NoError(t, err)
	require.NoError(t, x.Return())
	st := l.Stats()
	require.Equal(t, int64(64<<10), st.Lock.Bytes)
	require.Positive(t, st.Lock.Time)
	require.Positive(t, st.Lock.MinorFaults, "locking touches the pages")
	require.NoError(t, l.Close())

	require.Error(t, HostLock{}.Register(unmapped(t), 4096))
}

// unmapped is memory that is no longer there.
func unmapped(t *testing.T) []byte {
	b, err := unix.Mmap(-1, 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	copyOf := b[:8192:8192]
	require.NoError(t, unix.Munmap(b))
	return copyOf
}

func TestCounters(t *testing.T) {
	var m meter
	require.NoError(t, m.measure(10, func() error { return nil }))
	require.Error(t, m.measure(20, func() error { return errors.New("no") }))
	c := m.read()
	require.Equal(t, [3]int64{2, 1, 10}, [3]int64{c.Calls, c.Failed, c.Bytes})
	require.Contains(t, c.String(), "2 calls (1 failed), 10 bytes")
	before := AllocCounters()
	b, err := AllocWith(1<<20, "counted", Options{Prefault: true, BasePages: true})
	require.NoError(t, err)
	require.NoError(t, b.Close())
	after := AllocCounters()
	require.Equal(t, before.Calls+1, after.Calls)
	require.Equal(t, before.Bytes+1<<20, after.Bytes)
	require.GreaterOrEqual(t, after.MinorFaults-before.MinorFaults, int64(1<<20/65536), "each page of at most 64 KiB was touched")
	require.Greater(t, after.Time, before.Time)
}
