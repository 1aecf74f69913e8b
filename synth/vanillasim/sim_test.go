package vanillasim

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/filgroth/filgroth/synth/porep"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/update"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

var ctx = context.Background()

var sizes = []vanilla.SectorSize{vanilla.Size2KiB, vanilla.Size4KiB, vanilla.Size16KiB, vanilla.Size32KiB, vanilla.Size8MiB, vanilla.Size16MiB,
	vanilla.Size512MiB, vanilla.Size1GiB, vanilla.Size32GiB, vanilla.Size64GiB}

func TestPoRepHolds(t *testing.T) {
	for _, size := range sizes {
		for version := vanilla.V1_0_0; version <= vanilla.V1_2_0; version++ {
			if size >= vanilla.Size32GiB && version == vanilla.V1_2_0 {
				continue // differs from 1.1.0 in PoSt only
			}
			cfg, err := porep.SizeConfig(size, vanilla.Interactive, version)
			require.NoError(t, err)
			c, err := PoRep(ctx, cfg, Options{Seed: uint64(version), Miner: 1000, Sector: 3})
			require.NoError(t, err)
			require.NoError(t, porep.Check(ctx, c), "%v %v", size, version)
			require.NoError(t, porep.CheckReplicaID(c, 1000, 3))
		}
	}
}

func TestSmallShapesWithManyCollisions(t *testing.T) {
	// in a tree of 64 leaves challenged nodes are parents of each other
	cfg, err := porep.SizeConfig(vanilla.Size2KiB, vanilla.Interactive, vanilla.V1_1_0)
	require.NoError(t, err)
	cfg.Partitions, cfg.Challenges, cfg.Layers = 3, 18, 11
	for seed := uint64(0); seed < 3; seed++ {
		c, err := PoRep(ctx, cfg, Options{Seed: seed})
		require.NoError(t, err)
		require.NoError(t, porep.Check(ctx, c))
	}
}

func TestSealProofPassesTheDecoder(t *testing.T) {
	for _, p := range []vanilla.SealProof{0, 5, 6, 8} {
		c, err := SealProof(ctx, p, Options{Seed: 9})
		require.NoError(t, err)
		doc, err := c.AppendJSON(nil)
		require.NoError(t, err)
		got, err := porep.DecodeC1(doc)
		require.NoError(t, err)
		require.Equal(t, c.Proof, got.Proof)
		again, err := got.AppendJSON(nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(doc, again))
		require.NoError(t, porep.Check(ctx, got))
	}
}

func TestDeterministic(t *testing.T) {
	doc := func(o Options) string {
		c, err := SealProof(ctx, 5, o)
		require.NoError(t, err)
		b, err := c.AppendJSON(nil)
		require.NoError(t, err)
		return string(b)
	}
	first := doc(Options{Seed: 1})
	require.Equal(t, first, doc(Options{Seed: 1}))
	for _, o := range []Options{{Seed: 2}, {Seed: 1, Miner: 1}, {Seed: 1, Sector: 1}} {
		require.NotEqual(t, first, doc(o))
	}
}

func TestRefuses(t *testing.T) {
	for _, p := range []vanilla.SealProof{10, 15} {
		_, err := SealProof(ctx, p, Options{})
		var mode *ModeError
		require.ErrorAs(t, err, &mode)
	}
	_, err := SealProof(ctx, 20, Options{})
	require.Error(t, err)
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	_, err = SealProof(stopped, 5, Options{})
	require.ErrorIs(t, err, context.Canceled)
	shape, err := update.PoseidonShapeOf(vanilla.Size2KiB)
	require.NoError(t, err)
	_, _, err = Update(ctx, shape, Options{})
	require.ErrorIs(t, err, update.ErrPoseidonVariant)
}

func checkPoSt(t *testing.T, cfg post.Config, sectors int) {
	public, proofs, err := PoSt(ctx, cfg, sectors, Options{Seed: 5, Sector: 40})
	require.NoError(t, err)
	bin, err := proofs[len(proofs)-1].AppendBincode(&cfg, nil)
	require.NoError(t, err)
	last, err := post.DecodeSectorProof(&cfg, bin)
	require.NoError(t, err)
	proofs[len(proofs)-1] = last
	parts, err := post.Assemble(public, proofs)
	require.NoError(t, err)
	require.Len(t, parts, cfg.Partitions(sectors))
	for k, p := range parts {
		require.NoError(t, post.Check(ctx, p))
		in, err := public.Inputs(k)
		require.NoError(t, err)
		require.Len(t, in, cfg.InputCount())
	}
}

func TestPoStHolds(t *testing.T) {
	for _, size := range sizes {
		for _, version := range []vanilla.Version{vanilla.V1_0_0, vanilla.V1_2_0} {
			t.Run(fmt.Sprint(size, version), func(t *testing.T) {
				window, err := post.SizeConfig(size, false, version)
				require.NoError(t, err)
				checkPoSt(t, window, 3)
				winning, err := post.SizeConfig(size, true, version)
				require.NoError(t, err)
				checkPoSt(t, winning, 1)
			})
		}
	}
}

func TestUpdateHolds(t *testing.T) {
	for _, size := range append(sizes, vanilla.Size1KiB, vanilla.Size8KiB) {
		t.Run(size.String(), func(t *testing.T) {
			shape, err := update.ShapeOf(size)
			require.NoError(t, err)
			public, proofs, err := Update(ctx, shape, Options{Seed: 3})
			require.NoError(t, err)
			require.Len(t, proofs, shape.Partitions)
			for k, p := range proofs {
				if k > 0 && k+1 < len(proofs) {
					continue // all alike; the first and the last partition differ in their challenges' high bits
				}
				require.NoError(t, update.Check(ctx, public, k, p))
				bin, err := p.AppendBincode(&shape, nil)
				require.NoError(t, err)
				got, err := update.DecodePartitionProof(&shape, bin)
				require.NoError(t, err)
				require.NoError(t, update.Check(ctx, public, k, got))
			}
			// with another partition's number the same proof does not hold
			if shape.Partitions > 1 {
				require.Error(t, update.Check(ctx, public, 1, proofs[0]))
			}
		})
	}
}

func BenchmarkDecodeC1(b *testing.B) {
	c, err := SealProof(ctx, 8, Options{})
	require.NoError(b, err)
	doc, err := c.AppendJSON(nil)
	require.NoError(b, err)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		_, err := porep.DecodeC1(doc)
		require.NoError(b, err)
	}
}

func BenchmarkCheckC1(b *testing.B) {
	c, err := SealProof(ctx, 8, Options{})
	require.NoError(b, err)
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		require.NoError(b, porep.Check(ctx, c))
	}
}

func BenchmarkSealProof(b *testing.B) {
	for i := 0; i < b.N; i++ {
		_, err := SealProof(ctx, 8, Options{})
		require.NoError(b, err)
	}
}
