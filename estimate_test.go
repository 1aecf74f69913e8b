package filgroth

import (
	"context"
	"testing"

	"github.com/filgroth/filgroth/groth16/params"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

func TestEstimate(t *testing.T) {
	for _, x := range []struct {
		kind       Kind
		size       vanilla.SectorSize
		partitions int
		keyGiB     float64
	}{
		{PoRep, vanilla.Size2KiB, 1, 1.04}, {PoRep, vanilla.Size32GiB, 10, 44.1}, {PoRep, vanilla.Size64GiB, 10, 44.4},
		{WinningPoSt, vanilla.Size32GiB, 1, 0.18}, {WindowPoSt, vanilla.Size32GiB, 1, 56.6},
		{SnapDeals, vanilla.Size2KiB, 1, 0.61}, {SnapDeals, vanilla.Size8MiB, 4, 3.97}, {SnapDeals, vanilla.Size32GiB, 16, 32.1},
	} {
		cpu, err := Estimate(x.kind, x.size, "cpu")
		require.NoError(t, err)
		require.Equal(t, x.partitions, cpu.Partitions, "%v %v", x.kind, x.size)
		require.InDelta(t, x.keyGiB, float64(cpu.KeyFile)/(1<<30), 0.06)
		require.Zero(t, cpu.GPUs)
		require.Greater(t, cpu.Host, cpu.KeyFile)
		dev, err := Estimate(x.kind, x.size, "cuda")
		require.NoError(t, err)
		require.Equal(t, 1, dev.GPUs)
		require.Greater(t, dev.Device, dev.KeyFile)
		require.Less(t, dev.Host, int64(16)<<30)
	}
	_, err := Estimate(PoRep, 3000, "cpu")
	require.ErrorIs(t, err, ErrInput)
	_, err = Estimate(PoRep, vanilla.Size2KiB, "abacus")
	require.ErrorIs(t, err, ErrInput)
}

func TestPreflight(t *testing.T) {
	ctx := context.Background()
	e, err := New(Config{Parameters: t.TempDir()})
	require.NoError(t, err)
	defer e.Close()
	err = e.Preflight(ctx, []Kind{PoRep, SnapDeals}, []vanilla.SectorSize{vanilla.Size2KiB, vanilla.Size32GiB}, false)
	require.ErrorIs(t, err, params.ErrKeyNotFound)
	for _, id := range []string{"032d3138d22506ec", "82a357d2f2ca81dc", "fb9e095bebdd7751", "3b7f44a9362e3985"} {
		require.ErrorContains(t, err, id, "every missing file is named")
	}
	dev := developer(t, nil)
	defer dev.Close()
	require.NoError(t, dev.Preflight(ctx, []Kind{PoRep}, []vanilla.SectorSize{vanilla.Size32GiB}, true))
}
