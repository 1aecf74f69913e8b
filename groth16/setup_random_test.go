package groth16

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
)

// Setups that are given up at random leave no goroutine, no memory and no file.
func TestSetupGivenUpAtRandom(t *testing.T) {
	noLeak(t)
	sys, err := synth.Compile(context.Background(), squares{4000})
	require.NoError(t, err)
	before := runtime.NumGoroutine()
	dir := t.TempDir()
	for i := range 25 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(200))*time.Millisecond)
		o := SetupOptions{Trapdoor: DevTrapdoor("random"), Threads: i % 4}
		var k *ProvingKey
		if i%2 == 0 {
			k, err = Setup(ctx, sys, o)
		} else {
			k, err = SetupFile(ctx, sys, filepath.Join(dir, "x"), o)
		}
		cancel()
		if err == nil {
			require.NoError(t, k.Close())
			continue
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	for i := 0; runtime.NumGoroutine() > before && i < 1000; i++ {
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
