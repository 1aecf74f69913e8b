package main

// field is a prime field in n limbs of 52 bits, and where its kernels keep things.
// A vector of eight elements in memory is n registers, 64 bytes apart.
type field struct {
	g *gen
	n int

	acc   []string // n+1 accumulators
	a     []string // n registers for the first factor
	a2    []string // n for the first factor of a second product, if any
	p     []string // n registers that hold the modulus; none if it is read from memory
	b     string   // a limb of the second factor
	b2    string   // and of a second product's
	q     string   // Montgomery's multiple of the modulus
	mask  string   // 2^52-1
	pinv  string   // -1/p mod 2^52
	tmp   string
	konst string // general register: address of the table of constants
}

// Offsets in the table of constants, in bytes, for n limbs.
func (f *field) offP(mult int) int { return 8 * f.n * (mult - 1) } // p, 2p, 3p, 4p
func (f *field) offN() int         { return 8 * f.n * 4 }          // 2^(52n) - p
func (f *field) offPinv() int      { return 8 * f.n * 5 }
func (f *field) offMask() int      { return f.offPinv() + 8 }
func (f *field) offMu() int        { return f.offPinv() + 16 } // 2^52 over the top limb of p plus 1
func (f *field) offSlack() int     { return f.offPinv() + 24 } // minus what lower limbs can borrow
func (f *field) offVectors() int   { return f.offPinv() + 32 } // vectors of eight words

// loadConstants fills the registers that hold constants.
func (f *field) loadConstants() {
	f.loadModulus()
	f.g.op("VPBROADCASTQ", mem(f.offPinv(), f.konst), f.pinv)
	f.g.op("VPBROADCASTQ", mem(f.offMask(), f.konst), f.mask)
}

func (f *field) loadModulus() {
	for j := range f.p {
		f.g.op("VPBROADCASTQ", mem(f.offP(1)+8*j, f.konst), f.p[j])
	}
}

// withModulus does op with limb j of the modulus.
func (f *field) withModulus(op string, j int, operands ...string) {
	p := mem(f.offP(1)+8*j, f.konst)
	if f.p != nil {
		p = f.p[j]
	} else {
		op += ".BCST"
	}
	f.g.op(op, append([]string{p}, operands...)...)
}

func (f *field) load(regs []string, off int, base string) {
	for j, r := range regs {
		f.g.op("VMOVDQU64", mem(off+64*j, base), r)
	}
}

func (f *field) store(regs []string, off int, base string) {
	for j, r := range regs {
		f.g.op("VMOVDQU64", r, mem(off+64*j, base))
	}
}

// factors are the two sides of a product: registers, and memory of one limb every step
// bytes, read with the instruction load.
type factors struct {
	a    []string
	load string
	step int
	off  int
	base string
	b    string
}

// mul multiplies the vector in f.a by the vector at off(base), divided by 2^(52n), modulo
// p. The factors have normalised limbs, and their product is below 2^(52n)·p/2^13. The
// result is below p·(1+2^-13), in the returned registers, limbs below 2^60: to be
// normalised, or to be added to others first.
//
// between, if not nil, is called once a round to mix in code that uses none of the
// field's registers.
func (f *field) mul(off int, base string, between func(round int)) []string {
	return f.multiply(between, factors{f.a, "VMOVDQU64", 64, off, base, f.b})
}

// mulSum is the sum of f.a times the vector at off and f.a2 times that at off2.
func (f *field) mulSum(off, off2 int, base string, between func(round int)) []string {
	return f.multiply(between, factors{f.a, "VMOVDQU64", 64, off, base, f.b}, factors{f.a2, "VMOVDQU64", 64, off2, base, f.b2})
}

// mulBroadcast is mul by one element, n words at off(base), in all lanes.
func (f *field) mulBroadcast(off int, base string) []string {
	return f.multiply(nil, factors{f.a, "VPBROADCASTQ", 8, off, base, f.b})
}

// multiply is Montgomery's multiplication, limb by limb of the second factors; the
// accumulators move down by renaming.
func (f *field) multiply(between func(round int), products ...factors) []string {
	g, n := f.g, f.n
	reg := func(i, j int) string { return f.acc[(i+j)%(n+1)] }
	for _, r := range f.acc {
		g.op("VPXORQ", r, r, r)
	}
	for i := range n {
		t := func(j int) string { return reg(i, j) }
		for _, x := range products {
			g.op(x.load, mem(x.off+x.step*i, x.base), x.b)
		}
		for _, x := range products {
			g.op("VPMADD52LUQ", x.b, x.a[0], t(0))
		}
		g.op("VPXORQ", f.q, f.q, f.q)
		for k, x := range products {
			for j := 1; j < n; j++ {
				if j == 3 && k == len(products)-1 {
					g.op("VPMADD52LUQ", f.pinv, t(0), f.q)
				}
				g.op("VPMADD52LUQ", x.b, x.a[j], t(j))
			}
		}
		for _, x := range products {
			for j := range n {
				g.op("VPMADD52HUQ", x.b, x.a[j], t(j+1))
			}
		}
		f.withModulus("VPMADD52LUQ", 0, f.q, t(0))
		f.withModulus("VPMADD52HUQ", 0, f.q, t(1))
		for j := 2; j < n; j++ {
			f.withModulus("VPMADD52LUQ", j, f.q, t(j))
		}
		f.withModulus("VPMADD52LUQ", 1, f.q, t(1))
		g.op("VPSRLQ", imm(52), t(0), f.tmp)
		g.op("VPADDQ", f.tmp, t(1), t(1))
		for j := 1; j < n; j++ {
			f.withModulus("VPMADD52HUQ", j, f.q, t(j+1))
		}
		// What was limb 0 is done with and becomes the next top limb.
		g.op("VPXORQ", t(0), t(0), t(0))
		if between != nil {
			between(i)
		}
	}
	out := make([]string, n)
	for j := range out {
		out[j] = reg(n, j)
	}
	return out
}

