package aggregate

import (
	"context"
	"math/bits"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/internal/par"
)

const (
	powerWindow = 5  // bits of a digit: odd, from -15 to 15
	powerChunk  = 16 // elements that share their squarings
)

// gtPower is g^k. g is in the subgroup of order r.
type gtPower struct {
	g bls12381.GT
	k fr.Element
}

// productOfPowers is Π g^k, by interleaved sliding windows (Möller, "Algorithms for multi-exponentiation"). An inverse in
// GT is a conjugate, so that digits with a sign halve the tables. It is not constant-time.
func productOfPowers(ctx context.Context, list []gtPower) (bls12381.GT, error) {
	chunks := make([]bls12381.GT, (len(list)+powerChunk-1)/powerChunk)
	err := par.Range(ctx, 0, len(list), powerChunk, func(_, from, to int) error {
		chunks[from/powerChunk] = interleaved(list[from:to])
		return nil
	})
	var out bls12381.GT
	out.SetOne()
	for i := range chunks {
		out.Mul(&out, &chunks[i])
	}
	return out, err
}

func interleaved(list []gtPower) bls12381.GT {
	type table [1 << (powerWindow - 2)]bls12381.GT // g, g³, g⁵, ...
	tables := make([]table, len(list))
	digits := make([][fr.Bits + 1]int8, len(list))
	for i := range list {
		var square bls12381.GT
		square.CyclotomicSquare(&list[i].g)
		tables[i][0] = list[i].g
		for j := 1; j < len(tables[i]); j++ {
			tables[i][j].Mul(&tables[i][j-1], &square)
		}
		digits[i] = signedDigits(list[i].k)
	}
	var out, t bls12381.GT
	out.SetOne()
	for bit := fr.Bits; bit >= 0; bit-- {
		out.CyclotomicSquare(&out)
		for i := range digits {
			switch d := digits[i][bit]; {
			case d > 0:
				out.Mul(&out, &tables[i][d/2])
			case d < 0:
				out.Mul(&out, t.Conjugate(&tables[i][-d/2]))
			}
		}
	}
	return out
}

// signedDigits writes k as Σ d[i]·2^i with digits that are 0 or odd and less than 2^(powerWindow-1) in magnitude.
func signedDigits(k fr.Element) (d [fr.Bits + 1]int8) {
	v := k.Bits() // k < 2^255: what is carried below stays in four words
	for i := range d {
		if v[0]&1 == 1 {
			low := int8(v[0] & (1<<powerWindow - 1))
			if low >= 1<<(powerWindow-1) {
				low -= 1 << powerWindow
			}
			d[i] = low
			// v -= low; for a negative digit that is an addition, with its carry.
			if low > 0 {
				v[0] -= uint64(low) // the low bits are low: no borrow
			} else {
				var c uint64
				v[0], c = bits.Add64(v[0], uint64(-int64(low)), 0)
				v[1], c = bits.Add64(v[1], 0, c)
				v[2], c = bits.Add64(v[2], 0, c)
				v[3], _ = bits.Add64(v[3], 0, c)
			}
		}
		v[0] = v[0]>>1 | v[1]<<63
		v[1] = v[1]>>1 | v[2]<<63
		v[2] = v[2]>>1 | v[3]<<63
		v[3] >>= 1
	}
	return d
}
