package synth

// AllocBitWords allocates n consecutive aux bits, bit 0 of words[0] first, and returns the first: AllocBits for many
// bits at once. Bits of words at n and above must be zero.
func (b *Builder) AllocBitWords(words []uint64, n int) Var {
	x := AuxVar(b.aux)
	if b.mode == Assign && n >= 64 {
		b.aux += n &^ 63
		b.asg.words(words[:n>>6])
		words, n = words[n>>6:], n&63
	}
	for ; n > 64; n -= 64 {
		b.AllocBits(words[0], 64)
		words = words[1:]
	}
	if n > 0 {
		b.AllocBits(words[0], n)
	}
	return x
}

// words is bits for whole words.
func (w *writer) words(v []uint64) {
	if w.aux+64*len(v) > w.s.aux {
		panic(shapePanic{"aux variables"})
	}
	sh := uint(w.aux & 63)
	w.aux += 64 * len(v)
	w.acc |= v[0] << sh
	w.store()
	acc := v[0] >> (63 - sh) >> 1
	dst := w.a.Bits[w.word : w.word+len(v)-1]
	for i, x := range v[1:] {
		dst[i] = acc | x<<sh
		acc = x >> (63 - sh) >> 1
	}
	w.word += len(dst)
	w.acc = acc
}
