package main

import "fmt"

// A record is what is kept of eight additions between the two kernels. All are vectors
// of eight elements of eight limbs, 512 bytes.
const (
	vec       = 512
	recX1     = 0 * vec // x1
	recSum    = 1 * vec // x1 + x2, not normalised
	recY1     = 2 * vec // y1, limbs with sign
	recDX     = 3 * vec // x2 - x1, normalised
	recDY     = 4 * vec // y2 - y1, normalised
	recPrefix = 5 * vec // product of the DX of this record, the second before it, ...
	recSize   = 6 * vec
)

// Scratch of the second kernel.
const (
	tmpInverse = 0 * vec // running inverse of the current record's chain
	tmpOther   = 1 * vec // and of the other chain
	tmpInv     = 2 * vec
	tmpLambda  = 3 * vec
	tmpD       = 4 * vec
)

func fpField(g *gen) *field {
	return &field{g: g, n: 8, acc: zs(0, 9), a: zs(10, 8), p: zs(18, 8),
		b: "Z26", q: "Z27", mask: "Z28", pinv: "Z29", tmp: "Z30", konst: "DX"}
}

func (g *gen) g1() {
	g.g1Forward()
	g.g1Backward()
}

// g1Forward: func g1Forward(k *uint64, rec *uint64, src *G1Affine, a, b *uint32, n int)
//
// For each of n groups of eight pairs of entries it fills a record.
func (g *gen) g1Forward() {
	f := fpField(g)
	g.line("")
	g.line("// func g1Forward(k, rec *uint64, src *byte, a, b *uint32, n int)")
	g.line("TEXT ·g1Forward(SB), NOSPLIT, $0-48")
	g.op("MOVQ", "k+0(FP)", "DX")
	g.op("MOVQ", "rec+8(FP)", "DI")
	g.op("MOVQ", "src+16(FP)", "SI")
	g.op("MOVQ", "a+24(FP)", "R8")
	g.op("MOVQ", "b+32(FP)", "R9")
	g.op("MOVQ", "n+40(FP)", "CX")
	f.loadConstants()
	g.op("MOVL", "$1", "AX")
	g.op("VPBROADCASTD", "AX", "Y31")
	g.label("forward")

	x, yy := g.g1Points(f, "R8", "K1")
	f.store(x, recX1, "DI")
	f.negateLanes(yy, "K1")
	f.store(yy, recY1, "DI")

	x, yy = g.g1Points(f, "R9", "K1")
	f.negateLanes(yy, "K1")
	f.subMem(recY1, "DI", yy)
	f.addMultiple(2, yy)
	f.normalise(yy)
	f.store(yy, recDY, "DI")
	// x2 + x1 goes through the registers of y, now free.
	for j := range x {
		g.op("VPADDQ", mem(recX1+64*j, "DI"), x[j], yy[j])
	}
	f.store(yy, recSum, "DI")
	f.subMem(recX1, "DI", x)
	f.addMultiple(2, x)
	f.normalise(x)
	f.store(x, recDX, "DI")
	f.move(x, f.a)
	t := f.mul(recPrefix-2*recSize, "DI", func(round int) { g.prefetch(round) })
	f.normalise(t)
	f.store(t, recPrefix, "DI")
	g.op("ADDQ", imm(32), "R8")
	g.op("ADDQ", imm(32), "R9")
	g.op("ADDQ", imm(recSize), "DI")
	g.op("DECQ", "CX")
	g.op("JNZ", "forward")
	g.op("VZEROUPPER")
	g.op("RET")
}

// ahead is how many groups ahead of use the points are fetched.
const ahead = 3

// prefetch fetches two of the sixteen points of a later group.
func (g *gen) prefetch(round int) {
	for _, list := range []string{"R8", "R9"} {
		g.op("MOVL", mem(4*(8*ahead+round), list), "AX")
		g.op("SHRL", imm(1), "AX")
		g.op("LEAQ", "(AX)(AX*2)", "AX")
		g.op("SHLQ", imm(5), "AX")
		g.op("PREFETCHT0", "(SI)(AX*1)")
		g.op("PREFETCHT0", "64(SI)(AX*1)")
	}
}

// g1Points loads the eight points of the entries at list as limbs of x and y, and the
// signs as a mask. It uses Z0 to Z25 but restores the modulus.
func (g *gen) g1Points(f *field, list, mask string) (x, yy []string) {
	addr := []string{"R10", "R11", "R12", "R13"}
	g.op("VMOVDQU32", mem(0, list), "Y30")
	g.op("VPTESTMD", "Y31", "Y30", mask)
	rows, tail := zs(0, 8), zs(8, 4)
	for i := range 8 {
		r := addr[i%len(addr)]
		g.op("MOVL", mem(4*i, list), r)
		g.op("SHRL", imm(1), r)
		g.op("LEAQ", fmt.Sprintf("(%s)(%s*2)", r, r), r)
		g.op("SHLQ", imm(5), r)
		g.op("VMOVDQU64", fmt.Sprintf("(SI)(%s*1)", r), rows[i])
		h := pairing[i]
		if h[1] == 0 {
			g.op("VMOVDQU", fmt.Sprintf("64(SI)(%s*1)", r), y(8+h[0]))
		} else {
			g.op("VINSERTI64X4", imm(1), fmt.Sprintf("64(SI)(%s*1)", r), tail[h[0]], tail[h[0]])
		}
	}
	cols := g.transpose8(rows, zs(12, 6+2))
	// cols are registers of 12..19; the rows 0..7 are free again.
	ycols := []string{cols[6], cols[7], "Z20", "Z21", "Z22", "Z23"}
	g.columns4(tail, ycols[2:], []string{"Z24", "Z25", "Z26", "Z27"})
	x, yy = zs(0, 8), nil
	f.to52(cols[:6], x)
	free := append(zs(8, 4), cols[:4]...)
	yy = free
	f.to52(ycols, yy)
	f.loadModulus()
	return x, yy
}

