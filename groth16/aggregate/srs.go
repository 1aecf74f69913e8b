package aggregate

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/span"
)

const (
	// MaxStored is the greatest length of a vector that a .srs file may declare.
	MaxStored = 2<<19 + 1
	// MaxLoaded is the greatest number of points a vector that the deployed reader keeps.
	MaxLoaded = 2<<14 + 1
	// MaxProofs is the greatest number of proofs that Prove merges, given an SRS that long.
	MaxProofs = 1 << 16
)

// SRS holds the powers of two secrets a, b in both groups: gA[i] = a^i·G, gB[i] = b^i·G, hA[i] = a^i·H,
// hB[i] = b^i·H, all four equally long. One SRS serves every verifying key. It is read-only.
type SRS struct {
	gA, gB []bls12381.G1Affine
	hA, hB []bls12381.G2Affine
	stored int
}

// LoadConfig says how much of an SRS to read. The zero value is what the deployed node reads.
type LoadConfig struct {
	// MaxPoints bounds the points kept of each vector; 0 is MaxLoaded. To merge n proofs takes 2n of them,
	// to verify takes 2. A point costs 576 bytes over the four vectors and some 0.25 ms of one core to check.
	MaxPoints int
}

// Validate refuses counts with which nothing could be done.
func (c LoadConfig) Validate() error {
	if c.MaxPoints != 0 && (c.MaxPoints < 2 || c.MaxPoints > MaxStored) {
		return refused("LoadConfig.MaxPoints", -1, "%d is neither 0 nor in [2, %d]", c.MaxPoints, MaxStored)
	}
	return nil
}

func (c LoadConfig) String() string {
	if c.MaxPoints == 0 {
		c.MaxPoints = MaxLoaded
	}
	return fmt.Sprintf("points<=%d", c.MaxPoints)
}

// LoadSRS reads a .srs file: gA, gB, hA, hB, each as a big-endian uint32 length and that many compressed points.
// Every point that is kept is checked to be canonical, on the curve and in the subgroup; of the others, which the
// deployed reader skips, only the presence is checked. The vectors of a group must agree in their first elements, and r
// must end after the fourth; if their lengths differ, the shortest counts. That the points are powers of one secret is
// for whoever publishes the file to know: compare its digest first.
func LoadSRS(ctx context.Context, r io.Reader, cfg LoadConfig) (*SRS, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	keep := cfg.MaxPoints
	if keep == 0 {
		keep = MaxLoaded
	}
	ctx, s := span.Start(ctx, "aggregate.srs", span.Int("points", keep))
	defer s.End()
	br := bufio.NewReaderSize(r, 1<<16)
	out := SRS{stored: MaxStored}
	for i, dst := range []*[]bls12381.G1Affine{&out.gA, &out.gB} {
		stored, err := readVector(ctx, br, [...]string{"g_alpha_powers", "g_beta_powers"}[i], keep, sizeG1, dst, setG1)
		if err != nil {
			return nil, err
		}
		out.stored = min(out.stored, stored)
	}
	for i, dst := range []*[]bls12381.G2Affine{&out.hA, &out.hB} {
		stored, err := readVector(ctx, br, [...]string{"h_alpha_powers", "h_beta_powers"}[i], keep, sizeG2, dst, setG2)
		if err != nil {
			return nil, err
		}
		out.stored = min(out.stored, stored)
	}
	if _, err := br.ReadByte(); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, err
		}
		return nil, malformed("end", -1, errors.New("bytes after the fourth vector"))
	}
	if err := out.checkBases(); err != nil {
		return nil, err
	}
	n := min(keep, out.stored)
	out.gA, out.gB, out.hA, out.hB = out.gA[:n], out.gB[:n], out.hA[:n], out.hB[:n]
	return &out, nil
}

func (s *SRS) checkBases() error {
	for _, c := range []struct {
		name string
		bad  bool
	}{
		{"g_alpha_powers", s.gA[0].IsInfinity()}, {"g_beta_powers", s.gB[0] != s.gA[0]},
		{"h_alpha_powers", s.hA[0].IsInfinity()}, {"h_beta_powers", s.hB[0] != s.hA[0]},
	} {
		if c.bad {
			return malformed(c.name, 0, errors.New("not the generator of the other vector"))
		}
	}
	return nil
}

func setG1(p *bls12381.G1Affine, b []byte) error { _, err := p.SetBytes(b[:sizeG1]); return err }
func setG2(p *bls12381.G2Affine, b []byte) error { _, err := p.SetBytes(b[:sizeG2]); return err }

