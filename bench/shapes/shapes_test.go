package shapes

import (
	"context"
	"testing"

	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	require.Len(t, All(), 20)
	for _, s := range All() {
		got, err := Parse(s.String())
		require.NoError(t, err)
		require.Equal(t, s, got)
		_, ok := s.Golden()
		require.Equal(t, s.Size != 64<<30, ok, "%v", s)
	}
	for _, bad := range []string{"", "porep", "porep-1k", "PoRep-2k", "porep-2k ", "porep-2k:", "porep-2k:0", "porep-2k:x", "winning-2k:3", "window-2k:5000"} {
		_, err := Parse(bad)
		require.ErrorIs(t, err, ErrShape)
	}
}

// TestGolden compiles the small shapes; the circuits' own tests do all of them.
func TestGolden(t *testing.T) {
	for _, name := range []string{"winning-2k", "window-2k", "update-2k", "porep-2k"} {
		s, err := Parse(name)
		require.NoError(t, err)
		c, err := s.Blank()
		require.NoError(t, err)
		sys, err := synth.Compile(context.Background(), c)
		require.NoError(t, err)
		d, err := sys.Digest(context.Background())
		require.NoError(t, err)
		want, ok := s.Golden()
		require.True(t, ok)
		require.Equal(t, want, d, name)
	}
}

func TestSyntheticSatisfies(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"winning-2k", "window-2k", "update-2k", "porep-2k", "porep-2k:1", "window-2k:3", "update-2k:4"} {
		s, err := Parse(name)
		require.NoError(t, err)
		require.Equal(t, name, s.String())
		c, err := s.Blank()
		require.NoError(t, err)
		sys, err := synth.Compile(ctx, c)
		require.NoError(t, err)
		cases, err := s.Synthetic(ctx, 5, 2)
		require.NoError(t, err)
		require.Len(t, cases, 2)
		require.NotEqual(t, cases[0].Public, cases[1].Public, name)
		for _, k := range cases {
			a, err := synth.AssignWitness(ctx, k.Circuit, sys, synth.AssignConfig{})
			require.NoError(t, err)
			require.Equal(t, k.Public, a.Public())
			require.NoError(t, sys.Satisfied(ctx, a, 0), name)
			require.NoError(t, a.Close())
		}
		_, err = s.Synthetic(ctx, 5, 0)
		require.Error(t, err)
	}
}
