package ntt

import (
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// overlap says whether two slices share memory.
func overlap(x, y []fr.Element) bool {
	if len(x) == 0 || len(y) == 0 {
		return false
	}
	from := func(v []fr.Element) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(v))) }
	to := func(v []fr.Element) uintptr { return from(v) + uintptr(len(v))*fr.Bytes }
	return from(x) < to(y) && from(y) < to(x)
}
