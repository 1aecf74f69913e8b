package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/filgroth/filgroth/service/config"
	"github.com/filgroth/filgroth/service/journal"
	"github.com/stretchr/testify/require"
)

func runMain(args ...string) (out string, err error) {
	var b bytes.Buffer
	err = run(context.Background(), context.Background(), args, &b, &b)
	return b.String(), err
}

func TestFlags(t *testing.T) {
	out, err := runMain("-example")
	require.NoError(t, err)
	require.Equal(t, config.Example, out)
	path := filepath.Join(t.TempDir(), "c.toml")
	require.NoError(t, os.WriteFile(path, []byte(out), 0o600))
	out, err = runMain("-config", path, "-check")
	require.NoError(t, err)
	require.Contains(t, out, "sound")
	_, err = runMain("-version")
	require.NoError(t, err)
	_, err = runMain()
	require.ErrorContains(t, err, "-config")
	_, err = runMain("-dev", "x")
	require.Error(t, err)
	require.NoError(t, os.WriteFile(path, []byte("[listen]\ngrpc = [\"0.0.0.0:9820\"]\n"), 0o600))
	_, err = runMain("-config", path, "-check")
	require.ErrorIs(t, err, config.ErrConfig)
	_, err = runMain("-config", path, "-dev")
	require.ErrorIs(t, err, config.ErrConfig, "not with development keys either")
}

func TestJournalOfOtherKeysIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c.toml")
	text := "[listen]\ngrpc = [\"127.0.0.1:0\"]\nhttp = \"\"\n[engine]\ndevices = \"cpu\"\nparameters = \"" + dir + "\"\n[state]\ndir = \"" + dir + "\"\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var b bytes.Buffer
	require.NoError(t, run(ctx, ctx, []string{"-config", path}, &b, &b), b.String())
	require.ErrorIs(t, run(ctx, ctx, []string{"-config", path, "-dev"}, &b, &b), journal.ErrForeign)
	j, _, err := journal.Open(dir)
	require.NoError(t, err)
	defer j.Close()
	require.ErrorIs(t, run(ctx, ctx, []string{"-config", path}, &b, &b), journal.ErrInUse)
}

func TestForwardStaysLocal(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600))
	for _, a := range []string{"0.0.0.0:0", ":0", "10.0.0.1:0"} {
		_, err := runMain("forward", "-listen", a, "-to", "127.0.0.1:1", "-token-file", token)
		require.ErrorContains(t, err, "reachable", a)
	}
	_, err := runMain("forward", "-to", "127.0.0.1:1")
	require.Error(t, err)
	ln, err := listenLocal("127.0.0.1:0")
	require.NoError(t, err)
	require.True(t, ln.Addr().(*net.TCPAddr).IP.IsLoopback())
	require.NoError(t, ln.Close())
	require.True(t, strings.HasPrefix(version(), "("), version())
}
