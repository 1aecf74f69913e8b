package pinning

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNode(t *testing.T) {
	for _, n := range []int{0, 1, 7, maxNode} {
		got, ok := OnNode(n).Number()
		require.True(t, ok)
		require.Equal(t, n, got)
		back, err := ParseNode(OnNode(n).String())
		require.NoError(t, err)
		require.Equal(t, OnNode(n), back)
	}
	require.Equal(t, AnyNode, OnNode(-1))
	require.Equal(t, AnyNode, OnNode(maxNode+1))
	_, ok := AnyNode.Number()
	require.False(t, ok)
	back, err := ParseNode(AnyNode.String())
	require.NoError(t, err)
	require.Equal(t, AnyNode, back)
	for _, bad := range []string{"", "x", "-1", "1024"} {
		_, err := ParseNode(bad)
		require.ErrorIs(t, err, ErrConfig, bad)
	}
	require.ErrorIs(t, Config{Node: maxNode + 2}.Validate(), ErrConfig)
	require.NoError(t, Config{Node: OnNode(maxNode)}.Validate())
	require.Equal(t, "auto,chunk=0,ring=0,node=3", Config{Node: OnNode(3)}.String())
}

func TestNodeList(t *testing.T) {
	for s, want := range map[string][]int{"0\n": {0}, "0-2,5": {0, 1, 2, 5}, "": nil, "3": {3}} {
		got, err := parseNodeList(s)
		require.NoError(t, err)
		require.Equal(t, want, got, s)
	}
	for _, bad := range []string{"x", "2-1", "-1", "0-", "0-99999"} {
		_, err := parseNodeList(bad)
		require.ErrorIs(t, err, ErrNode, bad)
	}
}

// Where the pages of a buffer come from: bound, nothing to choose, no such node, refused.
func TestPlace(t *testing.T) {
	var bound []int
	bind := func(_ []byte, node int) error { bound = append(bound, node); return nil }
	b := &Buffer{mem: make([]byte, 8)}
	require.NoError(t, b.place(AnyNode, nil, bind))
	require.Equal(t, Placement{}, b.Placement())
	require.NoError(t, b.place(OnNode(0), []int{0}, bind))
	require.Empty(t, bound)
	require.Equal(t, AnyNode, b.Placement().Node)
	require.Contains(t, b.Placement().Note, "one memory node")
	require.NoError(t, b.place(OnNode(1), []int{0, 1}, bind))
	require.Equal(t, []int{1}, bound)
	require.Equal(t, Placement{Node: OnNode(1)}, b.Placement())
	require.ErrorIs(t, b.place(OnNode(2), []int{0, 1}, bind), ErrNode)
	refused := errors.New("refused")
	require.ErrorIs(t, b.place(OnNode(1), []int{0, 1}, func([]byte, int) error { return refused }), refused)
}
