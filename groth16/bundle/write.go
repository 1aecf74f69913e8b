package bundle

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"unicode/utf8"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/internal/atomicfile"
	"github.com/filgroth/filgroth/synth"
)

// Contents are what a bundle is made of.
type Contents struct {
	// Assignment is the witness; its system goes into the bundle. Ready evaluations are left out.
	Assignment *synth.Assignment
	// Key, if set, is the key that the proof is made under. Its digest and verifying key go into the bundle.
	Key *groth16.ProvingKey
	// KeyDigest is the digest of Key where the caller knows it; zero reads the whole key to compute it.
	KeyDigest [64]byte
	// EmbedKey puts the whole key into the bundle: one file then is enough to prove again.
	EmbedKey bool
	// Note is free text: the configuration, the error that this is about.
	Note string
}

type section func(ctx context.Context, w io.Writer) error

// Write makes the bundle at path: whole or not at all, readable by its owner only. An assignment that does not satisfy its
// system is written too, as that may be what is to be shown.
func Write(ctx context.Context, path string, c Contents) error {
	hdr, secs, err := prepare(ctx, c)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, 0o600, func(w io.Writer) error {
		if _, err := w.Write(hdr); err != nil {
			return err
		}
		for _, s := range secs {
			n := &counter{}
			if err := s(ctx, io.MultiWriter(w, n)); err != nil {
				return err
			}
			if _, err := w.Write(make([]byte, padded(n.n)-n.n)); err != nil {
				return err
			}
		}
		return nil
	})
}

// prepare makes the header, running every section once for its length and checksum.
func prepare(ctx context.Context, c Contents) ([]byte, []section, error) {
	if c.Assignment == nil || c.Assignment.System() == nil {
		return nil, nil, fmt.Errorf("%w: no assignment", synth.ErrShape)
	}
	sys := c.Assignment.System()
	if len(c.Assignment.Inputs) != sys.Inputs() || len(c.Assignment.Bits) != (sys.Aux()+63)/64 || len(c.Assignment.Fields) != sys.Fields() {
		return nil, nil, fmt.Errorf("%w: the assignment is closed or of another system", synth.ErrShape)
	}
	if len(c.Note) > MaxNote || !utf8.ValidString(c.Note) {
		return nil, nil, fmt.Errorf("%w: note of %d bytes: at most %d, in UTF-8", ErrFormat, len(c.Note), MaxNote)
	}
	if c.EmbedKey && c.Key == nil {
		return nil, nil, fmt.Errorf("%w: EmbedKey without a key", ErrKey)
	}
	r1cs, err := sys.Digest(ctx)
	if err != nil {
		return nil, nil, err
	}
	hdr := make([]byte, headerSize)
	copy(hdr, magic)
	le := binary.LittleEndian
	le.PutUint32(hdr[8:], version)
	le.PutUint32(hdr[12:], numSections)
	copy(hdr[16:], r1cs[:])
	if c.Key != nil {
		if err := keyDigests(ctx, c, sys, hdr); err != nil {
			return nil, nil, err
		}
	}
	secs := sections(c, sys)
	off := uint64(headerSize)
	for i, s := range secs {
		n := &counter{}
		if err := s(ctx, n); err != nil {
			return nil, nil, err
		}
		e := hdr[tableAt+entrySize*i:]
		le.PutUint64(e, off)
		le.PutUint64(e[8:], n.n)
		le.PutUint32(e[16:], n.crc)
		off += padded(n.n)
	}
	le.PutUint32(hdr[headerSize-4:], crc32.Checksum(hdr[:headerSize-4], castagnoli))
	return hdr, secs, nil
}

func keyDigests(ctx context.Context, c Contents, sys *synth.System, hdr []byte) error {
	if err := c.Key.CheckSystem(ctx, sys); err != nil {
		return err
	}
	d := c.KeyDigest
	if d == [64]byte{} {
		var err error
		if d, err = c.Key.Digest(ctx); err != nil {
			return err
		}
	}
	id, err := c.Key.Identity()
	copy(hdr[48:], d[:])
	copy(hdr[112:], id[:])
	return err
}

func sections(c Contents, sys *synth.System) []section {
	return []section{
		secSystem: sys.Encode,
		secInputs: func(ctx context.Context, w io.Writer) error { return writeElements(ctx, w, c.Assignment.Inputs) },
		secBits:   func(ctx context.Context, w io.Writer) error { return writeWords(ctx, w, c.Assignment.Bits) },
		secFields: func(ctx context.Context, w io.Writer) error { return writeElements(ctx, w, c.Assignment.Fields) },
		secVK: func(_ context.Context, w io.Writer) error {
			if c.Key == nil {
				return nil
			}
			_, err := c.Key.VerifyingKey().WriteTo(w)
			return err
		},
		secKey: func(ctx context.Context, w io.Writer) error {
			if !c.EmbedKey {
				return nil
			}
			_, err := c.Key.WriteTo(ctxWriter{ctx, w})
			return err
		},
		secNote: func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, c.Note)
			return err
		},
	}
}

type ctxWriter struct {
	ctx context.Context
	w   io.Writer
}

func (w ctxWriter) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(b)
}

var errPadding = errors.New("bytes between the sections are not zero")
