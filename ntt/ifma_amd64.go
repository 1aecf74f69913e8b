//go:build amd64 && !purego

package ntt

import (
	"math/big"
	"sync"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sys/cpu"
)

//go:generate go run ../internal/ifmagen -part ntt -out ntt_ifma_amd64.s

// The kernels work on buffers of vectors: eight field elements side by side, limb by limb
// (five limbs of 52 bits, each in a 64-bit word). Their comments are in internal/ifmagen.

//go:noescape
func nttLoad(k, buf *uint64, src *byte, lane, step, n uintptr)

//go:noescape
func nttStore(k, buf *uint64, dst *byte, lane, step, n uintptr)

//go:noescape
func nttStoreReversed(k, buf *uint64, dst *byte, lane, step, n uintptr, perm *uint32)

//go:noescape
func nttFirst(k, buf, tw *uint64, half, blocks uintptr)

//go:noescape
func nttBlocks(k, buf, tw *uint64, half, blocks uintptr)

//go:noescape
func nttWithin(k, buf, tw *uint64, half, blocks uintptr)

//go:noescape
func nttTwist(k, buf *uint64, perm *uint32, chain, step *uint64, n uintptr)

//go:noescape
func nttMul(k, buf, y *uint64, n uintptr)

//go:noescape
func nttScale(k, buf, y *uint64, n uintptr)

//go:noescape
func nttSub(k, buf, y *uint64, n uintptr)

//go:noescape
func nttReduce(k, buf *uint64, n uintptr)

func haveIFMA() bool {
	x := cpu.X86
	return x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL && x.HasAVX512IFMA
}

const (
	lanes    = 8
	limbs    = 5
	vecWords = lanes * limbs
	mask52   = 1<<52 - 1
)

// ifmaConstants is the table that the kernels read: r, 2r, 3r, 4r, 2^260-r in limbs, then
// single words, then vectors of indices.
var ifmaConstants = sync.OnceValue(func() *[5*limbs + 4 + 16]uint64 {
	t := new([5*limbs + 4 + 16]uint64)
	r := fr.Modulus()
	put := func(at int, v *big.Int) {
		v = new(big.Int).Set(v)
		for j := range limbs {
			t[at+j] = new(big.Int).And(v, big.NewInt(mask52)).Uint64()
			v.Rsh(v, 52)
		}
	}
	for m := range 4 {
		put(m*limbs, new(big.Int).Mul(r, big.NewInt(int64(m+1))))
	}
	put(4*limbs, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 52*limbs), r))
	two52 := new(big.Int).Lsh(big.NewInt(1), 52)
	inv := new(big.Int).ModInverse(r, two52)
	one := t[5*limbs:]
	one[0] = new(big.Int).Sub(two52, inv).Uint64()
	one[1] = mask52
	one[2] = (1 << 52) / (t[limbs-1] + 1)
	copy(one[4:], []uint64{0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15})
	return t
})

// toLimbs writes 16·e in limbs. Data keep gnark-crypto's Montgomery form, times 2^256,
// but the kernels' products lose 2^260: a factor that leaves the form of data as it is
// must come times 2^260.
func toLimbs(dst []uint64, stride int, e fr.Element) {
	sixteen := fr.NewElement(16)
	e.Mul(&e, &sixteen)
	dst[0] = e[0] & mask52
	dst[stride] = (e[0]>>52 | e[1]<<12) & mask52
	dst[2*stride] = (e[1]>>40 | e[2]<<24) & mask52
	dst[3*stride] = (e[2]>>28 | e[3]<<36) & mask52
	dst[4*stride] = e[3] >> 16
}

// broadcastTable is a list of factors for all lanes alike.
func broadcastTable(v []fr.Element) []uint64 {
	t := make([]uint64, len(v)*limbs)
	for i := range v {
		toLimbs(t[i*limbs:], 1, v[i])
	}
	return t
}

