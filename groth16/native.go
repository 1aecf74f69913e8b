package groth16

import (
	"context"
	"errors"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
)

// Sizes of native points in memory.
const (
	nativeG1 = int(unsafe.Sizeof(bls12381.G1Affine{}))
	nativeG2 = int(unsafe.Sizeof(bls12381.G2Affine{}))
)

// native are all points of a key in gnark-crypto's form (Montgomery coordinates), outside the Go heap or mapped from a
// cache file. All sessions of a key share it.
type native struct {
	g1   [SectionB2][]bls12381.G1Affine // H, L, A, B1
	b2   []bls12381.G2Affine
	host int64 // bytes that are memory of the process, not a mapped file
	free []func() error
}

func (n *native) close() error {
	var errs []error
	for _, f := range n.free {
		errs = append(errs, f())
	}
	n.free = nil
	return errors.Join(errs...)
}

// nativeCell shares one native form among sessions.
type nativeCell struct {
	sem  chan struct{}
	n    *native
	refs int
}

// lock waits for the cell or the end of ctx.
func (k *ProvingKey) lockNative(ctx context.Context) error {
	k.mu.Lock()
	if k.native.sem == nil {
		k.native.sem = make(chan struct{}, 1)
	}
	sem := k.native.sem
	k.mu.Unlock()
	select {
	case sem <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *ProvingKey) unlockNative() { <-k.native.sem }

// acquireNative gives the native form, made at the first call; releaseNative gives it back. The caller holds a Retain.
func (k *ProvingKey) acquireNative(ctx context.Context, cfg KeyConfig, threads int) (*native, error) {
	if err := k.lockNative(ctx); err != nil {
		return nil, err
	}
	defer k.unlockNative()
	c := &k.native
	if c.n == nil {
		n, err := k.loadNative(ctx, cfg, threads)
		if err != nil {
			return nil, err
		}
		c.n = n
	}
	c.refs++
	return c.n, nil
}

func (k *ProvingKey) releaseNative() error {
	if err := k.lockNative(context.Background()); err != nil {
		return err
	}
	defer k.unlockNative()
	c := &k.native
	c.refs--
	if c.refs > 0 {
		return nil
	}
	n := c.n
	c.n = nil
	return n.close()
}

// loadNative maps the cache file if there is a good one, else decodes, and writes the cache file if one is wanted.
func (k *ProvingKey) loadNative(ctx context.Context, cfg KeyConfig, threads int) (*native, error) {
	ctx, sp := span.Start(ctx, "key.load")
	defer sp.End()
	sp.AddBytes(k.size)
	cache := cfg.CacheDir != "" && k.size <= maxCachedKey && nativeLittleEndian
	if cache {
		n, err := k.openCache(ctx, cfg.CacheDir)
		if err == nil {
			sp.SetAttr(span.String("from", "cache"))
			return n, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// A missing, old or damaged cache file is replaced below.
	}
	n, err := k.decodeAll(ctx, threads)
	if err != nil {
		return nil, err
	}
	if cache {
		// a copy that found no room may find it next time: what is in its way goes now
		if err := errors.Join(k.writeCache(ctx, cfg.CacheDir, n), k.pruneCache(cfg)); err != nil {
			if ctx.Err() != nil {
				return nil, errors.Join(ctx.Err(), n.close())
			}
			sp.SetAttr(span.String("cache", err.Error())) // a full disk must not stop a proof
		}
	}
	return n, nil
}

func (k *ProvingKey) decodeAll(ctx context.Context, threads int) (_ *native, err error) {
	n := &native{}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
		}
	}()
	for s := SectionH; s < NumSections; s++ {
		size := nativeG1
		if s == SectionB2 {
			size = nativeG2
		}
		buf, err := pinning.AllocWith(size*k.lens[s], "proving key points", pinning.Options{HugePages: true})
		if err != nil {
			return nil, err
		}
		n.free = append(n.free, buf.Close)
		n.host += int64(buf.Len())
		if s == SectionB2 {
			n.b2 = pinning.Slice[bls12381.G2Affine](buf, k.lens[s])
			err = k.DecodeG2(ctx, s, 0, n.b2, threads)
		} else {
			n.g1[s] = pinning.Slice[bls12381.G1Affine](buf, k.lens[s])
			err = k.DecodeG1(ctx, s, 0, n.g1[s], threads)
		}
		if err != nil {
			return nil, err
		}
	}
	return n, nil
}
