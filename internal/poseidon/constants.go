package poseidon

import (
	"math"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// partialRounds returns the number of partial rounds for width t with eight full ones: the interpolation bound of the paper for
// 128-bit security (0.43*128 + log2 t, six full rounds) with the usual 7.5 % margin.
func partialRounds(t int) int {
	bound := math.Ceil(0.43*128 + math.Log2(float64(t)) - 6)
	return int(math.Ceil(1.075 * bound))
}

func newParams(arity int) *Params {
	t := arity + 1
	p := &Params{T: t, RF: 2 * halfFull, RP: partialRounds(t)}
	p.Tag.SetUint64(1<<uint(arity) - 1)
	p.rc = roundConstants(t, p.RF, p.RP)
	p.M = mds(t)
	p.CRC = compress(p)
	p.factor()
	p.mT = columns(p.M)
	p.preT = columns(p.Pre)
	return p
}

// mds is the Cauchy matrix 1/(i + j + t); it is symmetric.
func mds(t int) [][]fr.Element {
	inv := make([]fr.Element, 2*t-1)
	for i := range inv {
		inv[i].SetUint64(uint64(i + t))
	}
	inv = fr.BatchInvert(inv)
	m := make([][]fr.Element, t)
	for i := range m {
		m[i] = append([]fr.Element(nil), inv[i:i+t]...)
	}
	return m
}

// grain is the 80-bit LFSR of the paper's appendix E.
type grain struct {
	s   [80]byte // bits, oldest first, as a ring
	pos int
}

func newGrain(t, rf, rp int) *grain {
	g := new(grain)
	n := 0
	put := func(v uint64, bits int) {
		for i := bits - 1; i >= 0; i-- {
			g.s[n] = byte(v >> uint(i) & 1)
			n++
		}
	}
	put(1, 2) // prime field
	put(1, 4) // S-box x^alpha
	put(fr.Bits, 12)
	put(uint64(t), 12)
	put(uint64(rf), 10)
	put(uint64(rp), 10)
	put(1<<30-1, 30)
	for i := 0; i < 160; i++ {
		g.next()
	}
	return g
}

func (g *grain) at(i int) byte { return g.s[(g.pos+i)%80] }

func (g *grain) next() byte {
	b := g.at(62) ^ g.at(51) ^ g.at(38) ^ g.at(23) ^ g.at(13) ^ g.at(0)
	g.s[g.pos] = b
	g.pos = (g.pos + 1) % 80
	return b
}

// bit is the self-shrinking output: of each pair the second bit counts if the first is one.
func (g *grain) bit() byte {
	for g.next() == 0 {
		g.next()
	}
	return g.next()
}

// element draws 255 bits, most significant first, until they are below the modulus.
func (g *grain) element() fr.Element {
	for {
		var buf [32]byte
		for i := 1; i < 256; i++ {
			buf[i/8] |= g.bit() << uint(7-i%8)
		}
		if e, err := fr.BigEndian.Element(&buf); err == nil {
			return e
		}
	}
}

func roundConstants(t, rf, rp int) []fr.Element {
	g := newGrain(t, rf, rp)
	rc := make([]fr.Element, t*(rf+rp))
	for i := range rc {
		rc[i] = g.element()
	}
	return rc
}

// compress moves the round constants through the linear layer, so that a partial round adds one constant only.
func compress(p *Params) []fr.Element {
	t := p.T
	inv := invert(p.M)
	rk := func(q int) []fr.Element { return p.rc[q*t : (q+1)*t] }
	crc := append(make([]fr.Element, 0, 8*t+p.RP), rk(0)...)
	for q := 1; q < halfFull; q++ {
		crc = append(crc, vecMat(rk(q), inv)...)
	}
	partial := make([]fr.Element, p.RP)
	acc := append([]fr.Element(nil), rk(halfFull+p.RP)...)
	for q := p.RP - 1; q >= 0; q-- {
		v := vecMat(acc, inv)
		partial[q] = v[0]
		v[0].SetZero()
		for i, k := range rk(halfFull + q) {
			acc[i].Add(&k, &v[i])
		}
	}
	crc = append(crc, vecMat(acc, inv)...)
	crc = append(crc, partial...)
	for q := 1; q < halfFull; q++ {
		crc = append(crc, vecMat(rk(halfFull+p.RP+q), inv)...)
	}
	return crc
}

// factor splits M^(RP+1) into Pre and one sparse matrix a partial round.
func (p *Params) factor() {
	t := p.T
	cur := p.M
	p.Sparse = make([]Sparse, p.RP)
	for k := p.RP - 1; k >= 0; k-- {
		minor := make([][]fr.Element, t-1)
		col := make([]fr.Element, t-1)
		dense := make([][]fr.Element, t)
		dense[0] = make([]fr.Element, t)
		dense[0][0].SetOne()
		for i := range minor {
			minor[i] = append([]fr.Element(nil), cur[i+1][1:]...)
			col[i] = cur[i+1][0]
			dense[i+1] = append([]fr.Element(nil), cur[i+1]...)
			dense[i+1][0].SetZero()
		}
		v := append([]fr.Element(nil), cur[0][1:]...)
		w := append([]fr.Element{cur[0][0]}, solve(minor, col)...)
		p.Sparse[k] = Sparse{W: w, V: v}
		cur = matMul(p.M, dense)
	}
	p.Pre = cur
}