// g1Backward: func g1Backward(k, rec, tmp *uint64, dst *G1Affine, out *uint32, n int)
//
// rec and out point to the last of n groups; it goes from there to the first.
func (g *gen) g1Backward() {
	f := fpField(g)
	g.line("")
	g.line("// func g1Backward(k, rec, tmp *uint64, dst *byte, out *uint32, n int)")
	g.line("TEXT ·g1Backward(SB), NOSPLIT, $0-48")
	g.op("MOVQ", "k+0(FP)", "DX")
	g.op("MOVQ", "rec+8(FP)", "DI")
	g.op("MOVQ", "tmp+16(FP)", "R9")
	g.op("MOVQ", "dst+24(FP)", "SI")
	g.op("MOVQ", "out+32(FP)", "R8")
	g.op("MOVQ", "n+40(FP)", "CX")
	f.loadConstants()
	g.label("backward")
	g.comment("inverse of this record's DX, and the running inverse without it")
	f.load(f.a, tmpInverse, "R9")
	t := f.mul(recPrefix-2*recSize, "DI", nil)
	f.normalise(t)
	f.store(t, tmpInv, "R9")
	t = f.mul(recDX, "DI", nil)
	f.normalise(t)
	// The chains take turns: this one's value becomes the other's.
	for j, r := range t {
		g.op("VMOVDQU64", mem(tmpOther+64*j, "R9"), "Z31")
		g.op("VMOVDQU64", r, mem(tmpOther+64*j, "R9"))
		g.op("VMOVDQU64", "Z31", mem(tmpInverse+64*j, "R9"))
	}
	g.comment("lambda = DY/DX")
	f.load(f.a, tmpInv, "R9")
	t = f.mul(recDY, "DI", nil)
	f.normalise(t)
	f.store(t, tmpLambda, "R9")
	f.move(t, f.a)
	g.comment("x3 = lambda^2 - x1 - x2")
	t = f.mul(tmpLambda, "R9", nil)
	f.subMem(recSum, "DI", t)
	f.addMultiple(3, t)
	f.reduce(t)
	g.comment("y3 = lambda*(x1-x3)*2^16 - y1")
	f.store(t, tmpInv, "R9") // x3
	d := t
	for j := range d {
		g.op("VMOVDQU64", mem(recX1+64*j, "DI"), "Z31")
		g.op("VPSUBQ", d[j], "Z31", d[j])
	}
	f.addMultiple(2, d)
	f.normalise(d)
	f.shiftLeft(16, d)
	f.store(d, tmpD, "R9")
	t = f.mul(tmpD, "R9", nil)
	f.subMem(recY1, "DI", t)
	f.addMultiple(2, t)
	f.reduce(t)
	g.g1Store(f, t)
	g.op("SUBQ", imm(32), "R8")
	g.op("SUBQ", imm(recSize), "DI")
	g.op("DECQ", "CX")
	g.op("JNZ", "backward")
	g.op("VZEROUPPER")
	g.op("RET")
}

// g1Store writes eight points, x from tmpInv and y from t, to the places at R8.
func (g *gen) g1Store(f *field, t []string) {
	yw := zs(10, 6)
	f.to64(t, yw)
	f.load(zs(0, 8), tmpInv, "R9")
	xw := []string{"Z16", "Z17", "Z26", "Z27", "Z31", "Z9"}
	f.to64(zs(0, 8), xw)
	// The modulus' registers are scratch for the shuffles.
	rows := append(xw[:6:6], yw[:2]...)
	out := g.transpose8(rows, zs(18, 8))
	g.op("VMOVDQU64", mem(f.offVectors(), f.konst), "Z6")
	g.op("VMOVDQU64", mem(f.offVectors()+64, f.konst), "Z7")
	tail := []string{"Z8", "Z16", "Z17", "Z26"}
	g.rows4(yw[2:], tail, zs(0, 4), "Z6", "Z7")
	low := map[string]string{"Z8": "Y8", "Z16": "Y16", "Z17": "Y17", "Z26": "Y26"}
	for i := range 8 {
		r := []string{"R10", "R11", "R12", "R13"}[i%4]
		g.op("MOVL", mem(4*i, "R8"), r)
		g.op("LEAQ", fmt.Sprintf("(%s)(%s*2)", r, r), r)
		g.op("SHLQ", imm(5), r)
		g.op("VMOVDQU64", out[i], fmt.Sprintf("(SI)(%s*1)", r))
		h := pairing[i]
		if h[1] == 0 {
			g.op("VMOVDQU64", low[tail[h[0]]], fmt.Sprintf("64(SI)(%s*1)", r))
		} else {
			g.op("VEXTRACTI64X4", imm(1), tail[h[0]], fmt.Sprintf("64(SI)(%s*1)", r))
		}
	}
	f.loadModulus()
}
