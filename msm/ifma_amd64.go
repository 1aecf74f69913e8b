//go:build amd64 && !purego

package msm

import (
	"math/big"
	"math/bits"
	"sync"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"golang.org/x/sys/cpu"
)

//go:generate go run ../internal/ifmagen -part g1 -out g1_ifma_amd64.s

//go:noescape
func g1Forward(k, rec *uint64, src *byte, a, b *uint32, n int)

//go:noescape
func g1Backward(k, rec, tmp *uint64, dst *byte, out *uint32, n int)

func haveIFMA() bool {
	x := cpu.X86
	return x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL && x.HasAVX512IFMA
}

const (
	lanes = 8
	limbs = 8 // of 52 bits, for a 381-bit element
	// vecWords is a vector of eight elements in memory, limb by limb.
	vecWords = lanes * limbs
	mask52   = 1<<52 - 1
)

// ifmaConstants is the table that internal/ifmagen's code reads: p, 2p, 3p, 2^416-p in
// limbs, then single words, then vectors of indices.
var ifmaConstants = sync.OnceValue(func() *[4*limbs + 4 + 16]uint64 {
	t := new([4*limbs + 4 + 16]uint64)
	p := fp.Modulus()
	put := func(at int, v *big.Int) {
		v = new(big.Int).Set(v)
		for j := range limbs {
			t[at+j] = new(big.Int).And(v, big.NewInt(mask52)).Uint64()
			v.Rsh(v, 52)
		}
	}
	for m := range 3 {
		put(m*limbs, new(big.Int).Mul(p, big.NewInt(int64(m+1))))
	}
	put(3*limbs, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 52*limbs), p))
	two52 := new(big.Int).Lsh(big.NewInt(1), 52)
	inv := new(big.Int).ModInverse(p, two52)
	one := t[4*limbs:]
	one[0] = new(big.Int).Sub(two52, inv).Uint64()
	one[1] = mask52
	one[2] = (1 << 52) / (t[limbs-1] + 1)
	slack := int64(-65)
	one[3] = uint64(slack)
	copy(one[4:], []uint64{0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15})
	return t
})

const (
	// ifmaBatch is how many additions share one inversion. Their records, 3 KiB for
	// eight, are to stay in the second-level cache.
	ifmaBatch = 1024
	// fetchAhead is how many entries beyond a batch the kernel may read.
	fetchAhead  = 64
	recordWords = 6 * vecWords
	prefixAt    = 5 * vecWords
)

// g1IFMA adds points of G1 eight at a time. Its results, unlike everybody else's, are
// reduced only to below p·(1+2^-9), which the kernels accept and canonical finishes.
type g1IFMA struct {
	// records: two that hold the start of the two chains of products, then the batch.
	records []uint64
	tmp     []uint64
	a, b    [ifmaBatch + fetchAhead]uint32
	out     [ifmaBatch]uint32
	chains  [2 * lanes]fp.Element
}

func newG1IFMA() adder[bls12381.G1Affine] {
	g := &g1IFMA{
		records: aligned((2 + ifmaBatch/lanes) * recordWords),
		tmp:     aligned(5 * vecWords),
	}
	one := fp.One()
	for r := range 2 {
		for lane := range lanes {
			toLane(g.records[r*recordWords+prefixAt:], lane, &one)
		}
	}
	return g
}

// aligned makes a slice that starts on a cache line.
func aligned(words int) []uint64 {
	s := make([]uint64, words+lanes)
	skip := 0
	for uintptr(unsafe.Pointer(&s[skip]))%64 != 0 {
		skip++
	}
	return s[skip : skip+words]
}

// toLane writes e into a lane of a vector, fromLane reads it, reduced.
func toLane(v []uint64, lane int, e *fp.Element) {
	w := func(i int) uint64 {
		if i < len(e) {
			return e[i]
		}
		return 0
	}
	for j := range limbs {
		bit := 52 * j
		x := w(bit/64) >> (bit % 64)
		if bit%64 > 12 {
			x |= w(bit/64+1) << (64 - bit%64)
		}
		v[j*lanes+lane] = x & mask52
	}
}

func fromLane(v []uint64, lane int) fp.Element {
	var e fp.Element
	for j := range limbs {
		x, bit := v[j*lanes+lane], 52*j
		e[bit/64] |= x << (bit % 64)
		if bit%64 > 12 && bit/64+1 < len(e) {
			e[bit/64+1] |= x >> (64 - bit%64)
		}
	}
	canonical(&e)
	return e
}

// modulus in words.
var modulus = [fp.Limbs]uint64{0xb9feffffffffaaab, 0x1eabfffeb153ffff, 0x6730d2a0f6b0f624,
	0x64774b84f38512bf, 0x4b1ba7b6434bacd7, 0x1a0111ea397fe69a}

