package synth

// Matrix is one of the three sparse matrices of a Template in compressed row form: row i has the terms
// Col[Ptr[i]:Ptr[i+1]] with the coefficients System.Coeffs()[Coef[...]]. No stored coefficient is zero.
type Matrix struct {
	Ptr  []uint32
	Col  []uint32
	Coef []uint32
}

// Template is a piece of a constraint system that may occur many times. Its columns are local: column 0 is the constant
// one, columns 1..Wires are the variables that an instance names, and the Locals columns after them are consecutive aux
// variables of the instance's own.
type Template struct {
	Wires  int
	Locals int
	Rows   int
	// Bits says for each column but the first (bit i = column i+1) whether its variable is a bit of the Assignment.
	Bits []uint64
	// M holds A, B and C.
	M [3]Matrix
}

// Columns is the number of local columns.
func (t *Template) Columns() int { return 1 + t.Wires + t.Locals }

// IsBit says whether column c holds a 0/1 variable; column 0, the constant one, counts as a bit.
func (t *Template) IsBit(c int) bool {
	return c == 0 || t.Bits[(c-1)>>6]>>((c-1)&63)&1 == 1
}

// Instance is one occurrence of a template.
type Instance struct {
	Template uint32
	Row      uint32 // its first row in the system
	Aux      uint32 // its first local aux variable
	Wire     uint32 // its first wire in System.Wires()
}

func equalTemplate(a, b *Template) bool {
	if a.Wires != b.Wires || a.Locals != b.Locals || a.Rows != b.Rows || !equalWords(a.Bits, b.Bits) {
		return false
	}
	for k := range a.M {
		x, y := &a.M[k], &b.M[k]
		if !equalWords(x.Ptr, y.Ptr) || !equalWords(x.Col, y.Col) || !equalWords(x.Coef, y.Coef) {
			return false
		}
	}
	return true
}

func equalWords[T uint32 | uint64](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// hashTemplate is a fast content hash (not collision resistant; equality is compared afterwards).
func hashTemplate(t *Template) uint64 {
	h := uint64(14695981039346656037)
	mix := func(x uint64) {
		h ^= x
		h *= 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	mix(uint64(t.Wires))
	mix(uint64(t.Locals))
	mix(uint64(t.Rows))
	for _, w := range t.Bits {
		mix(w)
	}
	for k := range t.M {
		for _, s := range [][]uint32{t.M[k].Ptr, t.M[k].Col, t.M[k].Coef} {
			mix(uint64(len(s)))
			for _, x := range s {
				mix(uint64(x))
			}
		}
	}
	return h
}
