// Package par runs loops on a bounded number of goroutines that stop when a context ends.
package par

import (
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Workers is threads, or GOMAXPROCS where threads is not positive, and at most n (but at least 1).
func Workers(threads, n int) int {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return max(1, min(threads, n))
}

// Do calls fn(worker, i) for every i in [0, n), each once, on Workers(threads, n)
// goroutines that take the next index when free. worker numbers the goroutine from 0,
// for scratch that is not shared. The first error, or the end of ctx, stops the loop
// before further indices start; Do returns that error when all goroutines are gone.
func Do(ctx context.Context, threads, n int, fn func(worker, i int) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	workers := Workers(threads, n)
	if workers == 1 {
		for i := 0; i < n; i++ {
			if err := fn(0, i); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	}
	var next atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	for w := 0; w < workers; w++ {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := gctx.Err(); err != nil {
					return err
				}
				if err := fn(w, i); err != nil {
					return err
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		// A worker may have seen only the group's own context end.
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	return ctx.Err()
}

// Range splits [0, n) into pieces of size chunk (the last may be shorter) and calls
// fn(worker, from, to) for each as Do does.
func Range(ctx context.Context, threads, n, chunk int, fn func(worker, from, to int) error) error {
	chunk = max(chunk, 1)
	return Do(ctx, threads, (n+chunk-1)/chunk, func(worker, i int) error {
		from := i * chunk
		return fn(worker, from, min(from+chunk, n))
	})
}
