package gpu

import (
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/synth"
)

// native is the C interface in Go's terms; see cuda/filgroth_cuda.h. Pointers are to memory that lives through the call.
type native interface {
	digest() string
	architectures() string
	versions() (driver, runtime, devices int, r result)
	query(ordinal int) (DeviceInfo, result)
	held(ordinal int) BytesHeld
	resetPeak(ordinal int)
	faultSet(n int64)
	faultLeft() int64
	hostRegister(ordinal int, p unsafe.Pointer, n uint64) result
	hostUnregister(ordinal int, p unsafe.Pointer, n uint64) result

	deviceOpen(ordinal int, budget uint64) (handle, result)
	deviceClose(handle)
	deviceTrim(handle) result
	ntt(d handle, log int, inverse, coset bool, v unsafe.Pointer, cancel *int32) result
	quotient(d handle, log int, a, b, c unsafe.Pointer, cancel *int32) result
	msm(d handle, group int, s *sumArgs, out unsafe.Pointer, cancel *int32) result

	multiples(d handle, group int, base unsafe.Pointer, k []fr.Element, dst []byte, cancel *int32) result

	sessionPlan(d handle, c *sessionConfig) (sessionBytes, result)
	sessionOpen(d handle, c *sessionConfig) (handle, result)
	sessionClose(s handle)
	sessionSystem(s handle, sys *synth.System) result
	sessionTemplate(s handle, t *synth.Template) result
	sessionSystemDone(s handle) result
	sessionSection(s handle, section int, l *sectionLists) result
	sessionLoad(s handle, section, first, n int, raw []byte, check int, cancel *int32) result
	// sessionFetch and sessionWitness may overlap with other calls, see the header.
	sessionFetch(s handle, section, start, first, n int, raw []byte, cancel *int32) result
	sessionStage(s handle, check int) result
	sessionBegin(s handle) result
	sessionWitness(s handle, slot int, a *synth.Assignment, cancel *int32) result
	sessionEvaluate(s handle, slot, at, matrix int) result
	sessionEvaluations(s handle, at, matrix int, v []fr.Element, cancel *int32) result
	sessionRows(s handle, at, matrix int, v []fr.Element) result
	sessionQuotient(s handle, at, step int, cancel *int32) result
	sessionCoefficients(s handle, at int, h []fr.Element) result
	sessionSum(s handle, section, slot, at int, cancel *int32) result
	sessionTake(s handle, slot int, g1 *[4]bls12381.G1Jac, g2 *bls12381.G2Jac) result
}

// sessionConfig is fg_session_config, and how many circuits share a call.
type sessionConfig struct {
	shape         systemShape
	counts        [groth16.NumSections]int
	tails         [groth16.NumSections]int
	windows       [groth16.NumSections]int
	chunks        [groth16.NumSections]int // points staged at a time of a streamed key
	log           int
	resident      bool
	lowMemory     bool // the quotient in two vectors instead of four
	hasSystem     bool
	keyMemory     hostMemory
	witnessMemory hostMemory
	ringPiece     int64 // bytes, 0 = choose
	ringPieces    int   // 0 = choose
	circuits      int   // most of a call
	slots         int   // witnesses on the device, of this call and the next
	quotients     int   // for one pass over section h
}

// systemShape is how large the tables of a system are; those of the matrices are zero where the host evaluates.
type systemShape struct {
	inputs, aux, rows, fields           int
	coeffs, templates, instances, wires int
	pointers, terms                     uint64
}

func shapeOf(s *synth.System, matrices bool) systemShape {
	r := systemShape{inputs: s.Inputs(), aux: s.Aux(), rows: s.Rows(), fields: s.Fields()}
	if !matrices {
		return r
	}
	ts := s.Templates()
	r.coeffs, r.templates, r.instances, r.wires = len(s.Coeffs()), len(ts), len(s.Instances()), len(s.Wires())
	for i := range ts {
		for k := range ts[i].M {
			m := &ts[i].M[k]
			r.pointers += uint64(len(m.Ptr))
			r.terms += uint64(len(m.Col))
		}
	}
	return r
}

// hostMemory says how host memory gets to the device.
type hostMemory int

const (
	throughRing hostMemory = iota // in pieces through page-locked memory
	fromPlace                     // from where it is
	throughPool                   // whole through page-locked memory
)

// allAtOnce is the matrix and the step of a plan that makes the quotient in one go.
const allAtOnce = -1

// sessionBytes is fg_session_bytes.
type sessionBytes struct{ held, circuit, arena, leastArena, available uint64 }

// handle is an opaque pointer of the library.
type handle unsafe.Pointer

// sumArgs are the arguments of fg_msm.
type sumArgs struct {
	n       int
	points  unsafe.Pointer
	scalars unsafe.Pointer
	bits    unsafe.Pointer // nil where scalars are dense
	tails   int
	tailAt  unsafe.Pointer
	window  int
}

// DeviceInfo describes a device.
type DeviceInfo struct {
	Ordinal     int
	Name        string
	Major       int // compute capability
	Minor       int
	Processors  int
	MemoryTotal int64
	MemoryFree  int64
	// Supported says whether the library has code for it.
	Supported bool
}

// BytesHeld is what the library holds at the moment.
type BytesHeld struct {
	Device     int64 // on the device
	DevicePeak int64 // the most since the start or ResetPeak
	Pinned     int64 // page-locked host memory that it allocated or registered
}
