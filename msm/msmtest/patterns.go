package msmtest

import (
	"math/big"
	"math/rand/v2"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// A pattern makes n logarithms of points, or n scalars.
type pattern struct {
	name  string
	large bool // runs on the large sums, too
	make  func(n int) []fr.Element
}

func each(fn func(i, n int) fr.Element) func(int) []fr.Element {
	return func(n int) []fr.Element {
		v := make([]fr.Element, n)
		for i := range v {
			v[i] = fn(i, n)
		}
		return v
	}
}

// cycle repeats small integers.
func cycle(values ...int64) func(int) []fr.Element {
	return each(func(i, _ int) fr.Element { return element(values[i%len(values)]) })
}

func randomElements(n int, seed uint64) []fr.Element {
	rng := rand.New(rand.NewPCG(seed, 2))
	return each(func(int, int) fr.Element { return randomElement(rng) })(n)
}

func randomElement(rng *rand.Rand) fr.Element {
	var b [48]byte
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	var e fr.Element
	return *e.SetBytes(b[:])
}

// with replaces the elements of a random vector where at says so.
func with(value int64, at func(i, n int) bool) func(int) []fr.Element {
	return func(n int) []fr.Element {
		v := randomElements(n, 77)
		for i := range v {
			if at(i, n) {
				v[i] = element(value)
			}
		}
		return v
	}
}

// pointPatterns are the points, as multiples of the generator.
var pointPatterns = []pattern{
	{name: "random", make: func(n int) []fr.Element { return randomElements(n, 42) }},
	{name: "consecutive", make: each(func(i, _ int) fr.Element { return element(int64(i) + 1) })}, // P, 2P, 3P (A8, A13)
	{name: "equal", make: cycle(1)},
	{name: "opposite", make: cycle(1, -1)},
	{name: "small", make: cycle(1, -1, -2, -3, 2, 0, 3)},
	{name: "infinity", make: cycle(0)},
	{name: "infinity first", make: with(0, func(i, n int) bool { return i < 3 })},
	{name: "infinity last", make: with(0, func(i, n int) bool { return i >= n-3 })},
	{name: "infinity between", make: with(0, func(i, n int) bool { return i%3 != 0 })},
}

// scalarPatterns are the scalars.
var scalarPatterns = []pattern{
	{name: "random", large: true, make: func(n int) []fr.Element { return randomElements(n, 43) }},
	{name: "zero", make: cycle(0)},
	{name: "one", large: true, make: cycle(1)},
	{name: "minus one", large: true, make: cycle(-1)},
	{name: "bits", make: cycle(0, 1, 1, 0, 1)},
	{name: "plus and minus", make: cycle(1, -1)},
	{name: "small", make: cycle(0, 1, 2, 3, -1, -2, 5)},
	{name: "powers", make: each(func(i, _ int) fr.Element { return power(uint(i) % 255) })},
	{name: "equal", large: true, make: each(func(int, int) fr.Element { return randomElements(1, 3)[0] })},
	{name: "mostly bits", large: true, make: mostlyBits},
	{name: "heavy bucket", large: true, make: heavy},
	{name: "edges", make: each(func(i, _ int) fr.Element { return scalarEdges[i%len(scalarEdges)] })},
	{name: "half zero", make: with(0, func(i, n int) bool { return i >= n/2 })},
}

func power(k uint) fr.Element {
	var e fr.Element
	return *e.SetBigInt(new(big.Int).Lsh(big.NewInt(1), k))
}

// mostlyBits is 0 or 1 in 99 of 100.
func mostlyBits(n int) []fr.Element {
	rng := rand.New(rand.NewPCG(13, 13))
	return each(func(int, int) fr.Element {
		if rng.IntN(100) == 0 {
			return randomElement(rng)
		}
		return element(int64(rng.IntN(2)))
	})(n)
}

// heavy scalars agree in their low 64 and top bits: many points meet in one bucket of
// some windows whatever their size.
func heavy(n int) []fr.Element {
	rng := rand.New(rand.NewPCG(14, 14))
	base, step := randomElement(rng), power(100)
	return each(func(int, int) fr.Element {
		e := element(int64(rng.IntN(1 << 20)))
		e.Mul(&e, &step)
		return *e.Add(&e, &base)
	})(n)
}

// scalarEdges are around 0, r/2, r and powers of two.
var scalarEdges = func() []fr.Element {
	var edges []fr.Element
	half := new(big.Int).Rsh(fr.Modulus(), 1)
	for d := int64(-2); d <= 2; d++ {
		var e fr.Element
		edges = append(edges, element(d), *e.SetBigInt(new(big.Int).Add(half, big.NewInt(d))))
	}
	for _, k := range []uint{51, 52, 63, 64, 127, 128, 191, 192, 253, 254} {
		for d := int64(-1); d <= 1; d++ {
			e, x := power(k), element(d)
			edges = append(edges, *e.Add(&e, &x))
		}
	}
	return edges
}()

// mixedScalars are a bit of everything.
func mixedScalars(n int) []fr.Element {
	v := randomElements(n, 44)
	for i := range v {
		if i%2 != 0 {
			v[i] = scalarEdges[i/2%len(scalarEdges)]
		}
	}
	return v
}

// digitEdges are scalars whose digits of c bits are all at the ends of their range.
func digitEdges(n, c int) []fr.Element {
	rng := rand.New(rand.NewPCG(15, uint64(c)))
	digits := []int64{0, 1, 1<<(c-1) - 1, 1 << (c - 1), 1<<(c-1) + 1, 1<<c - 1}
	return each(func(i, _ int) fr.Element {
		v := new(big.Int)
		for bit := 0; bit < 256; bit += c {
			d := digits[i%len(digits)]
			if i/len(digits)%2 != 0 {
				d = digits[rng.IntN(len(digits))]
			}
			v.Or(v, new(big.Int).Lsh(big.NewInt(d), uint(bit)))
		}
		var e fr.Element
		return *e.SetBigInt(v)
	})(n)
}
