package main

import "fmt"

// Kernels of package ntt. A buffer holds vectors of eight elements of five limbs, 320
// bytes each; limbs carry signs and need not be normalised unless said otherwise.
const frVec = 5 * 64

func frField(g *gen) *field {
	return &field{g: g, n: 5, acc: zs(0, 6), a: zs(6, 5), p: zs(11, 5),
		b: "Z16", q: "Z17", mask: "Z18", pinv: "Z19", tmp: "Z20", konst: "DX"}
}

func (g *gen) ntt() {
	f := frField(g)
	g.nttLoad(f)
	g.nttStore(f, "nttStore", false)
	g.nttStore(f, "nttStoreReversed", true)
	g.nttLevel(f, "nttFirst", twiddleOne)
	g.nttLevel(f, "nttBlocks", twiddlePerBlock)
	g.nttLevel(f, "nttWithin", twiddleWithin)
	g.nttTwist(f)
	g.nttMul(f, "nttMul", false)
	g.nttMul(f, "nttScale", true)
	g.nttSub(f)
	g.nttReduce(f)
}

// begin opens a function of words that are all eight bytes, the first two the table of
// constants and a buffer, and loads them.
func (g *gen) begin(f *field, name string, args ...[2]string) {
	g.line("")
	list := "k, buf *uint64"
	for _, a := range args {
		list += ", " + a[0]
	}
	g.line(fmt.Sprintf("// func %s(%s)", name, list))
	g.line(fmt.Sprintf("TEXT ·%s(SB), NOSPLIT, $0-%d", name, 16+8*len(args)))
	g.op("MOVQ", "k+0(FP)", "DX")
	g.op("MOVQ", "buf+8(FP)", "DI")
	for i, a := range args {
		g.op("MOVQ", fmt.Sprintf("%s+%d(FP)", a[0], 16+8*i), a[1])
	}
	f.loadConstants()
}

func (g *gen) end() {
	g.op("VZEROUPPER")
	g.op("RET")
}

// strided are the addresses of the eight lanes from SI on, lane stride in R8: R9 must be
// three times R8, R10 is set.
func (g *gen) strided() []string {
	g.op("LEAQ", "(SI)(R8*4)", "R10")
	return []string{"(SI)", "(SI)(R8*1)", "(SI)(R8*2)", "(SI)(R9*1)", "(R10)", "(R10)(R8*1)", "(R10)(R8*2)", "(R10)(R9*1)"}
}

// pairing is where row i of eight goes: register and half, as columns4 and rows4 want.
var pairing = [8][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}, {3, 0}, {2, 1}, {3, 1}}

// nttLoad fills n vectors: lane l of vector i from src + l·lane + i·step.
func (g *gen) nttLoad(f *field) {
	g.begin(f, "nttLoad", [2]string{"src", "SI"}, [2]string{"lane", "R8"}, [2]string{"step", "R11"}, [2]string{"n", "CX"})
	g.op("LEAQ", "(R8)(R8*2)", "R9")
	g.op("MOVQ", "R11", "R12")
	g.op("SHLQ", imm(4), "R12")
	g.label("load")
	addr := g.strided()
	rows := zs(21, 4)
	for i, a := range addr {
		if h := pairing[i]; h[1] == 0 {
			g.op("VMOVDQU64", a, y(21+h[0]))
		} else {
			g.op("VINSERTI64X4", imm(1), a, rows[h[0]], rows[h[0]])
		}
	}
	// Sixteen vectors ahead; in columns two lanes share a line.
	g.op("LEAQ", "(SI)(R12*1)", "R13")
	g.op("PREFETCHT0", "(R13)")
	g.op("PREFETCHT0", "(R13)(R8*2)")
	g.op("LEAQ", "(R13)(R8*4)", "R13")
	g.op("PREFETCHT0", "(R13)")
	g.op("PREFETCHT0", "(R13)(R8*2)")
	w := zs(25, 4)
	g.columns4(rows, w, zs(0, 4))
	f.to52(w, f.a)
	f.store(f.a, 0, "DI")
	g.op("ADDQ", "R11", "SI")
	g.op("ADDQ", imm(frVec), "DI")
	g.op("DECQ", "CX")
	g.op("JNZ", "load")
	g.end()
}

