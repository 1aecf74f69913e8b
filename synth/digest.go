package synth

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Digest is the streaming R1CS digest (spec/groth16.md §1.2, "R-digest"): SHA-256 over the rows in order, for A, B, C the
// number of terms and each term as kind, index, canonical coefficient. It does not depend on how rows are stored.
type Digest [32]byte

type digestCell struct {
	mu    sync.Mutex
	known bool
	d     Digest
}

// Checkpoint is the digest of the first Rows rows.
type Checkpoint struct {
	Rows   int
	Digest Digest
}

// Digest computes the digest at the first call (about 0.2 s for each million rows) and remembers it. A system opened
// from a file has the digest of that file.
func (s *System) Digest(ctx context.Context) (Digest, error) {
	s.digest.mu.Lock()
	known, d := s.digest.known, s.digest.d
	s.digest.mu.Unlock()
	if known {
		return d, nil
	}
	// not under the lock: two callers at once do the work twice, but each stops with its own context
	cps, err := s.digestRows(ctx, 0, nil)
	if err != nil {
		return Digest{}, err
	}
	s.digest.mu.Lock()
	defer s.digest.mu.Unlock()
	s.digest.d, s.digest.known = cps[len(cps)-1].Digest, true
	return s.digest.d, nil
}

// DigestCheckpoints computes the digest anew and also after every so many rows (0: only at the end). report, if not nil,
// is called with each checkpoint as it is reached; its error ends the computation.
func (s *System) DigestCheckpoints(ctx context.Context, every int, report func(Checkpoint) error) ([]Checkpoint, error) {
	return s.digestRows(ctx, every, report)
}

// digestPiece is what the rows are hashed in: encoding, a third of the work, goes ahead on another processor.
type digestPiece struct {
	b    []byte
	rows int // if not 0, there is a checkpoint behind it, of so many rows
}

func (s *System) digestRows(ctx context.Context, every int, report func(Checkpoint) error) ([]Checkpoint, error) {
	g, gctx := errgroup.WithContext(ctx)
	pieces, free := make(chan digestPiece), make(chan []byte, 3)
	for range cap(free) {
		free <- make([]byte, 0, digestBytes+1<<12)
	}
	g.Go(func() error {
		defer close(pieces)
		return s.encodeRows(gctx, every, free, pieces)
	})
	var cps []Checkpoint
	g.Go(func() error {
		h := sha256.New()
		for p := range pieces {
			h.Write(p.b)
			free <- p.b[:0] // has room for all of them
			if p.rows == 0 && s.rows != 0 {
				continue
			}
			c := Checkpoint{Rows: p.rows, Digest: Digest(h.Sum(nil))}
			cps = append(cps, c)
			if report == nil {
				continue
			}
			if err := report(c); err != nil {
				return err
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return cps, nil
}

// digestBytes is about the length of a piece.
const digestBytes = 1 << 18

// encodeRows sends the rows in the form that is hashed. The last piece, and each behind which there is a checkpoint, says so.
func (s *System) encodeRows(ctx context.Context, every int, free <-chan []byte, out chan<- digestPiece) error {
	enc := make([][32]byte, len(s.coeffs))
	for i := range s.coeffs {
		b := s.coeffs[i].Bytes()
		slices.Reverse(b[:])
		enc[i] = b
	}
	buf := <-free
	send := func(rows int) error {
		select {
		case out <- digestPiece{buf, rows}:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case buf = <-free:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := s.EachRow(ctx, 0, s.rows, func(row int, abc [3][]RowTerm) error {
		for k := range abc {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(len(abc[k])))
			for _, t := range abc[k] {
				kind := byte(1)
				if t.Var.IsInput() {
					kind = 0
				}
				buf = append(buf, kind)
				buf = binary.LittleEndian.AppendUint32(buf, uint32(t.Var.Index()))
				buf = append(buf, enc[t.Coef][:]...)
			}
		}
		switch {
		case row+1 == s.rows: // below
		case every > 0 && (row+1)%every == 0:
			return send(row + 1)
		case len(buf) > digestBytes:
			return send(0)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return send(s.rows)
}
