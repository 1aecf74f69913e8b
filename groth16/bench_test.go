package groth16

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16/internal/l1"
	"github.com/stretchr/testify/require"
)

func BenchmarkVerify(b *testing.B) {
	batch, err := l1.LoadBatch()
	require.NoError(b, err)
	vk, err := ParseVerifyingKey(goldenFile(b, "mimc.vk"))
	require.NoError(b, err)
	var public [][]fr.Element
	var proofs []*Proof
	for _, x := range batch.Proofs {
		p, err := ParseProof(x.Bytes())
		require.NoError(b, err)
		public, proofs = append(public, []fr.Element{x.Image.Element}), append(proofs, p)
	}
	b.Run("parse", func(b *testing.B) {
		for b.Loop() {
			if _, err := ParseProof(batch.Proofs[0].Bytes()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			if ok, err := Verify(vk, public[0], proofs[0]); err != nil || !ok {
				b.Fatal(ok, err)
			}
		}
	})
	for _, n := range []int{1, 10, 100, 1000} { // the ten proofs again and again
		ps, in := make([]*Proof, n), make([][]fr.Element, n)
		for i := range ps {
			ps[i], in[i] = proofs[i%len(proofs)], public[i%len(proofs)]
		}
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) {
			for b.Loop() {
				if ok, err := BatchVerify(vk, in, ps); err != nil || !ok {
					b.Fatal(ok, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "us/proof")
		})
	}
}

// BenchmarkKeyLoad compares the ways to a key: what open checks, what decoding costs, and what the native cache saves.
func BenchmarkKeyLoad(b *testing.B) {
	ctx := context.Background()
	_, sys := loadCase(b, "sha256_64")
	dir := b.TempDir()
	path := filepath.Join(dir, "sha256.params")
	key, err := SetupFile(ctx, sys, path, SetupOptions{Trapdoor: DevTrapdoor("golden/sha256_64")})
	require.NoError(b, err)
	size := key.Size()
	require.NoError(b, key.Close())
	for _, mode := range []string{"open", "stream", "decode", "cached", "check-curve", "check-subgroups"} {
		b.Run(mode, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				if err := loadOnce(ctx, mode, path, dir); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func loadOnce(ctx context.Context, mode, path, dir string) (err error) {
	var k *ProvingKey
	if mode == "stream" {
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if k, err = ReadProvingKey(ctx, bytes.NewReader(raw)); err != nil {
			return err
		}
		return k.Close()
	}
	if k, err = OpenProvingKey(path); err != nil {
		return err
	}
	switch mode {
	case "decode", "cached":
		cfg := KeyConfig{}
		if mode == "cached" {
			cfg.CacheDir = dir
		}
		if _, err = k.acquireNative(ctx, cfg, 0); err == nil {
			err = k.releaseNative()
		}
	case "check-curve", "check-subgroups":
		err = k.CheckPoints(ctx, mode == "check-subgroups", 0)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", mode, err)
	}
	return k.Close()
}

func BenchmarkSetup(b *testing.B) {
	ctx := context.Background()
	_, sys := loadCase(b, "sha256_64")
	for b.Loop() {
		k, err := Setup(ctx, sys, SetupOptions{Trapdoor: DevTrapdoor("golden/sha256_64")})
		if err != nil {
			b.Fatal(err)
		}
		if err := k.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
