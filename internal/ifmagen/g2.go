package main

import "fmt"

// Layout of a record of eight additions in G2, as for G1 but with two components each,
// and of the second kernel's scratch.
const (
	rec2X1     = 0 * vec
	rec2Sum    = 2 * vec
	rec2Y1     = 4 * vec
	rec2DX     = 6 * vec
	rec2DY     = 8 * vec
	rec2Norm   = 10 * vec // norm of DX in the base field, normalised
	rec2Prefix = 11 * vec // product of the norms of this record, the second before it, ...
	rec2Size   = 12 * vec

	tmp2Inverse = 0 * vec
	tmp2Other   = 1 * vec
	tmp2Inv     = 2 * vec
	tmp2W       = 3 * vec // two components
	tmp2Lambda  = 5 * vec
	tmp2S       = 7 * vec
	tmp2D       = 8 * vec
	tmp2X3      = 10 * vec
)

// fp2Field keeps the modulus in memory, since two factors need its registers.
func fp2Field(g *gen) *field {
	return &field{g: g, n: 8, acc: zs(0, 9), a: zs(9, 8), a2: zs(17, 8),
		b: "Z25", b2: "Z26", q: "Z27", mask: "Z28", pinv: "Z29", tmp: "Z30", konst: "DX"}
}

func (g *gen) g2() {
	g.g2Forward()
	g.g2Backward()
}

// g2Forward fills a record for each of n groups of eight pairs of entries.
func (g *gen) g2Forward() {
	f := fp2Field(g)
	g.line("")
	g.line("// func g2Forward(k, rec *uint64, src *byte, a, b *uint32, n int)")
	g.line("TEXT ·g2Forward(SB), NOSPLIT, $0-48")
	g.op("MOVQ", "k+0(FP)", "DX")
	g.op("MOVQ", "rec+8(FP)", "DI")
	g.op("MOVQ", "src+16(FP)", "SI")
	g.op("MOVQ", "a+24(FP)", "R8")
	g.op("MOVQ", "b+32(FP)", "R9")
	g.op("MOVQ", "n+40(FP)", "CX")
	f.loadConstants()
	g.label("forward")
	g.g2Points(f, "R8", func(c int, l []string) {
		if c < 2 {
			f.store(l, rec2X1+vec*c, "DI")
			return
		}
		f.negateLanes(l, "K1")
		f.store(l, rec2Y1+vec*(c-2), "DI")
	})
	g.g2Points(f, "R9", func(c int, l []string) {
		first, diff := rec2X1+vec*c, rec2DX+vec*c
		if c < 2 {
			for j, r := range l {
				g.op("VPADDQ", mem(first+64*j, "DI"), r, "Z0")
				g.op("VMOVDQU64", "Z0", mem(rec2Sum+vec*c+64*j, "DI"))
			}
		} else {
			first, diff = rec2Y1+vec*(c-2), rec2DY+vec*(c-2)
			f.negateLanes(l, "K1")
		}
		f.subMem(first, "DI", l)
		f.addMultiple(2, l)
		f.normalise(l)
		f.store(l, diff, "DI")
	})
	fetch := func(round int) {
		for _, list := range []string{"R8", "R9"} {
			g.prefetch2("SI", list, 8*ahead+round)
		}
	}
	f.load(f.a, rec2DX, "DI")
	f.load(f.a2, rec2DX+vec, "DI")
	t := f.mulSum(rec2DX, rec2DX+vec, "DI", fetch)
	f.normalise(t)
	f.store(t, rec2Norm, "DI")
	f.move(t, f.a)
	t = f.mul(rec2Prefix-2*rec2Size, "DI", nil)
	f.normalise(t)
	f.store(t, rec2Prefix, "DI")
	g.op("ADDQ", imm(32), "R8")
	g.op("ADDQ", imm(32), "R9")
	g.op("ADDQ", imm(rec2Size), "DI")
	g.op("DECQ", "CX")
	g.op("JNZ", "forward")
	g.end()
}

