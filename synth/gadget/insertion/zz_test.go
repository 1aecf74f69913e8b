package insertion_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/insertion"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/filgroth/filgroth/synth/gadget/poseidon"
)

type fn func(b *synth.Builder) error

func (f fn) Synthesize(b *synth.Builder) error { return f(b) }

func x(i int) fr.Element {
	h := sha256.Sum256([]byte(fmt.Sprintf("gadget/x/%d", i)))
	h[31] &= 0x3f
	e, err := fr.LittleEndian.Element(&h)
	if err != nil {
		panic(err)
	}
	return e
}

func nums(b *synth.Builder, n int) []num.Num {
	r := make([]num.Num, n)
	for i := range r {
		r[i] = num.Alloc(b, x(i))
	}
	return r
}
func ins(k, idx int) fn {
	return func(b *synth.Builder) error {
		el := num.Alloc(b, x(100))
		nb := bits.Len(uint(k)) - 1
		bs := make([]boolean.Bool, nb)
		for i := range bs {
			bs[i] = boolean.Alloc(b, idx>>i&1 == 1)
		}
		insertion.Insert(b, make([]num.Num, k), el, bs, nums(b, k-1))
		return nil
	}
}
func sel(k, idx int) fn {
	return func(b *synth.Builder) error {
		c := nums(b, k)
		nb := bits.Len(uint(k)) - 1
		bs := make([]boolean.Bool, nb)
		for i := range bs {
			bs[i] = boolean.Alloc(b, idx>>i&1 == 1)
		}
		insertion.Select(b, c, bs)
		return nil
	}
}

func TestZZ(t *testing.T) {
	raw, _ := os.ReadFile("/work/shared/golden/gadgets/gadgets.json")
	var g struct {
		Gadgets []struct {
			Name    string
			Summary map[string]any
		}
	}
	json.Unmarshal(raw, &g)
	cs := map[string]fn{}
	for _, a := range []int{2, 4, 8, 11} {
		cs[fmt.Sprintf("poseidon_%d", a)] = func(b *synth.Builder) error { poseidon.Hash(b, nums(b, a)...); return nil }
	}
	cs["poseidon_2_gen_randomness"] = func(b *synth.Builder) error { poseidon.HashTagged(b, poseidon.TagGen, nums(b, 2)...); return nil }
	cs["insert_2"] = ins(2, 0)
	cs["insert_4"] = ins(4, 2)
	cs["insert_8"] = ins(8, 6)
	cs["insert_16"] = ins(16, 14)
	cs["select_2"] = sel(2, 1)
	cs["select_4"] = sel(4, 3)
	cs["select_8"] = sel(8, 7)
	for _, c := range g.Gadgets {
		f, ok := cs[c.Name]
		if !ok {
			continue
		}
		ctx := context.Background()
		s, err := synth.Compile(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		d, _ := s.Digest(ctx)
		a, err := synth.AssignWitness(ctx, f, s, synth.AssignConfig{})
		if err != nil {
			t.Fatal(c.Name, err)
		}
		h := sha256.New()
		a.WitnessBytes(func(v *[32]byte) { h.Write(v[:]) })
		t.Log(c.Name, s, hex.EncodeToString(d[:]) == c.Summary["r1cs_sha256"], hex.EncodeToString(h.Sum(nil)) == c.Summary["witness_sha256"], s.Satisfied(ctx, a, 1))
	}
}
func BenchmarkPos(b *testing.B) {
	f := fn(func(b *synth.Builder) error {
		n := nums(b, 8)
		for i := 0; i < 1000; i++ {
			n[0] = poseidon.Hash(b, n...)
		}
		return nil
	})
	s, _ := synth.Compile(context.Background(), f)
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		a, _ := synth.AssignWitness(context.Background(), f, s, synth.AssignConfig{})
		a.Close()
	}
}
