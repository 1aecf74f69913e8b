// Package poseidon is the gadget of the Poseidon hash as the deployed Filecoin circuits have it: the older of the two circuits
// of the "neptune" library, which allocates the input of every S-box. Its variables, rows and their order are fixed by the
// ceremony's keys.
//
// Who only needs the value of a hash wants Value.
//
// Source: https://eprint.iacr.org/2019/458 (permutation, sparse matrices of appendix B).
package poseidon

import (
	"fmt"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	native "github.com/filgroth/filgroth/internal/poseidon"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/num"
)

// TagGen is the domain tag of the randomness hash of SnapDeals.
const TagGen = native.TagGen

// halfFull is the number of full rounds at each end.
const halfFull = 4

// key names a permutation's template: everything its rows depend on.
type key struct {
	arity int
	tag   uint64 // 0: the default tag of the arity
}

// Hash allocates the hash of the inputs (1 to 36 of them) under the default tag, 2^arity - 1: the hash of Merkle nodes, columns
// and commitments.
func Hash(b *synth.Builder, in ...num.Num) num.Num { return hash(b, 0, in) }

// HashTagged allocates the hash of the inputs under a domain tag of the caller's, not zero.
func HashTagged(b *synth.Builder, tag uint64, in ...num.Num) num.Num { return hash(b, tag, in) }

// Count is the number of private variables, and of rows, that a hash of that arity takes.
func Count(arity int) int { return native.Constants(arity).TraceLen() }

var traces = sync.Pool{New: func() any { return new([]fr.Element) }}

func hash(b *synth.Builder, tag uint64, in []num.Num) num.Num {
	if len(in) < 1 || len(in) > native.MaxArity {
		panic(fmt.Sprintf("poseidon: %d inputs, need 1 to %d", len(in), native.MaxArity))
	}
	p := native.Constants(len(in))
	domain := p.Tag
	if tag != 0 {
		domain.SetUint64(tag)
	}
	if !b.HasValues() {
		wires := make([]synth.Var, len(in))
		for i := range in {
			wires[i] = in[i].Var
		}
		out := b.Block(key{len(in), tag}, wires, func() []synth.Wire {
			return []synth.Wire{{Var: emit(b, p, &domain, wires, nil)}}
		})
		return num.Num{Var: out[0].Var}
	}
	buf := traces.Get().(*[]fr.Element)
	defer traces.Put(buf)
	if n := p.TraceLen(); cap(*buf) < n {
		*buf = make([]fr.Element, n)
	}
	trace := (*buf)[:p.TraceLen()]
	var vals [native.MaxArity]fr.Element
	for i := range in {
		vals[i] = in[i].Val
	}
	res := num.Num{Val: p.Trace(domain, vals[:len(in)], trace)}
	if b.WantRows() {
		wires := make([]synth.Var, len(in))
		for i := range in {
			wires[i] = in[i].Var
		}
		res.Var = emit(b, p, &domain, wires, trace)
		return res
	}
	res.Var = b.AllocFields(trace) + synth.Var(len(trace)-1) // the hash is the last of them
	return res
}

// HashMD allocates the hash of any number of inputs, at least one, by chaining hashes of 36: the state, then up to 35 inputs,
// then zeros that are allocated. No Filecoin circuit uses it.
func HashMD(b *synth.Builder, in []num.Num) num.Num {
	state := in[0]
	for rest := in[1:]; len(rest) > 0; {
		n := min(len(rest), native.MaxArity-1)
		row := append([]num.Num{state}, rest[:n]...)
		rest = rest[n:]
		for len(row) < native.MaxArity {
			row = append(row, num.Alloc(b, fr.Element{}))
		}
		state = hash(b, 0, row)
	}
	return state
}
