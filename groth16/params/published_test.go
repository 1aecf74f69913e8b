package params

import (
	"testing"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

func TestDevelopmentKeyIsRecognised(t *testing.T) {
	dir, c := devFiles(t)
	vk, err := OpenVerifyingKey(dir, c)
	require.NoError(t, err)
	require.True(t, c.IsDevelopmentKey(vk))
	err = c.CheckPublished(vk)
	require.ErrorIs(t, err, ErrMismatch)
	require.ErrorContains(t, err, "development")
	var fe *FileError
	require.ErrorAs(t, err, &fe)
	require.Equal(t, "0e0958009936b9d5e515ec97b8cb792d", fe.Expected)
	require.Len(t, fe.Found, 32)

	other, err := For(Window, vanilla.Size8MiB)
	require.NoError(t, err)
	require.False(t, other.IsDevelopmentKey(vk))
	undeployed, err := For(Window, vanilla.Size4KiB)
	require.NoError(t, err)
	require.ErrorIs(t, undeployed.CheckPublished(new(groth16.VerifyingKey)), ErrMismatch)
}
