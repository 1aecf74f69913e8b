package synth

import "math/bits"

// bitset is a growing or fixed set of bits, LSB first.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (s bitset) get(i int) bool { return s[i>>6]>>(i&63)&1 == 1 }
func (s bitset) set(i int)      { s[i>>6] |= 1 << (i & 63) }

// word gives the up to 64 bits from position i on; bits beyond the set are zero.
func (s bitset) word(i int) uint64 {
	w, sh := i>>6, i&63
	if w >= len(s) {
		return 0
	}
	v := s[w] >> sh
	if sh != 0 && w+1 < len(s) {
		v |= s[w+1] << (64 - sh)
	}
	return v
}

// orAt sets dst[off+i] for every set src[i], i < n.
func (s bitset) orAt(off int, src bitset, n int) {
	for i := 0; i < n; i += 64 {
		v := src[i>>6]
		if n-i < 64 {
			v &= 1<<(n-i) - 1
		}
		p := off + i
		sh := p & 63
		s[p>>6] |= v << sh
		if hi := v >> (63 - sh) >> 1; hi != 0 {
			s[p>>6+1] |= hi
		}
	}
}

// appendRun appends n copies of bit v to a set that holds have bits.
func appendRun(s bitset, have, n int, v bool) bitset {
	for len(s)*64 < have+n {
		s = append(s, 0)
	}
	if !v {
		return s
	}
	for i := have; i < have+n; {
		if i&63 == 0 && have+n-i >= 64 {
			s[i>>6] = ^uint64(0)
			i += 64
			continue
		}
		s.set(i)
		i++
	}
	return s
}

// rank answers how many bits are set before a position, with one counter for each 512 bits.
type rank struct {
	set  bitset
	base []uint32
}

func newRank(s bitset) rank {
	base := make([]uint32, len(s)/8+1)
	n := uint32(0)
	for i, w := range s {
		if i&7 == 0 {
			base[i>>3] = n
		}
		n += uint32(bits.OnesCount64(w))
	}
	if len(s)&7 == 0 {
		base[len(s)>>3] = n
	}
	return rank{s, base}
}

// before counts the set bits at positions below i.
func (r *rank) before(i int) int {
	w := i >> 6
	n := int(r.base[w>>3])
	for j := w &^ 7; j < w; j++ {
		n += bits.OnesCount64(r.set[j])
	}
	if i&63 != 0 {
		n += bits.OnesCount64(r.set[w] & (1<<(i&63) - 1))
	}
	return n
}
