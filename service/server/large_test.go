package server

import (
	"context"
	"testing"

	"github.com/filgroth/filgroth/service/client"
	"github.com/stretchr/testify/require"
)

// A message of nearly the protocol's largest size goes through, and does not stay in memory while its job waits.
func TestLargestMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a gigabyte of memory; run without -short")
	}
	e := &fakeEngine{gate: make(chan struct{})}
	d := start(t, e, t.TempDir(), func(_ *QueueConfig, c *Config) { c.MaxRequest = client.MaxMessage })
	c := d.client(t)
	r, err := client.PoRep(make([]byte, 190<<20), 2048, 1, 1) // base64 makes it 253 MiB
	require.NoError(t, err)
	blocker, err := c.SubmitProof(context.Background(), winning("first", "x"))
	require.NoError(t, err)
	_, err = c.SubmitProof(context.Background(), r)
	require.NoError(t, err)
	r = nil
	eventually(t, "its memory is given back", func() bool { return liveHeap() < 64<<20 })
	e.gate <- struct{}{}
	_, err = c.AwaitJob(context.Background(), blocker.JobId)
	require.NoError(t, err)
	e.gate <- struct{}{}
	eventually(t, "it is proved", func() bool { return d.queue.Snapshot().Completed == 2 })
	e.mu.Lock()
	e.calls = nil // hold the request
	e.mu.Unlock()
	require.Zero(t, d.queue.Snapshot().Spooled)
}
