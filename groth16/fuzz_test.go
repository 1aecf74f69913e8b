package groth16

import (
	"bytes"
	"context"
	"testing"

	"github.com/filgroth/filgroth/groth16/internal/l1"
)

// A key that is accepted writes the bytes it was read from.
func FuzzProvingKey(f *testing.F) {
	f.Add(goldenFile(f, "cubic.params"))
	f.Add(goldenFile(f, "edge.params"))
	f.Add(goldenFile(f, "edge.params")[:1500])
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := ParseProvingKey(b)
		s, serr := ReadProvingKey(context.Background(), bytes.NewReader(b))
		if err != nil {
			if serr == nil && s.Size() == int64(len(b)) {
				t.Fatal("the stream reader accepts what the parser refuses: ", err)
			}
			if serr == nil {
				_ = s.Close()
			}
			return
		}
		if serr != nil {
			t.Fatal(serr)
		}
		for _, x := range []*ProvingKey{k, s} {
			var w bytes.Buffer
			if _, err := x.WriteTo(&w); err != nil || !bytes.Equal(w.Bytes(), b) {
				t.Fatal("another encoding", err)
			}
			_ = x.CheckPoints(context.Background(), true, 1)
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzVerifyingKey(f *testing.F) {
	for _, n := range l1.Names() {
		f.Add(goldenFile(f, n+".vk"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		vk, err := ParseVerifyingKey(b)
		if err == nil && !bytes.Equal(vk.Bytes(), b) {
			t.Fatal("another encoding")
		}
	})
}

func FuzzProof(f *testing.F) {
	c, err := l1.Load("cubic")
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range c.Proofs {
		f.Add(p.Bytes())
	}
	vk, err := ParseVerifyingKey(goldenFile(f, "cubic.vk"))
	if err != nil {
		f.Fatal(err)
	}
	x := l1.Elements(c.Public)
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParseProof(b)
		if err != nil {
			return
		}
		if e := p.Bytes(); !bytes.Equal(e[:], b) {
			t.Fatal("another encoding")
		}
		ok, err := Verify(vk, x, p)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			known := false
			for _, q := range c.Proofs {
				known = known || bytes.Equal(q.Bytes(), b)
			}
			if !known {
				t.Fatalf("a proof out of nothing: %x", b)
			}
		}
	})
}
