package synth

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
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

func (s *System) digestRows(ctx context.Context, every int, report func(Checkpoint) error) ([]Checkpoint, error) {
	enc := make([][32]byte, len(s.coeffs))
	for i := range s.coeffs {
		b := s.coeffs[i].Bytes()
		slices.Reverse(b[:])
		enc[i] = b
	}
	h := sha256.New()
	buf := make([]byte, 0, 1<<16)
	var cps []Checkpoint
	point := func(rows int) error {
		h.Write(buf)
		buf = buf[:0]
		c := Checkpoint{Rows: rows, Digest: Digest(h.Sum(nil))}
		cps = append(cps, c)
		if report != nil {
			return report(c)
		}
		return nil
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
		if len(buf) > 1<<15 {
			h.Write(buf)
			buf = buf[:0]
		}
		if every > 0 && (row+1)%every == 0 {
			return point(row + 1)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(cps) == 0 || cps[len(cps)-1].Rows != s.rows {
		if err := point(s.rows); err != nil {
			return nil, err
		}
	}
	return cps, nil
}
