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
	hostRegister(p unsafe.Pointer, n uint64) result
	hostUnregister(p unsafe.Pointer) result

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
	sessionBegin(s handle, circuits int) result
	sessionWitness(s handle, slot int, a *synth.Assignment) result
	sessionEvaluate(s handle, slot int) result
	sessionEvaluations(s handle, e *synth.Evaluations) result
	sessionRows(s handle, e *synth.Evaluations) result
	sessionQuotient(s handle, cancel *int32) result
	sessionCoefficients(s handle, h []fr.Element) result
	sessionSum(s handle, section, slot int, cancel *int32) result
	sessionTake(s handle, slot int, g1 *[4]bls12381.G1Jac, g2 *bls12381.G2Jac) result
}

// sessionConfig is fg_session_config.
type sessionConfig struct {
	sys       *synth.System
	counts    [groth16.NumSections]int
	tails     [groth16.NumSections]int
	windows   [groth16.NumSections]int
	log       int
	resident  bool
	hasSystem bool
	direct    bool // no page-locked ring
	chunk     int
	circuits  int
}

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
	Pinned     int64 // page-locked host memory that it allocated
}
