package main

// field is a prime field in n limbs of 52 bits, and where its kernels keep things.
// A vector of eight elements in memory is n registers, 64 bytes apart.
type field struct {
	g *gen
	n int

	acc   []string // n+1 accumulators
	a     []string // n registers for the first factor
	p     []string // n registers that hold the modulus
	b     string   // a limb of the second factor
	q     string   // Montgomery's multiple of the modulus
	mask  string   // 2^52-1
	pinv  string   // -1/p mod 2^52
	tmp   string
	konst string // general register: address of the table of constants
}

// Offsets in the table of constants, in bytes, for n limbs.
func (f *field) offP(mult int) int { return 8 * f.n * (mult - 1) } // p, 2p, 3p
func (f *field) offN() int         { return 8 * f.n * 3 }          // 2^(52n) - p
func (f *field) offPinv() int      { return 8 * f.n * 4 }
func (f *field) offMask() int      { return f.offPinv() + 8 }
func (f *field) offMu() int        { return f.offPinv() + 16 } // 2^52 over the top limb of p plus 1
func (f *field) offSlack() int     { return f.offPinv() + 24 } // minus what lower limbs can borrow
func (f *field) offVectors() int   { return f.offPinv() + 32 } // vectors of eight words

// loadConstants fills the registers that hold constants.
func (f *field) loadConstants() {
	for j := range f.n {
		f.g.op("VPBROADCASTQ", mem(f.offP(1)+8*j, f.konst), f.p[j])
	}
	f.g.op("VPBROADCASTQ", mem(f.offPinv(), f.konst), f.pinv)
	f.g.op("VPBROADCASTQ", mem(f.offMask(), f.konst), f.mask)
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

// mul multiplies the vector in f.a by the vector at off(base), divided by 2^(52n), modulo
// p. The factors have normalised limbs, and their product is below 2^(52n)·p/2^13. The
// result is below p·(1+2^-13), in the returned registers, limbs below 2^60: to be
// normalised, or to be added to others first.
//
// It is Montgomery's multiplication limb by limb of the second factor; the accumulators
// move down by renaming. between, if not nil, is called once a round to mix in code that
// uses none of the field's registers.
func (f *field) mul(off int, base string, between func(round int)) []string {
	return f.multiply("VMOVDQU64", 64, off, base, between)
}

// mulBroadcast is mul by one element, n words at off(base), in all lanes.
func (f *field) mulBroadcast(off int, base string) []string {
	return f.multiply("VPBROADCASTQ", 8, off, base, nil)
}

func (f *field) multiply(load string, step, off int, base string, between func(round int)) []string {
	g, n := f.g, f.n
	reg := func(i, j int) string { return f.acc[(i+j)%(n+1)] }
	for _, r := range f.acc {
		g.op("VPXORQ", r, r, r)
	}
	for i := range n {
		t := func(j int) string { return reg(i, j) }
		g.op(load, mem(off+step*i, base), f.b)
		g.op("VPMADD52LUQ", f.b, f.a[0], t(0))
		g.op("VPXORQ", f.q, f.q, f.q)
		for j := 1; j < n; j++ {
			if j == 3 {
				g.op("VPMADD52LUQ", f.pinv, t(0), f.q)
			}
			g.op("VPMADD52LUQ", f.b, f.a[j], t(j))
		}
		for j := range n {
			g.op("VPMADD52HUQ", f.b, f.a[j], t(j+1))
		}
		g.op("VPMADD52LUQ", f.q, f.p[0], t(0))
		g.op("VPMADD52HUQ", f.q, f.p[0], t(1))
		for j := 2; j < n; j++ {
			g.op("VPMADD52LUQ", f.q, f.p[j], t(j))
		}
		g.op("VPMADD52LUQ", f.q, f.p[1], t(1))
		g.op("VPSRLQ", imm(52), t(0), f.tmp)
		g.op("VPADDQ", f.tmp, t(1), t(1))
		for j := 1; j < n; j++ {
			g.op("VPMADD52HUQ", f.q, f.p[j], t(j+1))
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
