//go:build cgo && linux

package gpu

// #include "cuda/filgroth_cuda.h"
// #include "load.h"
import "C"

import (
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/synth"
)

func (c *sessionConfig) toC() *C.fg_session_config {
	s := &c.shape
	r := &C.fg_session_config{
		inputs: C.uint32_t(s.inputs), aux: C.uint32_t(s.aux), rows: C.uint32_t(s.rows), fields: C.uint64_t(s.fields),
		coeffs: C.uint32_t(s.coeffs), templates: C.uint32_t(s.templates), instances: C.uint32_t(s.instances), wires: C.uint32_t(s.wires),
		pointers: C.uint64_t(s.pointers), terms: C.uint64_t(s.terms),
		log_m: C.int32_t(c.log), resident: boolInt(c.resident), has_system: boolInt(c.hasSystem), low_memory: boolInt(c.lowMemory),
		key_memory: C.int32_t(c.keyMemory), witness_memory: C.int32_t(c.witnessMemory),
		ring_piece: C.uint64_t(c.ringPiece), ring_pieces: C.uint64_t(c.ringPieces),
		slots: C.uint64_t(c.slots), quotients: C.uint64_t(c.quotients),
	}
	for i := range c.counts {
		r.counts[i], r.tails[i], r.windows[i] = C.uint64_t(c.counts[i]), C.uint64_t(c.tails[i]), C.int32_t(c.windows[i])
		r.chunks[i] = C.uint64_t(c.chunks[i])
	}
	return r
}

func (l *library) sessionPlan(d handle, c *sessionConfig) (sessionBytes, result) {
	var b C.fg_session_bytes
	r := toResult(C.call_session_plan(l.t, (*C.fg_device)(d), c.toC(), &b))
	return sessionBytes{uint64(b.held), uint64(b.circuit), uint64(b.arena), uint64(b.least_arena), uint64(b.available)}, r
}

func (l *library) sessionOpen(d handle, c *sessionConfig) (handle, result) {
	var s *C.fg_session
	r := toResult(C.call_session_open(l.t, (*C.fg_device)(d), c.toC(), &s))
	return handle(s), r
}

func (l *library) sessionClose(s handle) { C.call_session_close(l.t, (*C.fg_session)(s)) }

func (l *library) sessionSystem(s handle, sys *synth.System) result {
	return toResult(C.call_session_system(l.t, (*C.fg_session)(s), pointer(sys.Coeffs()), (*C.uint64_t)(pointer(sys.Bits())),
		(*C.uint32_t)(pointer(sys.Wires())), pointer(sys.Instances())))
}

func (l *library) sessionTemplate(s handle, t *synth.Template) result {
	u32 := func(v []uint32) *C.uint32_t { return (*C.uint32_t)(pointer(v)) }
	a, b, c := &t.M[0], &t.M[1], &t.M[2]
	return toResult(C.call_session_template(l.t, (*C.fg_session)(s), C.uint32_t(t.Wires), C.uint32_t(t.Locals), C.uint32_t(t.Rows),
		(*C.uint64_t)(pointer(t.Bits)), u32(a.Ptr), u32(a.Col), u32(a.Coef), u32(b.Ptr), u32(b.Col), u32(b.Coef),
		u32(c.Ptr), u32(c.Col), u32(c.Coef)))
}

func (l *library) sessionSystemDone(s handle) result {
	return toResult(C.call_session_system_done(l.t, (*C.fg_session)(s)))
}

func (l *library) sessionSection(s handle, section int, v *sectionLists) result {
	return toResult(C.call_session_section(l.t, (*C.fg_session)(s), C.int32_t(section), (*C.uint64_t)(pointer(v.mask)),
		(*C.uint32_t)(pointer(v.bitAt)), (*C.uint32_t)(pointer(v.valueAt))))
}

func (l *library) sessionLoad(s handle, section, first, n int, raw []byte, check int, cancel *int32) result {
	return toResult(C.call_session_load(l.t, (*C.fg_session)(s), C.int32_t(section), C.uint64_t(first), C.uint64_t(n),
		pointer(raw), C.int32_t(check), (*C.int32_t)(cancel)))
}

func (l *library) sessionFetch(s handle, section, start, first, n int, raw []byte, cancel *int32) result {
	return toResult(C.call_session_fetch(l.t, (*C.fg_session)(s), C.int32_t(section), C.uint64_t(start), C.uint64_t(first), C.uint64_t(n),
		pointer(raw), (*C.int32_t)(cancel)))
}

func (l *library) sessionStage(s handle, check int) result {
	return toResult(C.call_session_stage(l.t, (*C.fg_session)(s), C.int32_t(check)))
}

func (l *library) sessionBegin(s handle) result {
	return toResult(C.call_session_begin(l.t, (*C.fg_session)(s)))
}

func (l *library) sessionWitness(s handle, slot int, a *synth.Assignment, cancel *int32) result {
	return toResult(C.call_session_witness(l.t, (*C.fg_session)(s), C.uint64_t(slot), (*C.uint64_t)(pointer(a.Bits)),
		pointer(a.Inputs), pointer(a.Fields), (*C.int32_t)(cancel)))
}

func (l *library) sessionEvaluate(s handle, slot, at, matrix int) result {
	return toResult(C.call_session_evaluate(l.t, (*C.fg_session)(s), C.uint64_t(slot), C.uint64_t(at), C.int32_t(matrix)))
}

func (l *library) sessionEvaluations(s handle, at, matrix int, v []fr.Element, cancel *int32) result {
	return toResult(C.call_session_evaluations(l.t, (*C.fg_session)(s), C.uint64_t(at), C.int32_t(matrix), pointer(v), C.uint64_t(len(v)),
		(*C.int32_t)(cancel)))
}

func (l *library) sessionRows(s handle, at, matrix int, v []fr.Element) result {
	return toResult(C.call_session_rows(l.t, (*C.fg_session)(s), C.uint64_t(at), C.int32_t(matrix), pointer(v), C.uint64_t(len(v))))
}

func (l *library) sessionQuotient(s handle, at, step int, cancel *int32) result {
	return toResult(C.call_session_quotient(l.t, (*C.fg_session)(s), C.uint64_t(at), C.int32_t(step), (*C.int32_t)(cancel)))
}

func (l *library) sessionCoefficients(s handle, at int, h []fr.Element) result {
	return toResult(C.call_session_coefficients(l.t, (*C.fg_session)(s), C.uint64_t(at), pointer(h), C.uint64_t(len(h))))
}

func (l *library) sessionSum(s handle, section, slot, at int, cancel *int32) result {
	return toResult(C.call_session_sum(l.t, (*C.fg_session)(s), C.int32_t(section), C.uint64_t(slot), C.uint64_t(at), (*C.int32_t)(cancel)))
}

func (l *library) sessionTake(s handle, slot int, g1 *[4]bls12381.G1Jac, g2 *bls12381.G2Jac) result {
	return toResult(C.call_session_take(l.t, (*C.fg_session)(s), C.uint64_t(slot), unsafe.Pointer(g1), unsafe.Pointer(g2)))
}

// pointer is where a slice's elements are.
func pointer[T any](v []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(v)) }
