package pinning

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBeforeClose(t *testing.T) {
	b, err := Alloc(3*4096, "hooks")
	require.NoError(t, err)
	other, err := Alloc(4096, "hooks")
	require.NoError(t, err)
	require.Same(t, b, Owner(b.Bytes()[5000:5001]))
	require.Same(t, other, Owner(other.Bytes()))
	require.Nil(t, Owner(nil))
	require.Nil(t, Owner(make([]byte, 8)))
	var ran []int
	add := func(i int) func() {
		drop, ok := b.BeforeClose(func() {
			require.Zero(t, b.Bytes()[len(b.Bytes())-1], "the memory is still there")
			ran = append(ran, i)
		})
		require.True(t, ok)
		return drop
	}
	add(1)
	drop := add(2)
	late := add(3)
	drop()
	mem := b.Bytes()
	require.NoError(t, b.Close())
	require.Equal(t, []int{1, 3}, ran)
	late()
	require.Nil(t, Owner(mem))
	_, ok := b.BeforeClose(func() { t.Error("run after Close") })
	require.False(t, ok)
	require.NoError(t, other.Close())
}
