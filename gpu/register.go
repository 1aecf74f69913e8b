package gpu

import (
	"cmp"
	"context"
	"iter"
	"os"
	"slices"
	"unsafe"
)

// Register page-locks memory for transfers to all devices, in pieces of at most chunk bytes (0: 16 GiB), but at least a
// page, since a page can be locked once only; Unregister undoes it with the same arguments. An empty mem is nothing to do.
// On failure nothing stays locked.
func (d *Device) Register(mem []byte, chunk int) error {
	return d.do(context.Background(), func(*int32) result { return d.registerNow(context.Background(), regionOf(mem), chunk) })
}

// Unregister is described at Register.
func (d *Device) Unregister(mem []byte, chunk int) error {
	return d.do(context.Background(), func(*int32) result { return d.unregisterNow(regionOf(mem), chunk) })
}

// registerNow is Register, on any thread. ctx is looked at between pieces.
func (d *Device) registerNow(ctx context.Context, r region, chunk int) result {
	done := 0
	for part := range r.cut(chunk) {
		res := result{code: codeCancelled}
		if ctx.Err() == nil {
			res = d.lib.hostRegister(d.opts.Ordinal, part.at, uint64(part.n))
		}
		if res.code != codeOK {
			d.unregisterNow(region{r.at, done}, chunk)
			return res
		}
		done += part.n
	}
	return result{}
}

// unregisterNow goes on after a failure and returns the first.
func (d *Device) unregisterNow(r region, chunk int) result {
	var first result
	for part := range r.cut(chunk) {
		if res := d.lib.hostUnregister(d.opts.Ordinal, part.at, uint64(part.n)); res.code != codeOK && first.code == codeOK {
			first = res
		}
	}
	return first
}

// region is a stretch of addresses. It may go over memory between values that are locked together, hence it is no slice.
type region struct {
	at unsafe.Pointer
	n  int
}

func regionOf(mem []byte) region { return region{unsafe.Pointer(unsafe.SliceData(mem)), len(mem)} }

func (r region) start() uintptr { return uintptr(r.at) }
func (r region) end() uintptr   { return uintptr(r.at) + uintptr(r.n) }

// cut yields the region in parts of at most chunk bytes, but at least a page. Parts begin and end where pages do, except
// at the ends of the region. 0 is 16 GiB: one registration of 512 GiB or more fails in some drivers.
func (r region) cut(chunk int) iter.Seq[region] {
	if chunk <= 0 {
		chunk = 16 << 30
	}
	page := uintptr(os.Getpagesize())
	step := max(uintptr(chunk)/page, 1) * page
	return func(yield func(region) bool) {
		for at := r.start(); at < r.end(); {
			next := min(at/page*page+step, r.end())
			if !yield(region{unsafe.Add(r.at, at-r.start()), int(next - at)}) {
				return
			}
			at = next
		}
	}
}

// joined makes one region of those that share a page. Empty ones are dropped.
func joined(parts []region) []region {
	page := uintptr(os.Getpagesize())
	parts = slices.DeleteFunc(slices.Clone(parts), func(r region) bool { return r.n == 0 })
	slices.SortFunc(parts, func(a, b region) int { return cmp.Compare(a.start(), b.start()) })
	var out []region
	for _, r := range parts {
		if n := len(out); n > 0 && r.start()/page <= (out[n-1].end()-1)/page {
			last := &out[n-1]
			last.n = int(max(last.end(), r.end()) - last.start())
			continue
		}
		out = append(out, r)
	}
	return out
}

// bytesOf is the memory of a slice.
func bytesOf[T any](v []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(t)))
}
