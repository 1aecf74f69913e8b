package msm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/msm/msmtest"
)

func TestCPU(t *testing.T) {
	for _, base := range []msm.Config{{}, {Kernel: msm.KernelGeneric}} {
		t.Run(base.Kernel.String(), func(t *testing.T) {
			msmtest.Run(t, func() msm.Engine {
				e, err := msm.NewCPU(base)
				require.NoError(t, err)
				return e
			}, msmtest.Options{Configs: []msm.Config{{WindowBits: 5}}})
		})
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []msm.Config{{}, {WindowBits: 17, Threads: 3, PassPoints: 1000, Kernel: msm.KernelIFMA}} {
		got, err := msm.Parse(c.String())
		require.NoError(t, err)
		require.Equal(t, c, got)
	}
	got, err := msm.Parse("window=12")
	require.NoError(t, err)
	require.Equal(t, msm.Config{WindowBits: 12}, got)
	for _, s := range []string{"window", "window=x", "window=1", "windows=3", "kernel=fast", "threads=-1", "pass=99999999999999999999"} {
		_, err := msm.Parse(s)
		require.ErrorIs(t, err, msm.ErrConfig, s)
	}
	_, err = msm.NewCPU(msm.Config{WindowBits: 99})
	require.ErrorIs(t, err, msm.ErrConfig)
}
