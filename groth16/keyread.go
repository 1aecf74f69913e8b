package groth16

import (
	"context"
	"fmt"
	"io"

	"github.com/filgroth/filgroth/pinning"
)

// ReadProvingKey reads a .params encoding from a stream into memory outside the Go heap. Memory grows with what arrives,
// whatever the lengths in the stream say. Bytes after the key are left in r.
func ReadProvingKey(ctx context.Context, r io.Reader) (*ProvingKey, error) {
	g := &growing{}
	k, err := readKey(ctx, g, r)
	if err != nil {
		g.free()
		return nil, err
	}
	return k, nil
}

func readKey(ctx context.Context, g *growing, r io.Reader) (*ProvingKey, error) {
	vk := new(VerifyingKey)
	if _, err := vk.ReadFrom(io.TeeReader(r, g)); err != nil {
		return nil, err
	}
	for s := SectionH; s < NumSections; s++ {
		at := g.n
		if err := g.copy(ctx, r, 4); err != nil {
			return nil, &KeyError{"", s.String(), -1, err}
		}
		b := g.buf.Bytes()[at:]
		count := int64(b[0])<<24 | int64(b[1])<<16 | int64(b[2])<<8 | int64(b[3])
		if err := g.copy(ctx, r, count*int64(s.PointSize())); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, &KeyError{"", s.String(), int(int64(g.n-at-4) / int64(s.PointSize())), err}
		}
	}
	return parseKey("", &memSource{g.buf.Bytes()[:g.n], g.buf}, int64(g.n))
}

// growing is memory that doubles as bytes arrive.
type growing struct {
	buf *pinning.Buffer
	n   int
}

func (g *growing) room(n int) error {
	have := 0
	if g.buf != nil {
		have = g.buf.Len()
	}
	if g.n+n <= have {
		return nil
	}
	next, err := pinning.Alloc(max(2*have, g.n+n, 1<<16), "proving key")
	if err != nil {
		return err
	}
	if g.buf != nil {
		copy(next.Bytes(), g.buf.Bytes()[:g.n])
		g.free()
	}
	g.buf = next
	return nil
}

func (g *growing) free() {
	if g.buf != nil {
		_ = g.buf.Close() // only its owner closes it, once
		g.buf = nil
	}
}

// Write appends, for io.TeeReader.
func (g *growing) Write(p []byte) (int, error) {
	if err := g.room(len(p)); err != nil {
		return 0, err
	}
	g.n += copy(g.buf.Bytes()[g.n:], p)
	return len(p), nil
}

// copy appends n bytes of r.
func (g *growing) copy(ctx context.Context, r io.Reader, n int64) error {
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := int(min(n, ioChunk))
		if err := g.room(m); err != nil {
			return err
		}
		got, err := io.ReadFull(r, g.buf.Bytes()[g.n:g.n+m])
		g.n += got
		if err != nil {
			return fmt.Errorf("%w after %d bytes", unexpectedEOF(err), g.n)
		}
		n -= int64(m)
	}
	return nil
}