// canonical subtracts p from e, below 2p, if that leaves it positive.
func canonical(e *fp.Element) {
	var d fp.Element
	var borrow uint64
	for i := range e {
		d[i], borrow = bits.Sub64(e[i], modulus[i], borrow)
	}
	if borrow == 0 {
		*e = d
	}
}

func (g *g1IFMA) canonical(p *bls12381.G1Affine) {
	canonical(&p.X)
	canonical(&p.Y)
}

func (g *g1IFMA) add(dst, src []bls12381.G1Affine, a, b []entry, out []uint32, clean bool) bool {
	still := true
	for len(a) > 0 {
		n := min(len(a), ifmaBatch)
		copy(g.a[:], a[:min(len(a), n+fetchAhead)])
		copy(g.b[:], b[:min(len(b), n+fetchAhead)])
		copy(g.out[:n], out)
		if !clean || !g.batch(dst, src, n) {
			still = g.careful(dst, src, a[:n], b[:n], out[:n]) && still
		}
		a, b, out = a[n:], b[n:], out[n:]
	}
	return still
}

// batch adds the first n pairs of g.a and g.b. If two of a pair have the same abscissa it
// writes nothing and returns false.
func (g *g1IFMA) batch(dst, src []bls12381.G1Affine, n int) bool {
	groups := (n + lanes - 1) / lanes
	// The last group is filled with copies of the last pair: same result, same place.
	for i := n; i < groups*lanes; i++ {
		g.a[i], g.b[i], g.out[i] = g.a[n-1], g.b[n-1], g.out[n-1]
	}
	k := &ifmaConstants()[0]
	g1Forward(k, &g.records[2*recordWords], (*byte)(unsafe.Pointer(unsafe.SliceData(src))), &g.a[0], &g.b[0], groups)
	if !g.invert(groups) {
		return false
	}
	g1Backward(k, &g.records[(groups+1)*recordWords], &g.tmp[0],
		(*byte)(unsafe.Pointer(unsafe.SliceData(dst))), &g.out[(groups-1)*lanes], groups)
	return true
}

// chainFactor, as words, is 2^432 mod p. The kernel's products shed 2^416 a
// multiplication where gnark-crypto's shed 2^384; with raw value v of a chain's product,
// g1Backward wants to start from v^-1·2^816 for slopes to come out times 2^400, so that
// their squares come out times 2^384. Inverse gives v^-1·2^768.
var chainFactor = sync.OnceValue(func() fp.Element {
	var e fp.Element
	e.SetBigInt(new(big.Int).Lsh(big.NewInt(1), 48)) // times 2^384 by its Montgomery form
	return e
})

// invert puts the inverses of the products of the two chains in each lane, which the last
// two records hold, where g1Backward starts from.
func (g *g1IFMA) invert(groups int) bool {
	var prefix [2*lanes + 1]fp.Element
	prefix[0].SetOne()
	for i := range g.chains {
		record := groups + 1 - i/lanes
		g.chains[i] = fromLane(g.records[record*recordWords+prefixAt:], i%lanes)
		prefix[i+1].Mul(&prefix[i], &g.chains[i])
	}
	acc := prefix[2*lanes]
	if acc.IsZero() {
		return false
	}
	acc.Inverse(&acc)
	factor := chainFactor()
	for i := 2*lanes - 1; i >= 0; i-- {
		var inv fp.Element
		inv.Mul(&acc, &prefix[i])
		acc.Mul(&acc, &g.chains[i])
		inv.Mul(&inv, &factor)
		toLane(g.tmp[i/lanes*vecWords:], i%lanes, &inv)
	}
	return true
}

// careful adds pairs of which some are equal, opposite or infinite: those one by one,
// the others in a batch.
func (g *g1IFMA) careful(dst, src []bls12381.G1Affine, a, b []entry, out []uint32) bool {
	n, clean := 0, true
	for i := range a {
		p, q := src[a[i]>>1], src[b[i]>>1]
		g.canonical(&p)
		g.canonical(&q)
		if p.X.Equal(&q.X) || p.IsInfinity() || q.IsInfinity() {
			sum := addSpecial[fp.Element, *fp.Element](
				signed[fp.Element, *fp.Element](&point[fp.Element]{X: p.X, Y: p.Y}, a[i]),
				signed[fp.Element, *fp.Element](&point[fp.Element]{X: q.X, Y: q.Y}, b[i]))
			dst[out[i]] = bls12381.G1Affine{X: sum.X, Y: sum.Y}
			clean = clean && !dst[out[i]].IsInfinity()
			continue
		}
		g.a[n], g.b[n], g.out[n] = a[i], b[i], out[i]
		n++
	}
	if n > 0 && !g.batch(dst, src, n) {
		// Only coordinates that are no field elements come here.
		return false
	}
	return clean
}
