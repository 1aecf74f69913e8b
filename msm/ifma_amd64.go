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
//go:generate go run ../internal/ifmagen -part g2 -out g2_ifma_amd64.s

// g1Forward and g2Forward fill a record for each of n groups of eight pairs: of src[a] and
// src[b], by entries. k is the table of constants.
//
//go:noescape
func g1Forward(k, rec *uint64, src *byte, a, b *uint32, n int)

//go:noescape
func g2Forward(k, rec *uint64, src *byte, a, b *uint32, n int)

// g1Backward and g2Backward write the sums of n groups to dst[out], from the last group,
// which rec and out point to, to the first. tmp starts with the inverses of the two
// chains of products.
//
//go:noescape
func g1Backward(k, rec, tmp *uint64, dst *byte, out *uint32, n int)

//go:noescape
func g2Backward(k, rec, tmp *uint64, dst *byte, out *uint32, n int)

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

// ifmaConstants is the table that internal/ifmagen's code reads: p to 4p, 2^416-p in
// limbs, then single words, then vectors of indices.
var ifmaConstants = sync.OnceValue(func() *[5*limbs + 4 + 16]uint64 {
	t := new([5*limbs + 4 + 16]uint64)
	p := fp.Modulus()
	put := func(at int, v *big.Int) {
		v = new(big.Int).Set(v)
		for j := range limbs {
			t[at+j] = new(big.Int).And(v, big.NewInt(mask52)).Uint64()
			v.Rsh(v, 52)
		}
	}
	for m := range 4 {
		put(m*limbs, new(big.Int).Mul(p, big.NewInt(int64(m+1))))
	}
	put(4*limbs, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 52*limbs), p))
	two52 := new(big.Int).Lsh(big.NewInt(1), 52)
	inv := new(big.Int).ModInverse(p, two52)
	one := t[5*limbs:]
	one[0] = new(big.Int).Sub(two52, inv).Uint64()
	one[1] = mask52
	one[2] = (1 << 52) / (t[limbs-1] + 1)
	slack := int64(-65)
	one[3] = uint64(slack)
	copy(one[4:], []uint64{0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15})
	return t
})

const (
	// ifmaBatch is how many additions at most share one inversion.
	ifmaBatch = 1024
	// fetchAhead is how many entries beyond a batch the kernels may read.
	fetchAhead = 64
)

// ifmaKernel is the pair of kernels of a group. The records of a batch, in vectors for
// eight additions, are to stay in the second-level cache.
type ifmaKernel struct {
	batch    int
	record   int // vectors
	prefix   int // which of them is the chain's product
	forward  func(k, rec *uint64, src *byte, a, b *uint32, n int)
	backward func(k, rec, tmp *uint64, dst *byte, out *uint32, n int)
}

// ifmaAdder adds points eight at a time. Its results, unlike everybody else's, are
// reduced only to below p·(1+2^-9), which the kernels accept and canonical finishes.
type ifmaAdder[P, F any, PF field[F]] struct {
	kernel ifmaKernel
	// records: two that hold the start of the two chains of products, then the batch.
	records []uint64
	tmp     []uint64
	a, b    [ifmaBatch + fetchAhead]uint32
	out     [ifmaBatch]uint32
	chains  [2 * lanes]fp.Element
}

func newG1IFMA() adder[bls12381.G1Affine] {
	return newIFMA[bls12381.G1Affine, fp.Element, *fp.Element](ifmaKernel{1024, 6, 5, g1Forward, g1Backward})
}

func newG2IFMA() adder[bls12381.G2Affine] {
	return newIFMA[bls12381.G2Affine, bls12381.E2, *bls12381.E2](ifmaKernel{512, 12, 11, g2Forward, g2Backward})
}

func newIFMA[P, F any, PF field[F]](k ifmaKernel) adder[P] {
	g := &ifmaAdder[P, F, PF]{
		kernel:  k,
		records: aligned((2 + k.batch/lanes) * k.record * vecWords),
		tmp:     aligned(12 * vecWords),
	}
	one := fp.One()
	for r := range 2 {
		for lane := range lanes {
			toLane(g.prefix(r), lane, &one)
		}
	}
	return adder[P]{add: g.add, canonical: g.canonical}
}

