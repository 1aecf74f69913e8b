package synth

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// AllocFields allocates len(v) consecutive aux variables with the values v (Montgomery) and returns the first: Alloc for many
// at once. v is only read.
func (b *Builder) AllocFields(v []fr.Element) Var {
	x := AuxVar(b.aux)
	if b.mode != Assign {
		for i := range v {
			b.Alloc(v[i])
		}
		return x
	}
	b.aux += len(v)
	b.fields += len(v)
	b.asg.fieldRun(v)
	return x
}

// fieldRun is field for a run: the values are copied, and the bits, which are zero there, are passed over.
func (w *writer) fieldRun(v []fr.Element) {
	if len(v) > len(w.a.Fields)-w.nf {
		panic(shapePanic{"field elements"})
	}
	if w.aux+len(v) > w.s.aux {
		panic(shapePanic{"aux variables"})
	}
	w.nf += copy(w.a.Fields[w.nf:], v)
	w.aux += len(v)
	if at := w.aux >> 6; at != w.word {
		w.store()
		w.word, w.acc = at, 0
	}
}
