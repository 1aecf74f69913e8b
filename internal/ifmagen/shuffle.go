package main

// transpose8 turns eight rows of eight words into eight columns (and back), using eight
// more registers. It returns the registers that hold the result, all from spare and rows.
func (g *gen) transpose8(rows, spare []string) []string {
	pair := func(op string, i int, dst string) { g.op(op, rows[i+1], rows[i], dst) }
	lo, hi := spare[:4], spare[4:8]
	for i := range 4 {
		pair("VPUNPCKLQDQ", 2*i, lo[i])
		pair("VPUNPCKHQDQ", 2*i, hi[i])
	}
	out := make([]string, 8)
	r := rows
	for k, h := range [][]string{lo, hi} {
		// 128-bit blocks of h[i] are columns k, k+2, k+4, k+6 of rows 2i, 2i+1.
		b := r[4*k : 4*k+4]
		g.op("VSHUFI64X2", imm(0x88), h[1], h[0], b[0])
		g.op("VSHUFI64X2", imm(0xdd), h[1], h[0], b[1])
		g.op("VSHUFI64X2", imm(0x88), h[3], h[2], b[2])
		g.op("VSHUFI64X2", imm(0xdd), h[3], h[2], b[3])
		g.op("VSHUFI64X2", imm(0x88), b[2], b[0], h[0])
		g.op("VSHUFI64X2", imm(0xdd), b[2], b[0], h[2])
		g.op("VSHUFI64X2", imm(0x88), b[3], b[1], h[1])
		g.op("VSHUFI64X2", imm(0xdd), b[3], b[1], h[3])
		for i := range 4 {
			out[k+2*i] = h[i]
		}
	}
	return out
}

// columns4 turns four registers that hold rows 0|2, 1|3, 4|6, 5|7 of four words (low half
// | high half) into four columns of eight, in the registers of out.
func (g *gen) columns4(rows, out []string, spare []string) {
	g.op("VPUNPCKLQDQ", rows[1], rows[0], spare[0])
	g.op("VPUNPCKHQDQ", rows[1], rows[0], spare[1])
	g.op("VPUNPCKLQDQ", rows[3], rows[2], spare[2])
	g.op("VPUNPCKHQDQ", rows[3], rows[2], spare[3])
	g.op("VSHUFI64X2", imm(0x88), spare[2], spare[0], out[0])
	g.op("VSHUFI64X2", imm(0x88), spare[3], spare[1], out[1])
	g.op("VSHUFI64X2", imm(0xdd), spare[2], spare[0], out[2])
	g.op("VSHUFI64X2", imm(0xdd), spare[3], spare[1], out[3])
}

// rows4 turns four columns of eight words into rows 0|2, 1|3, 4|6, 5|7, in out. idxLow
// and idxHigh are registers with the indices 0,1,8,9,2,3,10,11 and 4,5,12,13,6,7,14,15.
func (g *gen) rows4(cols, out []string, spare []string, idxLow, idxHigh string) {
	g.op("VPUNPCKLQDQ", cols[1], cols[0], spare[0])
	g.op("VPUNPCKHQDQ", cols[1], cols[0], spare[1])
	g.op("VPUNPCKLQDQ", cols[3], cols[2], spare[2])
	g.op("VPUNPCKHQDQ", cols[3], cols[2], spare[3])
	for i := range 2 {
		g.op("VMOVDQA64", spare[i], out[i])
		g.op("VPERMT2Q", spare[2+i], idxLow, out[i])
		g.op("VMOVDQA64", spare[i], out[2+i])
		g.op("VPERMT2Q", spare[2+i], idxHigh, out[2+i])
	}
}

// to52 splits words of 64 bits (four into five, six into eight) into limbs of 52.
func (f *field) to52(w, l []string) {
	g := f.g
	for j := range l {
		first, shift := 52*j/64, 52*j%64
		switch {
		case shift == 0:
			g.op("VPANDQ", f.mask, w[first], l[j])
		case first+1 == len(w):
			g.op("VPSRLQ", imm(shift), w[first], l[j]) // what is left is less than 52 bits
		case shift <= 12:
			g.op("VPSRLQ", imm(shift), w[first], l[j])
			g.op("VPANDQ", f.mask, l[j], l[j])
		default:
			g.op("VPSRLQ", imm(shift), w[first], l[j])
			g.op("VPSLLQ", imm(64-shift), w[first+1], f.tmp)
			g.op("VPTERNLOGQ", imm(orAnd), f.mask, f.tmp, l[j])
		}
	}
}

// to64 joins limbs of 52 bits, whose value fits, into words.
func (f *field) to64(l, w []string) {
	g := f.g
	for i := range w {
		first, shift := 64*i/52, 64*i%52
		bits := 52 - shift // that the first limb gives
		g.op("VPSLLQ", imm(bits), l[first+1], f.tmp)
		if shift == 0 {
			g.op("VPORQ", f.tmp, l[first], w[i])
		} else {
			g.op("VPSRLQ", imm(shift), l[first], w[i])
			g.op("VPORQ", f.tmp, w[i], w[i])
		}
		if bits += 52; bits < 64 && first+2 < len(l) {
			g.op("VPSLLQ", imm(bits), l[first+2], f.tmp)
			g.op("VPORQ", f.tmp, w[i], w[i])
		}
	}
}
