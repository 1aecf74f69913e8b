package pinning

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNodesOfSystem(t *testing.T) {
	dir := t.TempDir()
	_, err := nodesIn(dir)
	require.ErrorIs(t, err, ErrNode)
	put := func(p, s string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, p)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, p), []byte(s), 0o600))
	}
	put("online", "0-3\n")
	got, err := nodesIn(dir)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2, 3}, got)
	put("has_memory", "0,2\n") // nodes of a device or of processors alone give none
	got, err = nodesIn(dir)
	require.NoError(t, err)
	require.Equal(t, []int{0, 2}, got)

	put("0000:3b:00.0/numa_node", "1\n")
	put("0000:3c:00.0/numa_node", "-1\n")
	put("0000:3d:00.0/numa_node", "x\n")
	node, err := nodeOfPCI(dir, "0000:3B:00.0")
	require.NoError(t, err)
	require.Equal(t, OnNode(1), node)
	node, err = nodeOfPCI(dir, "0000:3c:00.0")
	require.NoError(t, err)
	require.Equal(t, AnyNode, node, "not known")
	for _, bad := range []string{"0000:3d:00.0", "0000:ff:00.0"} {
		_, err = nodeOfPCI(dir, bad)
		require.ErrorIs(t, err, ErrNode, bad)
	}
	for _, bad := range []string{"", "../x", ".", "a/b"} {
		_, err = nodeOfPCI(dir, bad)
		require.ErrorIs(t, err, ErrConfig, bad)
	}
}

// This machine's nodes: every one of them can be asked for, one more cannot; the system call takes the mask.
func TestAllocOnNode(t *testing.T) {
	before := LiveBytes()
	nodes, err := Nodes()
	require.NoError(t, err)
	require.NotEmpty(t, nodes)
	for _, n := range nodes {
		b, err := AllocWith(1<<20, "on a node", Options{Node: OnNode(n), Prefault: true})
		require.NoError(t, err)
		if len(nodes) == 1 {
			require.NotEmpty(t, b.Placement().Note)
		} else {
			require.Equal(t, OnNode(n), b.Placement().Node)
		}
		require.NoError(t, b.Close())
		c, err := Alloc(1<<20, "bound by hand")
		require.NoError(t, err)
		require.NoError(t, bindNode(c.Bytes(), n))
		Prefault(c.Bytes())
		require.NoError(t, c.Close())
	}
	require.NoError(t, bindNode(nil, 0))
	_, err = AllocWith(1<<20, "nowhere", Options{Node: OnNode(maxNode)})
	require.ErrorIs(t, err, ErrNode)
	require.ErrorAs(t, err, new(*AllocError))
	require.Equal(t, before, LiveBytes())
}
