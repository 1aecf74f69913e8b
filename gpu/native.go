package gpu

import "unsafe"

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
}

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
