//go:build cgo && linux

package gpu

/*
#cgo linux LDFLAGS: -ldl
#include "load.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// canLoad says whether this build can open a library at all.
const canLoad = true

// library is a loaded libfilgroth_cuda.so. It stays loaded as long as the process lives: CUDA does not like to be
// unloaded.
type library struct{ t *C.fg_table }

var _ native = (*library)(nil)

// Libraries by path: a second Open shares the first one's.
var (
	loadedMu sync.Mutex
	loaded   = map[string]*library{}
)

func load(path string, tried []string) (native, error) {
	loadedMu.Lock()
	defer loadedMu.Unlock()
	if l := loaded[path]; l != nil {
		return l, nil
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var (
		table   *C.fg_table
		abi     C.uint32_t
		message [512]C.char
	)
	status := C.fg_load(name, &table, &abi, &message[0], C.size_t(len(message)))
	text := C.GoString(&message[0])
	switch status {
	case C.FG_LOADED:
		l := &library{table}
		loaded[path] = l
		return l, nil
	case C.FG_LOAD_OPEN:
		return nil, &LibraryError{ErrNoLibrary, path, text + ": build it with \"make -C gpu/cuda\"", tried}
	case C.FG_LOAD_ABI:
		return nil, &LibraryError{ErrABI, path, fmt.Sprintf("it has version %d, this program %d: rebuild it with \"make -C gpu/cuda\"",
			int(abi), C.FG_ABI_VERSION), nil}
	case C.FG_LOAD_NO_MEMORY:
		return nil, &LibraryError{ErrNoLibrary, path, "out of memory", nil}
	}
	return nil, &LibraryError{ErrABI, path, text + ": rebuild it with \"make -C gpu/cuda\"", nil}
}

func toResult(r C.fg_result) result {
	if r.code == codeOK {
		return result{}
	}
	return result{int(r.code), int(r.cuda), uint64(r.need), uint64(r.have), int64(r.index), C.GoString(&r.message[0])}
}

func boolInt(b bool) C.int32_t {
	if b {
		return 1
	}
	return 0
}

func (l *library) digest() string        { return C.GoString(C.call_source_digest(l.t)) }
func (l *library) architectures() string { return C.GoString(C.call_architectures(l.t)) }

func (l *library) versions() (driver, runtime, devices int, r result) {
	var d, v, n C.int32_t
	r = toResult(C.call_versions(l.t, &d, &v, &n))
	return int(d), int(v), int(n), r
}

func (l *library) query(ordinal int) (DeviceInfo, result) {
	var c C.fg_device_info
	if r := toResult(C.call_device_query(l.t, C.int32_t(ordinal), &c)); r.code != codeOK {
		return DeviceInfo{}, r
	}
	return DeviceInfo{ordinal, C.GoString(&c.name[0]), int(c.major), int(c.minor), int(c.processors),
		int64(c.memory_total), int64(c.memory_free), c.runs != 0}, result{}
}

func (l *library) held(ordinal int) BytesHeld {
	var b C.fg_bytes
	C.call_bytes_held(l.t, C.int32_t(ordinal), &b)
	return BytesHeld{int64(b.device), int64(b.device_peak), int64(b.pinned)}
}

func (l *library) resetPeak(ordinal int) { C.call_bytes_reset_peak(l.t, C.int32_t(ordinal)) }
func (l *library) faultSet(n int64)      { C.call_fault_set(l.t, C.int64_t(n)) }
func (l *library) faultLeft() int64      { return int64(C.call_fault_left(l.t)) }

func (l *library) hostRegister(ordinal int, p unsafe.Pointer, n uint64) result {
	return toResult(C.call_host_register(l.t, C.int32_t(ordinal), p, C.uint64_t(n)))
}

func (l *library) hostUnregister(ordinal int, p unsafe.Pointer, n uint64) result {
	return toResult(C.call_host_unregister(l.t, C.int32_t(ordinal), p, C.uint64_t(n)))
}

func (l *library) deviceOpen(ordinal int, budget uint64) (handle, result) {
	var d *C.fg_device
	r := toResult(C.call_device_open(l.t, C.int32_t(ordinal), C.uint64_t(budget), &d))
	return handle(d), r
}

func (l *library) deviceClose(d handle) { C.call_device_close(l.t, (*C.fg_device)(d)) }

func (l *library) deviceTrim(d handle) result {
	return toResult(C.call_device_trim(l.t, (*C.fg_device)(d)))
}

func (l *library) ntt(d handle, log int, inverse, coset bool, v unsafe.Pointer, cancel *int32) result {
	return toResult(C.call_ntt(l.t, (*C.fg_device)(d), C.int32_t(log), boolInt(inverse), boolInt(coset), v, (*C.int32_t)(cancel)))
}

func (l *library) quotient(d handle, log int, a, b, c unsafe.Pointer, cancel *int32) result {
	return toResult(C.call_quotient(l.t, (*C.fg_device)(d), C.int32_t(log), a, b, c, (*C.int32_t)(cancel)))
}

func (l *library) msm(d handle, group int, s *sumArgs, out unsafe.Pointer, cancel *int32) result {
	return toResult(C.call_msm(l.t, (*C.fg_device)(d), C.int32_t(group), C.uint64_t(s.n), s.points, s.scalars,
		(*C.uint64_t)(s.bits), C.uint64_t(s.tails), (*C.uint32_t)(s.tailAt), C.int32_t(s.window), out, (*C.int32_t)(cancel)))
}

func (l *library) multiples(d handle, group int, base unsafe.Pointer, k []fr.Element, dst []byte, cancel *int32) result {
	return toResult(C.call_multiples(l.t, (*C.fg_device)(d), C.int32_t(group), base, C.uint64_t(len(k)), pointer(k), pointer(dst),
		(*C.int32_t)(cancel)))
}
