package gpu

import (
	"errors"
	"fmt"

	"github.com/filgroth/filgroth/groth16"
	"strings"
)

// What can be missing. Errors of Open and Probe are one of these, wrapped in a *LibraryError or *DeviceError.
var (
	// ErrNoLibrary: libfilgroth_cuda.so was not found or cannot be loaded, or the program was built without cgo.
	ErrNoLibrary = errors.New("gpu: no CUDA library")
	// ErrABI: the library has another C interface than this program.
	ErrABI = errors.New("gpu: the CUDA library has another interface")
	// ErrStale: the library was built from other sources than this program.
	ErrStale = errors.New("gpu: the CUDA library is stale")
	// ErrNoDriver: no NVIDIA driver, or one that is too old.
	ErrNoDriver = errors.New("gpu: no NVIDIA driver")
	// ErrNoDevice: no device, or none of that number.
	ErrNoDevice = errors.New("gpu: no CUDA device")
	// ErrUnsupportedArch: the library has no code for the device.
	ErrUnsupportedArch = errors.New("gpu: the CUDA library was not built for this device")
)

var (
	// ErrOutOfDeviceMemory: every OutOfDeviceMemoryError is one.
	ErrOutOfDeviceMemory = errors.New("gpu: out of device memory")
	// ErrCUDA: every CUDAError is one.
	ErrCUDA = errors.New("gpu: CUDA failure")
	// ErrClosed: use after Close.
	ErrClosed = errors.New("gpu: closed")
	// ErrConfig: Options have a value out of range.
	ErrConfig = errors.New("gpu: bad options")
	// ErrPanic: work on the device's thread panicked; the program goes on.
	ErrPanic = errors.New("gpu: panic in device work")
)

// LibraryError says why the library cannot be used. It is what Kind is.
type LibraryError struct {
	Kind   error    // ErrNoLibrary, ErrABI or ErrStale
	Path   string   // the file, "" if none was found
	Reason string   // what happened, and what to do
	Tried  []string // where it was looked for
}

func (e *LibraryError) Error() string {
	s := e.Kind.Error()
	if e.Path != "" {
		s += " (" + e.Path + ")"
	}
	s += ": " + e.Reason
	if len(e.Tried) > 0 {
		s += "; looked for " + strings.Join(e.Tried, ", ")
	}
	return s
}

// Unwrap gives Kind.
func (e *LibraryError) Unwrap() error { return e.Kind }

// DeviceError says why a device cannot be used. It is what Kind is.
type DeviceError struct {
	Kind    error // ErrNoDriver, ErrNoDevice or ErrUnsupportedArch
	Ordinal int   // -1 where it is not about one device
	Reason  string
}

func (e *DeviceError) Error() string {
	if e.Ordinal < 0 {
		return e.Kind.Error() + ": " + e.Reason
	}
	return fmt.Sprintf("%v: device %d: %s", e.Kind, e.Ordinal, e.Reason)
}

// Unwrap gives Kind.
func (e *DeviceError) Unwrap() error { return e.Kind }

// OutOfDeviceMemoryError says how many bytes work needs on the device and how many there are, within the budget; both
// are zero where the driver refused an allocation of its own. It is ErrOutOfDeviceMemory.
type OutOfDeviceMemoryError struct {
	Need, Have int64
	Reason     string
}

func (e *OutOfDeviceMemoryError) Error() string {
	return ErrOutOfDeviceMemory.Error() + ": " + e.Reason
}

// Is makes errors.Is(err, ErrOutOfDeviceMemory) hold, and with groth16.ErrNoRoom, which engines ask for.
func (e *OutOfDeviceMemoryError) Is(target error) bool {
	return target == ErrOutOfDeviceMemory || target == groth16.ErrNoRoom
}

// CUDAError is a failed call of the CUDA runtime, or a bug of the library. It is ErrCUDA.
type CUDAError struct {
	Code   int // the runtime's number, 0 if none
	Reason string
}

func (e *CUDAError) Error() string { return ErrCUDA.Error() + ": " + e.Reason }

// Is makes errors.Is(err, ErrCUDA) hold.
func (e *CUDAError) Is(target error) bool { return target == ErrCUDA }

// PointError is an invalid point of a key: its index in the section, in file order.
type PointError struct {
	Index  int64
	Reason string
}

func (e *PointError) Error() string { return fmt.Sprintf("gpu: point %d: %s", e.Index, e.Reason) }

// The numbers of enum fg_code.
const (
	codeOK = iota
	codeCUDA
	codeMemory
	codeArgument
	codeCancelled
	codePoint
	codeInternal
	codeHostMemory
	codeNoDevice
	codeNoDriver
	codeArch
)

// result is fg_result.
type result struct {
	code, cuda int
	need, have uint64
	index      int64
	message    string
}

// errCancelled is what a call returns whose cancel flag was raised; do turns it into ctx.Err().
var errCancelled = errors.New("gpu: cancelled")

func (r *result) err(ordinal int) error {
	switch r.code {
	case codeOK:
		return nil
	case codeMemory:
		return &OutOfDeviceMemoryError{int64(r.need), int64(r.have), r.message}
	case codeCancelled:
		return errCancelled
	case codePoint:
		return &PointError{r.index, r.message}
	case codeNoDevice:
		return &DeviceError{ErrNoDevice, ordinal, r.message}
	case codeNoDriver:
		return &DeviceError{ErrNoDriver, -1, r.message}
	case codeArch:
		return &DeviceError{ErrUnsupportedArch, ordinal, r.message}
	}
	return &CUDAError{r.cuda, r.message}
}
