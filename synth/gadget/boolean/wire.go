package boolean

import "github.com/filgroth/filgroth/synth"

// Wires are the ends of a synth.Builder.Block for bits.
func Wires(bits []Bool) []synth.Wire {
	w := make([]synth.Wire, len(bits))
	for i := range bits {
		w[i] = bits[i].Wire()
	}
	return w
}

// FromWires is what a Block in Shape or Direct mode returned. ran is what its body produced, if it did run: it carries
// the values.
func FromWires(b *synth.Builder, w []synth.Wire, ran Vec) Vec {
	if ran.n == len(w) && ran.n > 0 {
		return ran
	}
	bits := make([]Bool, len(w))
	for i := range w {
		bits[i] = FromWire(w[i], false)
	}
	return Of(b, bits)
}
