//go:build unix

package pinning

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkAxes is every policy of a Locker with the host's own lock in place of a device's, so that what is measured is this package
// and the system: 4 MiB, which the usual limit of a process allows, made ready and given back once. On a device: bench pin.
func BenchmarkAxes(b *testing.B) {
	const n = 4 << 20
	ctx := context.Background()
	for _, pages := range []struct {
		name string
		o    Options
	}{{"base", Options{BasePages: true}}, {"huge", Options{HugePages: true}}} {
		mem, err := AllocWith(n, "bench", pages.o)
		require.NoError(b, err)
		Prefault(mem.Bytes())
		for _, c := range []Config{{Policy: PolicyNone}, {Policy: PolicyRegister}, {Policy: PolicyRegister, ChunkBytes: 1 << 20}, {Policy: PolicyRegisterOnce}, {Policy: PolicyPool}} {
			b.Run("pages="+pages.name+"/pin="+c.String(), func(b *testing.B) {
				if limit := LockLimit(); limit >= 0 && limit < n {
					b.Skipf("unavailable: this process may lock %d bytes", limit)
				}
				l, err := NewLocker(HostLock{}, c, nil)
				require.NoError(b, err)
				b.SetBytes(n)
				for b.Loop() {
					x, err := l.Use(ctx, mem.Bytes())
					require.NoError(b, err)
					require.NoError(b, x.Return())
				}
				s := l.Stats()
				b.ReportMetric(float64(s.Lock.Calls)/float64(b.N), "locks/op")
				b.ReportMetric(float64(s.Lock.MinorFaults)/float64(b.N), "lock-faults/op")
				require.NoError(b, l.Close())
			})
		}
		for _, prefault := range []bool{false, true} {
			b.Run("pages="+pages.name+"/prefault="+map[bool]string{false: "off", true: "on"}[prefault], func(b *testing.B) {
				b.SetBytes(n)
				o := pages.o
				o.Prefault = prefault
				for b.Loop() {
					x, err := AllocWith(n, "bench", o)
					require.NoError(b, err)
					if !prefault {
						for at := 0; at < n; at += 4096 {
							x.Bytes()[at] = 1
						}
					}
					require.NoError(b, x.Close())
				}
			})
		}
		require.NoError(b, mem.Close())
	}
}