// nttStore writes n vectors in canonical form: lane l of vector i to dst + l·lane +
// i·step. Reversed, it takes vector i from offset perm[i] of the buffer and writes lane l
// to dst + rev(l)·lane + i·step, rev reversing three bits.
func (g *gen) nttStore(f *field, name string, reversed bool) {
	args := [][2]string{{"dst", "SI"}, {"lane", "R8"}, {"step", "R11"}, {"n", "CX"}}
	if reversed {
		args = append(args, [2]string{"perm", "R12"})
	}
	g.begin(f, name, args...)
	g.op("LEAQ", "(R8)(R8*2)", "R9")
	g.op("VMOVDQU64", mem(f.offVectors(), f.konst), "Z30")
	g.op("VMOVDQU64", mem(f.offVectors()+64, f.konst), "Z31")
	label := "store"
	g.label(label)
	t := f.a
	if reversed {
		g.op("MOVL", "(R12)", "AX")
		g.op("ADDQ", imm(4), "R12")
		for j, r := range t {
			g.op("VMOVDQU64", fmt.Sprintf("%d(DI)(AX*1)", 64*j), r)
		}
	} else {
		f.load(t, 0, "DI")
		g.op("ADDQ", imm(frVec), "DI")
	}
	f.canonical(t)
	w := zs(21, 4)
	f.to64(t, w)
	out := zs(25, 4)
	g.rows4(w, out, zs(0, 4), "Z30", "Z31")
	addr := g.strided()
	rev := [8]int{0, 4, 2, 6, 1, 5, 3, 7}
	for i := range 8 {
		a := addr[i]
		if reversed {
			a = addr[rev[i]]
		}
		if h := pairing[i]; h[1] == 0 {
			g.op("VMOVDQU64", y(25+h[0]), a)
		} else {
			g.op("VEXTRACTI64X4", imm(1), out[h[0]], a)
		}
	}
	g.op("ADDQ", "R11", "SI")
	g.op("DECQ", "CX")
	g.op("JNZ", label)
	g.end()
}

// canonical brings t, in [0, 2^260), below p.
func (f *field) canonical(t []string) {
	g := f.g
	f.normalise(t)
	f.subtractMultiple(t, t[f.n-1])
	f.normalise(t) // below 2p
	d := zs(21, f.n)
	for j := range t {
		g.op("VPSUBQ", f.p[j], t[j], d[j])
	}
	for j := 0; j+1 < f.n; j++ {
		g.op("VPSRAQ", imm(52), d[j], f.tmp)
		g.op("VPANDQ", f.mask, d[j], d[j])
		g.op("VPADDQ", f.tmp, d[j+1], d[j+1])
	}
	// Where the difference is not negative it is the result.
	g.op("VPXORQ", f.tmp, f.tmp, f.tmp)
	g.op("VPCMPQ", imm(5), f.tmp, d[f.n-1], "K1")
	for j := range t {
		g.op("VMOVDQA64", d[j], "K1", t[j])
	}
}

type twiddle int

const (
	twiddleOne      twiddle = iota // no multiplication; the vectors are below 2p
	twiddlePerBlock                // block b uses twiddle b
	twiddleWithin                  // butterfly j of every block uses twiddle j
)

