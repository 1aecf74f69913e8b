package poseidon

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// columns lays a square matrix out by columns.
func columns(m [][]fr.Element) []fr.Element {
	out := make([]fr.Element, 0, len(m)*len(m))
	for j := range m {
		for i := range m {
			out = append(out, m[i][j])
		}
	}
	return out
}

// vecMat returns v*m (row vector times matrix).
func vecMat(v []fr.Element, m [][]fr.Element) []fr.Element {
	out := make([]fr.Element, len(v))
	for j := range out {
		for i := range v {
			var x fr.Element
			x.Mul(&v[i], &m[i][j])
			out[j].Add(&out[j], &x)
		}
	}
	return out
}

func matMul(a, b [][]fr.Element) [][]fr.Element {
	out := make([][]fr.Element, len(a))
	for i := range a {
		out[i] = vecMat(a[i], b)
	}
	return out
}

// solve returns x with m*x = rhs. m and rhs are overwritten. All leading minors of the matrices met here (products of a Cauchy
// matrix and its sub-blocks) are regular, but rows are exchanged all the same where a pivot is zero.
func solve(m [][]fr.Element, rhs []fr.Element) []fr.Element {
	n := len(m)
	for c := 0; c < n; c++ {
		pivot(m, c, func(r int) { rhs[c], rhs[r] = rhs[r], rhs[c] })
		var inv fr.Element
		inv.Inverse(&m[c][c])
		for r := c + 1; r < n; r++ {
			var f, x fr.Element
			f.Mul(&m[r][c], &inv)
			for j := c; j < n; j++ {
				x.Mul(&f, &m[c][j])
				m[r][j].Sub(&m[r][j], &x)
			}
			x.Mul(&f, &rhs[c])
			rhs[r].Sub(&rhs[r], &x)
		}
	}
	for c := n - 1; c >= 0; c-- {
		for j := c + 1; j < n; j++ {
			var x fr.Element
			x.Mul(&m[c][j], &rhs[j])
			rhs[c].Sub(&rhs[c], &x)
		}
		rhs[c].Div(&rhs[c], &m[c][c])
	}
	return rhs
}

func pivot(m [][]fr.Element, c int, swapped func(r int)) {
	for r := c; r < len(m); r++ {
		if !m[r][c].IsZero() {
			if r != c {
				m[c], m[r] = m[r], m[c]
				swapped(r)
			}
			return
		}
	}
	panic("poseidon: singular matrix") // impossible for the fixed matrices of this package
}

// invert returns the inverse of a symmetric matrix, column by column (which are its rows).
func invert(m [][]fr.Element) [][]fr.Element {
	out := make([][]fr.Element, len(m))
	for i := range m {
		cp := make([][]fr.Element, len(m))
		for r := range m {
			cp[r] = append([]fr.Element(nil), m[r]...)
		}
		unit := make([]fr.Element, len(m))
		unit[i].SetOne()
		out[i] = solve(cp, unit)
	}
	return out
}
