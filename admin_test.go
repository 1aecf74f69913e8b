package filgroth

import (
	"context"
	"testing"

	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

func TestKeysAreListedPreloadedAndEvicted(t *testing.T) {
	ctx := context.Background()
	before := pinning.Live()
	e := developer(t, nil)
	require.Empty(t, e.Keys())
	was, _, err := e.Evict(WindowPoSt, vanilla.Size2KiB)
	require.NoError(t, err)
	require.False(t, was)
	already, err := e.Preload(ctx, WindowPoSt, vanilla.Size2KiB)
	require.NoError(t, err)
	require.False(t, already)
	already, err = e.Preload(ctx, WindowPoSt, vanilla.Size2KiB)
	require.NoError(t, err)
	require.True(t, already)
	keys := e.Keys()
	require.Len(t, keys, 1)
	k := keys[0]
	require.Equal(t, WindowPoSt, k.Kind)
	require.Equal(t, vanilla.Size2KiB, k.Size)
	require.Equal(t, []string{"cpu"}, k.Backends)
	require.Positive(t, k.Bytes)
	require.Positive(t, k.FileBytes)
	require.Zero(t, k.Users)
	require.False(t, k.IdleSince.IsZero())

	_, release, err := e.keys.acquire(ctx, circuitSpec{WindowPoSt, vanilla.Size2KiB})
	require.NoError(t, err)
	require.Equal(t, 1, e.Keys()[0].Users)
	_, _, err = e.Evict(WindowPoSt, vanilla.Size2KiB)
	require.ErrorIs(t, err, ErrKeyInUse)
	release()
	was, freed, err := e.Evict(WindowPoSt, vanilla.Size2KiB)
	require.NoError(t, err)
	require.True(t, was)
	require.Equal(t, k.Bytes, freed)
	require.Empty(t, e.Keys())
	require.Equal(t, before, pinning.Live())

	_, err = e.Preload(ctx, WindowPoSt, 12345)
	require.ErrorIs(t, err, ErrUnsupported)
	_, err = e.Preload(ctx, 77, vanilla.Size2KiB)
	require.ErrorIs(t, err, ErrUnsupported)
	require.NoError(t, e.Close())
	_, err = e.Preload(ctx, WindowPoSt, vanilla.Size2KiB)
	require.ErrorIs(t, err, ErrClosed)
}

func TestPriorityOfTheContext(t *testing.T) {
	ctx := context.Background()
	for _, k := range []Kind{PoRep, WinningPoSt, WindowPoSt, SnapDeals} {
		require.Equal(t, k.priority(), priorityFrom(ctx, k.priority()))
	}
	require.EqualValues(t, PriorityLow, priorityFrom(WithPriority(ctx, PriorityLow), WinningPoSt.priority()))
	inner := WithPriority(WithPriority(ctx, PriorityLow), PriorityCritical)
	require.EqualValues(t, PriorityCritical, priorityFrom(inner, PoRep.priority()))
	require.EqualValues(t, PriorityCritical, WinningPoSt.priority())
	require.EqualValues(t, PriorityHigh, WindowPoSt.priority())
	require.EqualValues(t, PriorityNormal, PoRep.priority())
}