// g2Address puts 192 times the index of entry i of a list into r.
func (g *gen) g2Address(list string, i int, r string, entry bool) {
	g.op("MOVL", mem(4*i, list), r)
	if entry {
		g.op("SHRL", imm(1), r)
	}
	g.op("LEAQ", fmt.Sprintf("(%s)(%s*2)", r, r), r)
	g.op("SHLQ", imm(6), r)
}

func (g *gen) prefetch2(src, list string, i int) {
	g.g2Address(list, i, "AX", true)
	for off := 0; off < 192; off += 64 {
		g.op("PREFETCHT0", fmt.Sprintf("%d(%s)(AX*1)", off, src))
	}
}

// g2Points loads the eight points of the entries at list and calls emit with the limbs of
// their four coordinates in turn. K1 is set to their signs. It uses Z0 to Z27 and Z30,
// and emit may use Z0 to Z7.
func (g *gen) g2Points(f *field, list string, emit func(c int, l []string)) {
	g.op("MOVL", "$1", "AX")
	g.op("VPBROADCASTD", "AX", "Y0")
	g.op("VMOVDQU32", mem(0, list), "Y1")
	g.op("VPTESTMD", "Y0", "Y1", "K1")
	hold, limbs := zs(16, 4), zs(20, 8)
	var held []string
	c := 0
	for block := range 3 {
		rows := zs(0, 8)
		for i := range 8 {
			r := []string{"R10", "R11", "R12", "R13"}[i%4]
			g.g2Address(list, i, r, true)
			g.op("VMOVDQU64", fmt.Sprintf("%d(SI)(%s*1)", 64*block, r), rows[i])
		}
		words := append(held, g.transpose8(rows, zs(8, 8))...)
		for len(words) >= 6 {
			f.to52(words[:6], limbs)
			words = words[6:]
			if len(words) < 6 {
				// What is left moves out of the way of the next block.
				for i, w := range words {
					if w != hold[i] {
						g.op("VMOVDQA64", w, hold[i])
					}
				}
				words = hold[:len(words)]
			}
			emit(c, limbs)
			c++
		}
		held = append([]string(nil), words...)
	}
}

// g2Backward is g1Backward over the quadratic extension: the slope is DY times the
// conjugate of DX, times the inverse of DX's norm.
func (g *gen) g2Backward() {
	f := fp2Field(g)
	g.line("")
	g.line("// func g2Backward(k, rec, tmp *uint64, dst *byte, out *uint32, n int)")
	g.line("TEXT ·g2Backward(SB), NOSPLIT, $0-48")
	g.op("MOVQ", "k+0(FP)", "DX")
	g.op("MOVQ", "rec+8(FP)", "DI")
	g.op("MOVQ", "tmp+16(FP)", "R9")
	g.op("MOVQ", "dst+24(FP)", "SI")
	g.op("MOVQ", "out+32(FP)", "R8")
	g.op("MOVQ", "n+40(FP)", "CX")
	f.loadConstants()
	g.label("backward")
	g.comment("inverse of this record's norm, and the running inverse without it")
	f.load(f.a, tmp2Inverse, "R9")
	t := f.mul(rec2Prefix-2*rec2Size, "DI", nil)
	f.normalise(t)
	f.store(t, tmp2Inv, "R9")
	t = f.mul(rec2Norm, "DI", nil)
	f.normalise(t)
	for j, r := range t {
		g.op("VMOVDQU64", mem(tmp2Other+64*j, "R9"), "Z31")
		g.op("VMOVDQU64", r, mem(tmp2Other+64*j, "R9"))
		g.op("VMOVDQU64", "Z31", mem(tmp2Inverse+64*j, "R9"))
	}
	g.g2Slope(f)
	g.g2Abscissa(f)
	g.g2Ordinate(f)
	g.op("SUBQ", imm(32), "R8")
	g.op("SUBQ", imm(rec2Size), "DI")
	g.op("DECQ", "CX")
	g.op("JNZ", "backward")
	g.end()
}

