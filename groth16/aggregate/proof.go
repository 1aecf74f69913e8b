package aggregate

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/filgroth/filgroth/internal/par"
)

// maxParsed is the greatest count of proofs that a reader accepts in an aggregate.
const maxParsed = MaxStored

const (
	sizeFixed = 5*sizeGT + 7*sizeG1 + 5*sizeG2 + 4
	sizeRound = 10*sizeGT + 2*sizeG1
	atCount   = 5*sizeGT + sizeG1
)

// AggregateProof is a parsed aggregate. All its elements are in their prime-order groups; the number of proofs is a
// power of two. Whether it proves anything, Verify says.
type AggregateProof struct {
	n           int
	comAB, comC [2]bls12381.GT
	ipAB        bls12381.GT
	aggC        bls12381.G1Affine
	rounds      []round
	finalA      bls12381.G1Affine
	finalB      bls12381.G2Affine
	finalC      bls12381.G1Affine
	finalV, piV [2]bls12381.G2Affine
	finalW, piW [2]bls12381.G1Affine
}

// round holds the messages of one folding: left and right products of the commitments to (A, B) and to C, of
// the inner product A·B, and of the sum of C.
type round struct {
	tabL, tabR [2]bls12381.GT
	tcL, tcR   [2]bls12381.GT
	zabL, zabR bls12381.GT
	zcL, zcR   bls12381.G1Affine
}

// Count is the number of proofs merged, padding included.
func (p *AggregateProof) Count() int { return p.n }

// Size is the length of an encoded aggregate of n proofs, n a power of two: 2260 + 2976·log2(n) bytes.
func Size(n int) int { return sizeFixed + sizeRound*bits.Len(uint(n-1)) }

// element is one field of the encoding: exactly one of the pointers is set.
type element struct {
	field string
	index int // round, or -1
	gt    *bls12381.GT
	g1    *bls12381.G1Affine
	g2    *bls12381.G2Affine
}

func (e *element) size() int {
	switch {
	case e.gt != nil:
		return sizeGT
	case e.g1 != nil:
		return sizeG1
	default:
		return sizeG2
	}
}

// layout lists the elements before the count, and those after it, in the order of the encoding.
func (p *AggregateProof) layout() (head, tail []element) {
	gt := func(list *[]element, field string, index int, v *bls12381.GT) {
		*list = append(*list, element{field: field, index: index, gt: v})
	}
	g1 := func(list *[]element, field string, index int, v *bls12381.G1Affine) {
		*list = append(*list, element{field: field, index: index, g1: v})
	}
	g2 := func(field string, v *bls12381.G2Affine) {
		tail = append(tail, element{field: field, index: -1, g2: v})
	}
	gt(&head, "com_ab.1", -1, &p.comAB[0])
	gt(&head, "com_ab.2", -1, &p.comAB[1])
	gt(&head, "com_c.1", -1, &p.comC[0])
	gt(&head, "com_c.2", -1, &p.comC[1])
	gt(&head, "ip_ab", -1, &p.ipAB)
	g1(&head, "agg_c", -1, &p.aggC)
	for i := range p.rounds {
		r := &p.rounds[i]
		gt(&tail, "tab_l.1", i, &r.tabL[0])
		gt(&tail, "tab_l.2", i, &r.tabL[1])
		gt(&tail, "tab_r.1", i, &r.tabR[0])
		gt(&tail, "tab_r.2", i, &r.tabR[1])
	}
	for i := range p.rounds {
		r := &p.rounds[i]
		gt(&tail, "tc_l.1", i, &r.tcL[0])
		gt(&tail, "tc_l.2", i, &r.tcL[1])
		gt(&tail, "tc_r.1", i, &r.tcR[0])
		gt(&tail, "tc_r.2", i, &r.tcR[1])
	}
	for i := range p.rounds {
		gt(&tail, "zab_l", i, &p.rounds[i].zabL)
		gt(&tail, "zab_r", i, &p.rounds[i].zabR)
	}
	for i := range p.rounds {
		g1(&tail, "zc_l", i, &p.rounds[i].zcL)
		g1(&tail, "zc_r", i, &p.rounds[i].zcR)
	}
	g1(&tail, "final_a", -1, &p.finalA)
	g2("final_b", &p.finalB)
	g1(&tail, "final_c", -1, &p.finalC)
	g2("final_v.1", &p.finalV[0])
	g2("final_v.2", &p.finalV[1])
	g1(&tail, "final_w.1", -1, &p.finalW[0])
	g1(&tail, "final_w.2", -1, &p.finalW[1])
	g2("pi_v.1", &p.piV[0])
	g2("pi_v.2", &p.piV[1])
	g1(&tail, "pi_w.1", -1, &p.piW[0])
	g1(&tail, "pi_w.2", -1, &p.piW[1])
	return head, tail
}