// record is where a record starts, prefix its product.
func (g *ifmaAdder[P, F, PF]) record(r int) []uint64 {
	return g.records[r*g.kernel.record*vecWords:]
}

func (g *ifmaAdder[P, F, PF]) prefix(r int) []uint64 {
	return g.record(r)[g.kernel.prefix*vecWords:]
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

// canonical works on the base-field coordinates, of which a point is an array.
func (g *ifmaAdder[P, F, PF]) canonical(p *P) {
	n := int(unsafe.Sizeof(*p) / unsafe.Sizeof(fp.Element{}))
	c := unsafe.Slice((*fp.Element)(unsafe.Pointer(p)), n)
	for i := range c {
		canonical(&c[i])
	}
}

func (g *ifmaAdder[P, F, PF]) add(dst, src []P, a, b []entry, out []uint32, clean bool) bool {
	still := true
	for len(a) > 0 {
		n := min(len(a), g.kernel.batch)
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
func (g *ifmaAdder[P, F, PF]) batch(dst, src []P, n int) bool {
	groups := (n + lanes - 1) / lanes
	// The last group is filled with copies of the last pair: same result, same place.
	for i := n; i < groups*lanes; i++ {
		g.a[i], g.b[i], g.out[i] = g.a[n-1], g.b[n-1], g.out[n-1]
	}
	k := &ifmaConstants()[0]
	g.kernel.forward(k, &g.record(2)[0], (*byte)(unsafe.Pointer(unsafe.SliceData(src))), &g.a[0], &g.b[0], groups)
	if !g.invert(groups) {
		return false
	}
	g.kernel.backward(k, &g.record(groups + 1)[0], &g.tmp[0],
		(*byte)(unsafe.Pointer(unsafe.SliceData(dst))), &g.out[(groups-1)*lanes], groups)
	return true
}

// chainFactor, as words, is 2^432 mod p. The kernels' products shed 2^416 a
// multiplication where gnark-crypto's shed 2^384; with raw value v of a chain's product,
// the backward kernels want to start from v^-1·2^816 for slopes to come out times 2^400,
// so that their squares come out times 2^384. Inverse gives v^-1·2^768.
var chainFactor = sync.OnceValue(func() fp.Element {
	var e fp.Element
	e.SetBigInt(new(big.Int).Lsh(big.NewInt(1), 48)) // times 2^384 by its Montgomery form
	return e
})

// invert puts the inverses of the products of the two chains in each lane, which the last
// two records hold, where the backward kernel starts from.
func (g *ifmaAdder[P, F, PF]) invert(groups int) bool {
	var prefix [2*lanes + 1]fp.Element
	prefix[0].SetOne()
	for i := range g.chains {
		g.chains[i] = fromLane(g.prefix(groups+1-i/lanes), i%lanes)
		prefix[i+1].Mul(&prefix[i], &g.chains[i])
	}
	acc := prefix[2*lanes]
	if acc.IsZero() {
		return false
	}
	acc.Inverse(&acc)
	factor := chainFactor()
	acc.Mul(&acc, &factor)
	for i := 2*lanes - 1; i >= 0; i-- {
		var inv fp.Element
		inv.Mul(&acc, &prefix[i])
		acc.Mul(&acc, &g.chains[i])
		toLane(g.tmp[i/lanes*vecWords:], i%lanes, &inv)
	}
	return true
}

// careful adds pairs of which some are equal, opposite or infinite: those one by one,
// the others in a batch.
func (g *ifmaAdder[P, F, PF]) careful(dst, src []P, a, b []entry, out []uint32) bool {
	n, clean := 0, true
	d := coordinates[P, F](dst)
	for i := range a {
		pair := [2]P{src[a[i]>>1], src[b[i]>>1]}
		g.canonical(&pair[0])
		g.canonical(&pair[1])
		c := coordinates[P, F](pair[:])
		var dx F
		PF(&dx).Sub(&c[1].X, &c[0].X)
		if PF(&dx).IsZero() || isInfinite[F, PF](&c[0]) || isInfinite[F, PF](&c[1]) {
			d[out[i]] = addSpecial[F, PF](signed[F, PF](&c[0], a[i]), signed[F, PF](&c[1], b[i]))
			clean = clean && !isInfinite[F, PF](&d[out[i]])
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