func (g *gen) g2Slope(f *field) {
	g.comment("w = DY times the conjugate of DX")
	f.load(f.a, rec2DY, "DI")
	f.load(f.a2, rec2DY+vec, "DI")
	t := f.mulSum(rec2DX, rec2DX+vec, "DI", nil)
	f.normalise(t)
	f.store(t, tmp2W, "R9")
	f.load(f.a, rec2DY+vec, "DI")
	f.negated(f.a2, 4, rec2DY, "DI")
	t = f.mulSum(rec2DX, rec2DX+vec, "DI", nil)
	f.normalise(t)
	f.store(t, tmp2W+vec, "R9")
	g.comment("lambda")
	f.load(f.a, tmp2Inv, "R9")
	for c := range 2 {
		t = f.mul(tmp2W+vec*c, "R9", nil)
		f.normalise(t)
		f.store(t, tmp2Lambda+vec*c, "R9")
	}
}

func (g *gen) g2Abscissa(f *field) {
	g.comment("x3 = lambda^2 - x1 - x2")
	f.load(f.a, tmp2Lambda, "R9")
	f.load(f.a2, tmp2Lambda, "R9")
	f.addMem(tmp2Lambda+vec, "R9", f.a)
	f.normalise(f.a)
	f.subMem(tmp2Lambda+vec, "R9", f.a2)
	f.addMultiple(2, f.a2)
	f.normalise(f.a2)
	f.store(f.a2, tmp2S, "R9")
	finish := func(t []string, c int) {
		f.subMem(rec2Sum+vec*c, "DI", t)
		f.addMultiple(3, t)
		f.reduce(t)
		f.store(t, tmp2X3+vec*c, "R9")
		// The factor of the ordinate, (x1-x3)·2^16.
		for j := range t {
			g.op("VMOVDQU64", mem(rec2X1+vec*c+64*j, "DI"), "Z31")
			g.op("VPSUBQ", t[j], "Z31", t[j])
		}
		f.addMultiple(2, t)
		f.normalise(t)
		f.shiftLeft(16, t)
		f.store(t, tmp2D+vec*c, "R9")
	}
	finish(f.mul(tmp2S, "R9", nil), 0)
	f.load(f.a, tmp2Lambda, "R9")
	for _, r := range f.a {
		g.op("VPADDQ", r, r, r)
	}
	f.normalise(f.a)
	finish(f.mul(tmp2Lambda+vec, "R9", nil), 1)
}

func (g *gen) g2Ordinate(f *field) {
	g.comment("y3 = lambda·(x1-x3) - y1")
	f.load(f.a, tmp2Lambda, "R9")
	f.load(f.a2, tmp2Lambda+vec, "R9")
	t := f.mulSum(tmp2D+vec, tmp2D, "R9", nil)
	f.subMem(rec2Y1+vec, "DI", t)
	f.addMultiple(2, t)
	f.reduce(t)
	f.store(t, tmp2W+vec, "R9")
	f.negated(f.a2, 2, tmp2Lambda+vec, "R9")
	t = f.mulSum(tmp2D, tmp2D+vec, "R9", nil)
	f.subMem(rec2Y1, "DI", t)
	f.addMultiple(2, t)
	f.reduce(t)
	f.store(t, tmp2W, "R9")
	g.g2Store(f)
}

// g2Store writes eight points, x from tmp2X3 and y from tmp2W, to the places at R8.
func (g *gen) g2Store(f *field) {
	var words []string
	coordinate := []int{tmp2X3, tmp2X3 + vec, tmp2W, tmp2W + vec}
	block := 0
	for _, at := range coordinate {
		// Words that wait are in 16 to 21, new ones go after them.
		f.load(zs(0, 8), at, "R9")
		first := 16 + len(words)
		w := zs(first, 6)
		f.to64(zs(0, 8), w)
		words = append(words, w...)
		for len(words) >= 8 {
			rows := g.transpose8(words[:8], zs(8, 8))
			for i := range 8 {
				r := []string{"R10", "R11", "R12", "R13"}[i%4]
				g.g2Address("R8", i, r, false)
				g.op("VMOVDQU64", rows[i], fmt.Sprintf("%d(SI)(%s*1)", 64*block, r))
			}
			block++
			rest := words[8:]
			for i, w := range rest {
				g.op("VMOVDQA64", w, z(16+i))
			}
			words = zs(16, len(rest))
		}
	}
}