// move copies registers.
func (f *field) move(from, to []string) {
	for j := range from {
		f.g.op("VMOVDQA64", from[j], to[j])
	}
}

// negated loads mult·p minus the vector at off(base), normalised.
func (f *field) negated(dst []string, mult, off int, base string) {
	for j, r := range dst {
		f.g.op("VPBROADCASTQ", mem(f.offP(mult)+8*j, f.konst), r)
	}
	f.subMem(off, base, dst)
	f.normalise(dst)
}

// negateLanes replaces the lanes of v that mask names by p - v, limb by limb.
func (f *field) negateLanes(v []string, mask string) {
	for j := range v {
		p := f.tmp
		if f.p != nil {
			p = f.p[j]
		} else {
			f.g.op("VPBROADCASTQ", mem(f.offP(1)+8*j, f.konst), p)
		}
		f.g.op("VPSUBQ", v[j], p, mask, v[j])
	}
}

// normalise carries, with sign, from limb to limb, and cuts the top limb to 52 bits.
func (f *field) normalise(t []string) {
	for j := 0; j+1 < f.n; j++ {
		f.g.op("VPSRAQ", imm(52), t[j], f.tmp)
		f.g.op("VPANDQ", f.mask, t[j], t[j])
		f.g.op("VPADDQ", f.tmp, t[j+1], t[j+1])
	}
	f.g.op("VPANDQ", f.mask, t[f.n-1], t[f.n-1])
}

// reduce normalises t, a positive value below some 8p in limbs of less than 2^58 with
// sign, and brings it below p·(1+2^-9), by subtracting the multiple of p that the top limb
// shows. Adding e·(2^(52n)-p) and dropping what exceeds 52n bits subtracts e·p.
func (f *field) reduce(t []string) {
	f.g.op("VPADDQ.BCST", mem(f.offSlack(), f.konst), t[f.n-1], f.tmp)
	f.subtractMultiple(t, f.tmp)
	f.normalise(t)
}

// subtractMultiple subtracts the multiple of p that top, at most the top limb of t, shows.
func (f *field) subtractMultiple(t []string, top string) {
	g := f.g
	g.op("VPXORQ", f.q, f.q, f.q)
	g.op("VPMADD52HUQ.BCST", mem(f.offMu(), f.konst), top, f.q)
	for j := range f.n {
		g.op("VPMADD52LUQ.BCST", mem(f.offN()+8*j, f.konst), f.q, t[j])
	}
	for j := range f.n - 1 {
		g.op("VPMADD52HUQ.BCST", mem(f.offN()+8*j, f.konst), f.q, t[j+1])
	}
}

// addMultiple adds mult times p, limb by limb.
func (f *field) addMultiple(mult int, t []string) {
	for j := range t {
		f.g.op("VPADDQ.BCST", mem(f.offP(mult)+8*j, f.konst), t[j], t[j])
	}
}

// addMem and subMem add or subtract a vector in memory, limb by limb.
func (f *field) addMem(off int, base string, t []string) {
	for j := range t {
		f.g.op("VPADDQ", mem(off+64*j, base), t[j], t[j])
	}
}

func (f *field) subMem(off int, base string, t []string) {
	for j := range t {
		f.g.op("VPSUBQ", mem(off+64*j, base), t[j], t[j])
	}
}

// shiftLeft multiplies t, normalised, by 2^k, k < 52. The result may not exceed 52n bits.
func (f *field) shiftLeft(k int, t []string) {
	for j := f.n - 1; j > 0; j-- {
		f.g.op("VPSRLQ", imm(52-k), t[j-1], f.tmp)
		f.g.op("VPSLLQ", imm(k), t[j], t[j])
		f.g.op("VPTERNLOGQ", imm(orAnd), f.mask, f.tmp, t[j])
	}
	f.g.op("VPSLLQ", imm(k), t[0], t[0])
	f.g.op("VPANDQ", f.mask, t[0], t[0])
}

// orAnd makes VPTERNLOGQ compute (destination | second) & first, in Go's operand order.
const orAnd = 0xa8
