package scale

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func base() Model {
	return Model{Hosts: 1, DevicesPerHost: 1, CoresPerHost: 16, Partitions: 10, DecodeCPU: 1, WitnessCPU: 0.2, DeviceTime: 1, FinishCPU: 0.01,
		InputBytes: 40e6, HostNetwork: 1e9, Storage: 10e9, Poll: 1, HostQueue: 3, KeyBytes: 47e9, SectorsPerDay: 86400, Horizon: 40000, Seed: 1}
}

// A saturated device proves one sector in Partitions x DeviceTime, whatever else is there.
func TestDeviceBound(t *testing.T) {
	for _, hosts := range []int{1, 3, 10} {
		m := base()
		m.Hosts, m.SectorsPerDay = hosts, 2*8640*float64(hosts)
		r, err := Run(t.Context(), m)
		require.NoError(t, err)
		require.Equal(t, "devices", r.Bottleneck)
		require.InEpsilon(t, 8640*float64(hosts), r.PerDay, 0.03)
		require.Greater(t, r.DeviceBusy, 0.95)
	}
}

func TestKeepsUp(t *testing.T) {
	m := base()
	m.SectorsPerDay = 4000
	r, err := Run(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, "none: keeps up", r.Bottleneck)
	require.InEpsilon(t, 4000.0/8640, r.DeviceBusy, 0.03)
	require.Greater(t, r.Latency50, 10.0)
	require.Less(t, r.Latency50, 20.0)
}

func TestOtherBottlenecks(t *testing.T) {
	m := base()
	m.CoresPerHost, m.WitnessCPU = 1, 3
	r, err := Run(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, "host CPUs", r.Bottleneck)
	m = base()
	m.Storage = 2e6
	m.KeyBytes = 0
	r, err = Run(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, "shared storage", r.Bottleneck)
	require.InEpsilon(t, 86400.0/20, r.PerDay, 0.03)
	m = base()
	m.Poll, m.HostQueue = 60, 1
	r, err = Run(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, "scheduling: polling or host queue", r.Bottleneck)
}

func TestKeysArriveOneAfterTheOther(t *testing.T) {
	m := base()
	m.Hosts = 5
	r, err := Run(t.Context(), m)
	require.NoError(t, err)
	require.InDelta(t, 5*4.7+47, r.KeysLoaded, 0.1)
}

func TestValidate(t *testing.T) {
	for _, change := range []func(*Model){func(m *Model) { m.Hosts = 0 }, func(m *Model) { m.DeviceTime = 0 }, func(m *Model) { m.Storage = 0 },
		func(m *Model) { m.Poll = -1 }, func(m *Model) { m.Poll = 0 }, func(m *Model) { m.KeyBytes = math.NaN() },
		func(m *Model) { m.SectorsPerDay = 1e300 }, func(m *Model) { m.Horizon = math.Inf(1) }, func(m *Model) { m.HostQueue = 0 }} {
		m := base()
		change(&m)
		_, err := Run(t.Context(), m)
		require.Error(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, base())
	require.ErrorIs(t, err, context.Canceled)
}
