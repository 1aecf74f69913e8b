//go:build long && unix

package groth16_test

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/groth16test"
	"github.com/filgroth/filgroth/groth16/params"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/porep"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

var keyDir = flag.String("keydir", "", "where the 2 KiB PoRep key is kept between runs; empty: it is made anew")

const porepTag = "golden/stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f"

func porepSystem(t *testing.T) *synth.System {
	cfg, err := porep.SizeConfig(vanilla.Size2KiB, vanilla.Interactive, vanilla.V1_1_0)
	require.NoError(t, err)
	start := time.Now()
	sys, err := synth.Compile(context.Background(), &porep.Circuit{Shape: cfg.Shape})
	require.NoError(t, err)
	t.Logf("compiled in %v: %v", time.Since(start), sys)
	return sys
}

func porepKey(t *testing.T, sys *synth.System) *groth16.ProvingKey {
	dir := *keyDir
	if dir == "" {
		dir = t.TempDir()
	}
	path := filepath.Join(dir, "porep-2k.params")
	k, err := groth16.OpenProvingKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		start, cpu := time.Now(), processTime()
		k, err = groth16.SetupFile(context.Background(), sys, path, groth16.SetupOptions{Trapdoor: groth16.DevTrapdoor(porepTag)})
		t.Logf("key made in %v, processor time %v", time.Since(start), processTime()-cpu)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.Close()) })
	return k
}

// The development key of the 2 KiB PoRep is the one that the Rust stack made from the same trapdoor.
func TestPoRepKeyEqualsReference(t *testing.T) {
	k := porepKey(t, porepSystem(t))
	require.EqualValues(t, 1114707768, k.Size())
	d, err := k.Digest(context.Background())
	require.NoError(t, err)
	require.Equal(t, "87446b1a0ba769d5ad03b1b37d57f6ea95d31eab5f481842585c5c9c4295fdef8b0c1d791d5fbbcbf4b5466c5045202ab176310ede9ffd256c78df24fd8314e3", hex.EncodeToString(d[:]))
}

func TestWinningKeyEqualsReference(t *testing.T) {
	postKeyEqualsReference(t, params.Winning, "95584353afd8c1eb41c578d8521eb2420b9acc252042ed41bc61cc9b76504d06df7fff18e63b16ecaced02c4d489aa8e41b8534d758d4b31d6f694518764fdca")
}

// The proof of a real 2 KiB sector is the one that the Rust stack made with the same r and s.
func TestPoRepProofEqualsReference(t *testing.T) {
	ctx := context.Background()
	sys := porepSystem(t)
	k := porepKey(t, sys)
	dir := "../synth/porep/testdata/"
	f, err := os.Open(dir + "2k-v1_1-s1.c1.json.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	raw, err := io.ReadAll(z)
	require.NoError(t, err)
	c1, err := porep.DecodeC1(raw)
	require.NoError(t, err)
	circuit, err := c1.Circuit(0)
	require.NoError(t, err)
	meta, err := os.ReadFile(dir + "2k-v1_1-s1.meta.json")
	require.NoError(t, err)
	var want struct {
		Proof string   `json:"proof_hex"`
		R     []string `json:"r_le_hex"`
		S     []string `json:"s_le_hex"`
	}
	require.NoError(t, json.Unmarshal(meta, &want))
	start := time.Now()
	asg, err := synth.AssignWitness(ctx, circuit, sys, synth.AssignConfig{})
	require.NoError(t, err)
	t.Logf("assigned in %v", time.Since(start))
	defer asg.Close()
	before := pinning.LiveBytes()
	for _, cfg := range []groth16.Config{{}, {Key: groth16.KeyConfig{Residence: groth16.ResidenceStreamed}}} {
		start, cpu := time.Now(), processTime()
		p, err := groth16.NewProver(ctx, cpuBackend(t), sys, k, cfg)
		require.NoError(t, err)
		t.Logf("bound in %v, processor time %v", time.Since(start), processTime()-cpu)
		cpu = processTime()
		proof, rep, err := p.Prove(groth16test.FixedRS(t, ctx, [2]fr.Element{scalar(t, want.R[0]), scalar(t, want.S[0])}), asg)
		require.NoError(t, err)
		t.Logf("processor time %v\n%v", processTime()-cpu, rep)
		b := proof.Bytes()
		require.Equal(t, want.Proof, hex.EncodeToString(b[:]))
		require.NoError(t, p.Close())
		require.Equal(t, before, pinning.LiveBytes())
	}
}

func scalar(t *testing.T, le string) (e fr.Element) {
	b, err := hex.DecodeString(le)
	require.NoError(t, err)
	slices.Reverse(b)
	require.NoError(t, e.SetBytesCanonical(b))
	return
}