// readVector reads one vector, keeps its first points in *dst and returns its stored length. The slice grows with
// the bytes that are there, so a false length costs nothing.
func readVector[P any](ctx context.Context, r *bufio.Reader, name string, keep, size int, dst *[]P, set func(*P, []byte) error) (int, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, malformed(name, -1, noEOF(err))
	}
	stored := int(binary.BigEndian.Uint32(head[:]))
	if stored < 2 || stored > MaxStored {
		return 0, malformed(name, -1, fmt.Errorf("length %d is not in [2, %d]", stored, MaxStored))
	}
	keep = min(keep, stored)
	const chunk = 512
	buf := make([]byte, min(chunk, keep)*size)
	for len(*dst) < keep {
		from := len(*dst)
		n := min(chunk, keep-from)
		if _, err := io.ReadFull(r, buf[:n*size]); err != nil {
			return 0, malformed(name, from, noEOF(err))
		}
		*dst = append(*dst, make([]P, n)...)
		errs := make([]error, n)
		err := par.Range(ctx, 0, n, 32, func(_, lo, hi int) error {
			for i := lo; i < hi; i++ {
				errs[i] = set(&(*dst)[from+i], buf[i*size:(i+1)*size])
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		for i, err := range errs {
			if err != nil {
				return 0, malformed(name, from+i, err)
			}
		}
	}
	return stored, skip(ctx, r, name, stored-keep, size)
}

func skip(ctx context.Context, r *bufio.Reader, name string, points, size int) error {
	for rest := points * size; rest > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.Discard(min(rest, 1<<20))
		if err != nil {
			return malformed(name, -1, noEOF(err))
		}
		rest -= n
	}
	return nil
}

// noEOF keeps a caller from taking a short file for its ordinary end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Points is the number of powers held of each secret in each group.
func (s *SRS) Points() int { return len(s.gA) }

// Stored is the number of powers that the file had (in its shortest vector), of which Points were kept.
func (s *SRS) Stored() int { return s.stored }

// WriteTo writes the points held in the layout that LoadSRS reads.
func (s *SRS) WriteTo(w io.Writer) (int64, error) {
	n := len(s.gA)
	out := make([]byte, 0, 16+n*2*(sizeG1+sizeG2))
	for _, v := range [][]bls12381.G1Affine{s.gA, s.gB} {
		out = binary.BigEndian.AppendUint32(out, uint32(n))
		for i := range v {
			b := v[i].Bytes()
			out = append(out, b[:]...)
		}
	}
	for _, v := range [][]bls12381.G2Affine{s.hA, s.hB} {
		out = binary.BigEndian.AppendUint32(out, uint32(n))
		for i := range v {
			b := v[i].Bytes()
			out = append(out, b[:]...)
		}
	}
	k, err := w.Write(out)
	return int64(k), err
}

// ProverSRS is an SRS cut to a number of proofs. It shares memory with the SRS.
type ProverSRS struct {
	n             int
	gA, gB        []bls12381.G1Affine // 2n powers
	hA, hB        []bls12381.G2Affine // n powers: the first bases of the commitments, and of the openings
	wAlpha, wBeta []bls12381.G1Affine // powers n..2n-1: the other bases of the commitments
}

// Count is the number of proofs that the key merges.
func (s *ProverSRS) Count() int { return s.n }

// VerifierSRS is what verification takes of an SRS, whatever the number of proofs: powers 0 and 1.
type VerifierSRS struct {
	g, gA, gB bls12381.G1Affine
	h, hA, hB bls12381.G2Affine
}

// Verifier takes the verifier's six points.
func (s *SRS) Verifier() *VerifierSRS {
	return &VerifierSRS{g: s.gA[0], gA: s.gA[1], gB: s.gB[1], h: s.hA[0], hA: s.hA[1], hB: s.hB[1]}
}

// Specialize cuts the SRS to n proofs, a power of two from 2 to MaxProofs; it must hold 2n points.
func (s *SRS) Specialize(n int) (*ProverSRS, *VerifierSRS, error) {
	if err := checkCount("n", n, MaxProofs); err != nil {
		return nil, nil, err
	}
	if len(s.gA) < 2*n {
		return nil, nil, refused("n", -1, "%d proofs take %d points, the SRS holds %d", n, 2*n, len(s.gA))
	}
	v := s.Verifier()
	return &ProverSRS{
		n:  n,
		gA: s.gA[:2*n], gB: s.gB[:2*n], hA: s.hA[:n], hB: s.hB[:n],
		wAlpha: s.gA[n : 2*n], wBeta: s.gB[n : 2*n],
	}, v, nil
}

func checkCount(field string, n, most int) error {
	if n < 2 || n > most || bits.OnesCount(uint(n)) != 1 {
		return refused(field, -1, "%d is no power of two from 2 to %d", n, most)
	}
	return nil
}

// SetupInsecure makes an SRS of some points on the standard generators from secrets that the caller, and so
// everybody, knows: whoever knows them can prove anything. For tests and development networks.
func SetupInsecure(points int, alpha, beta fr.Element) (*SRS, error) {
	if points < 2 || points > MaxStored {
		return nil, refused("points", -1, "%d is not in [2, %d]", points, MaxStored)
	}
	_, _, g, h := bls12381.Generators()
	powers := func(x fr.Element) []fr.Element {
		out := make([]fr.Element, points)
		out[0].SetOne()
		for i := 1; i < points; i++ {
			out[i].Mul(&out[i-1], &x)
		}
		return out
	}
	a, b := powers(alpha), powers(beta)
	return &SRS{
		gA: bls12381.BatchScalarMultiplicationG1(&g, a), gB: bls12381.BatchScalarMultiplicationG1(&g, b),
		hA: bls12381.BatchScalarMultiplicationG2(&h, a), hB: bls12381.BatchScalarMultiplicationG2(&h, b),
		stored: points,
	}, nil
}