// buffer is the scratch of a worker: vectors for one tile and some more.
type buffer struct {
	k     *uint64
	data  []uint64
	chunk []uint64 // chunkVectors vectors
	chain []uint64 // four vectors and one
}

// chunkVectors is how many vectors of a second operand are loaded at once.
const chunkVectors = 64

func newBuffer(vectors int) *buffer {
	return &buffer{
		k:     &ifmaConstants()[0],
		data:  aligned(vectors * vecWords),
		chunk: aligned(chunkVectors * vecWords),
		chain: aligned(5 * vecWords),
	}
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

// tile says where eight lanes of n elements are in a vector.
type tile struct {
	v          []fr.Element
	first      int // lane 0, element 0
	lane, step int // in elements
	n          int
}

func (t tile) end() int { return t.first + t.lane*(lanes-1) + t.step*(t.n-1) }

// base is the address of the tile's first element; the last must exist.
func (t tile) base() *byte {
	_ = t.v[t.end()]
	return (*byte)(unsafe.Pointer(&t.v[t.first]))
}

func (b *buffer) load(t tile) {
	nttLoad(b.k, &b.data[0], t.base(), uintptr(t.lane*fr.Bytes), uintptr(t.step*fr.Bytes), uintptr(t.n))
}

func (b *buffer) store(t tile) {
	nttStore(b.k, &b.data[0], t.base(), uintptr(t.lane*fr.Bytes), uintptr(t.step*fr.Bytes), uintptr(t.n))
}

// storeReversed writes vector perm[i] as element i, and lane l as lane rev(l), rev
// reversing three bits.
func (b *buffer) storeReversed(t tile, perm []uint32) {
	_ = perm[t.n-1]
	nttStoreReversed(b.k, &b.data[0], t.base(), uintptr(t.lane*fr.Bytes), uintptr(t.step*fr.Bytes), uintptr(t.n), &perm[0])
}

// chunks calls fn for the vectors of a tile, loaded a chunk at a time.
func (b *buffer) chunks(t tile, fn func(at *uint64, n uintptr)) {
	for from := 0; from < t.n; from += chunkVectors {
		part := t
		part.first, part.n = t.first+from*t.step, min(chunkVectors, t.n-from)
		nttLoad(b.k, &b.chunk[0], part.base(), uintptr(t.lane*fr.Bytes), uintptr(t.step*fr.Bytes), uintptr(part.n))
		fn(&b.data[from*vecWords], uintptr(part.n))
	}
}

// mul multiplies the buffer by the elements of a tile, and by 2^-4.
func (b *buffer) mul(t tile) {
	b.chunks(t, func(at *uint64, n uintptr) { nttMul(b.k, at, &b.chunk[0], n) })
}

// sub subtracts the elements of a tile.
func (b *buffer) sub(t tile) {
	b.chunks(t, func(at *uint64, n uintptr) { nttSub(b.k, at, &b.chunk[0], n) })
}

func (b *buffer) scale(table []uint64, n int) {
	_ = table[n*limbs-1]
	nttScale(b.k, &b.data[0], &table[0], uintptr(n))
}

func (b *buffer) reduce(n int) { nttReduce(b.k, &b.data[0], uintptr(n)) }

// twist multiplies element i of lane l (at vector perm[i]) by start[l]·base[l]^i.
func (b *buffer) twist(perm []uint32, start, base *[lanes]fr.Element, n int) {
	_ = perm[n-1]
	for l := range lanes {
		x, step := start[l], base[l]
		for q := range 4 {
			toLimbs(b.chain[q*vecWords+l:], lanes, x)
			x.Mul(&x, &base[l])
		}
		step.Square(&step)
		step.Square(&step)
		toLimbs(b.chain[4*vecWords+l:], lanes, step)
	}
	nttTwist(b.k, &b.data[0], &perm[0], &b.chain[0], &b.chain[4*vecWords], uintptr(n/4))
}