// Bytes encodes the aggregate. It fails where a product of pairings is 1, which honest inputs do not give.
func (p *AggregateProof) Bytes() ([]byte, error) {
	out := make([]byte, 0, Size(p.n))
	head, tail := p.layout()
	var err error
	if out, err = appendElements(out, head); err != nil {
		return nil, err
	}
	out = binary.LittleEndian.AppendUint32(out, uint32(p.n))
	return appendElements(out, tail)
}

func appendElements(out []byte, list []element) ([]byte, error) {
	for _, e := range list {
		switch {
		case e.gt != nil:
			var b [sizeGT]byte
			if err := compressGT(b[:], e.gt); err != nil {
				return nil, refused(e.field, e.index, "%w", err)
			}
			out = append(out, b[:]...)
		case e.g1 != nil:
			b := e.g1.Bytes()
			out = append(out, b[:]...)
		default:
			b := e.g2.Bytes()
			out = append(out, b[:]...)
		}
	}
	return out, nil
}

// Decode parses the aggregate at the start of b and returns how many bytes it took. The deployed verifier ignores
// whatever follows; Verify does not. Who must agree with the deployed one on every input decodes, and drops the rest.
//
// Coordinates and coefficients must be canonical, points on their curves and in their subgroups (the identity is
// allowed), elements of GT in the subgroup of order r. An error wraps ErrMalformed and names the field, with the
// round as its index.
func Decode(ctx context.Context, b []byte) (*AggregateProof, int, error) {
	if len(b) < atCount+4 {
		return nil, 0, malformed("length", -1, fmt.Errorf("%d bytes: %w", len(b), io.ErrUnexpectedEOF))
	}
	n := binary.LittleEndian.Uint32(b[atCount:])
	if n < 2 || n > maxParsed || bits.OnesCount32(n) != 1 {
		return nil, 0, malformed("nproofs", -1, fmt.Errorf("%d is no power of two from 2 to %d", n, maxParsed))
	}
	size := Size(int(n))
	if len(b) < size {
		return nil, 0, malformed("length", -1, fmt.Errorf("%d bytes, %d proofs take %d: %w", len(b), n, size, io.ErrUnexpectedEOF))
	}
	p := &AggregateProof{n: int(n), rounds: make([]round, bits.Len32(n-1))}
	head, tail := p.layout()
	list := append(head, tail...)
	offsets := make([]int, len(list))
	for i, at := 0, 0; i < len(list); i++ {
		if i == len(head) {
			at += 4
		}
		offsets[i] = at
		at += list[i].size()
	}
	errs := make([]error, len(list))
	err := par.Do(ctx, 0, len(list), func(_, i int) error {
		e, src := &list[i], b[offsets[i]:]
		switch {
		case e.gt != nil:
			*e.gt, errs[i] = decompressGT(src)
		case e.g1 != nil:
			errs[i] = setG1(e.g1, src)
		default:
			errs[i] = setG2(e.g2, src)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	for i, err := range errs {
		if err != nil {
			return nil, 0, malformed(list[i].field, list[i].index, err)
		}
	}
	return p, size, nil
}

var errTrailing = errors.New("bytes after the last field")

// decodeWhole refuses what Decode leaves over.
func decodeWhole(ctx context.Context, b []byte) (*AggregateProof, error) {
	p, size, err := Decode(ctx, b)
	if err != nil {
		return nil, err
	}
	if size != len(b) {
		return nil, malformed("end", -1, fmt.Errorf("%d %w", len(b)-size, errTrailing))
	}
	return p, nil
}