// nttLevel does blocks times half butterflies: in each block of 2·half vectors, u and v,
// half apart, become u + w·v and u - w·v. Bounds grow by 2p.
func (g *gen) nttLevel(f *field, name string, tw twiddle) {
	g.begin(f, name, [2]string{"tw", "SI"}, [2]string{"half", "R8"}, [2]string{"blocks", "CX"})
	for j := range f.n {
		g.op("VPBROADCASTQ", mem(f.offP(2)+8*j, f.konst), z(21+j))
	}
	g.op("IMUL3Q", imm(frVec), "R8", "R9")
	if tw == twiddleWithin {
		g.op("MOVQ", "SI", "R11")
	}
	g.label("block")
	g.op("MOVQ", "R8", "R10")
	if tw == twiddleWithin {
		g.op("MOVQ", "R11", "SI")
	}
	g.label("butterfly")
	g.op("LEAQ", "(DI)(R9*1)", "R12")
	var t []string
	f.load(f.a, 0, "R12")
	if tw == twiddleOne {
		t = f.a
	} else {
		f.normalise(f.a)
		t = f.mulBroadcast(0, "SI")
	}
	for j := range t {
		g.op("VMOVDQU64", mem(64*j, "DI"), "Z26")
		g.op("VPADDQ", t[j], "Z26", "Z27")
		g.op("VMOVDQU64", "Z27", mem(64*j, "DI"))
		g.op("VPADDQ", z(21+j), "Z26", "Z26")
		g.op("VPSUBQ", t[j], "Z26", "Z26")
		g.op("VMOVDQU64", "Z26", mem(64*j, "R12"))
	}
	g.op("ADDQ", imm(frVec), "DI")
	if tw == twiddleWithin {
		g.op("ADDQ", imm(8*f.n), "SI")
	}
	g.op("DECQ", "R10")
	g.op("JNZ", "butterfly")
	if tw == twiddlePerBlock {
		g.op("ADDQ", imm(8*f.n), "SI")
	}
	g.op("ADDQ", "R9", "DI")
	g.op("DECQ", "CX")
	g.op("JNZ", "block")
	g.end()
}

// nttTwist multiplies vector perm[i] (an offset in bytes) by start·base^i, i < 4n. chain
// holds start·base^0 to base^3 and is used up; step is base^4.
func (g *gen) nttTwist(f *field) {
	g.begin(f, "nttTwist", [2]string{"perm", "R8"}, [2]string{"chain", "R9"}, [2]string{"step", "R10"}, [2]string{"n", "CX"})
	g.label("twist")
	for q := range 4 {
		g.op("MOVL", mem(4*q, "R8"), "R12")
		g.op("ADDQ", "DI", "R12")
		f.load(f.a, 0, "R12")
		f.normalise(f.a)
		t := f.mul(frVec*q, "R9", nil)
		f.normalise(t)
		f.store(t, 0, "R12")
		f.load(f.a, frVec*q, "R9")
		t = f.mul(0, "R10", nil)
		f.normalise(t)
		f.store(t, frVec*q, "R9")
	}
	g.op("ADDQ", imm(16), "R8")
	g.op("DECQ", "CX")
	g.op("JNZ", "twist")
	g.end()
}

// nttMul multiplies n vectors by those at y, normalised. With broadcast, y has one element
// of five limbs for each vector.
func (g *gen) nttMul(f *field, name string, broadcast bool) {
	g.begin(f, name, [2]string{"y", "SI"}, [2]string{"n", "CX"})
	g.label("mul")
	f.load(f.a, 0, "DI")
	f.normalise(f.a)
	var t []string
	if broadcast {
		t = f.mulBroadcast(0, "SI")
	} else {
		t = f.mul(0, "SI", nil)
	}
	f.normalise(t)
	f.store(t, 0, "DI")
	g.op("ADDQ", imm(frVec), "DI")
	if broadcast {
		g.op("ADDQ", imm(8*f.n), "SI")
	} else {
		g.op("ADDQ", imm(frVec), "SI")
	}
	g.op("DECQ", "CX")
	g.op("JNZ", "mul")
	g.end()
}

// nttSub subtracts n vectors, below 2p, and adds 2p.
func (g *gen) nttSub(f *field) {
	g.begin(f, "nttSub", [2]string{"y", "SI"}, [2]string{"n", "CX"})
	g.label("sub")
	f.load(f.a, 0, "DI")
	f.subMem(0, "SI", f.a)
	f.addMultiple(2, f.a)
	f.store(f.a, 0, "DI")
	g.op("ADDQ", imm(frVec), "DI")
	g.op("ADDQ", imm(frVec), "SI")
	g.op("DECQ", "CX")
	g.op("JNZ", "sub")
	g.end()
}

// nttReduce brings n vectors below 1.4p and normalises them.
func (g *gen) nttReduce(f *field) {
	g.begin(f, "nttReduce", [2]string{"n", "CX"})
	g.label("reduce")
	f.load(f.a, 0, "DI")
	f.normalise(f.a)
	f.subtractMultiple(f.a, f.a[f.n-1])
	f.normalise(f.a)
	f.store(f.a, 0, "DI")
	g.op("ADDQ", imm(frVec), "DI")
	g.op("DECQ", "CX")
	g.op("JNZ", "reduce")
	g.end()
}
