package groth16

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/filgroth/filgroth/internal/atomicfile"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/pinning"
)

// The native cache file holds the decoded points of a key, so that the CPU backend maps them instead of decoding. It is
// derived data: whatever is wrong with it, it is made anew from the parameter file. Layout, little endian: a header of
// 4096 bytes (magic, version, point sizes, identity of the key, size of the parameter file, for each section its offset,
// length in points and CRC-32C, CRC-32C of the header), then the sections in memory form, each at a multiple of 4096.
const (
	cacheMagic   = "FILGKEY\x00"
	cacheVersion = 1
	cacheHeader  = 4096
	cacheAlign   = 4096
	// maxCachedKey is the size above which a key gets no second copy on disk.
	maxCachedKey = 4 << 30
)

var (
	castagnoli         = crc32.MakeTable(crc32.Castagnoli)
	errCache           = errors.New("groth16: native key cache does not match")
	nativeLittleEndian = *(*byte)(unsafe.Pointer(&[1]uint16{1})) == 1
)

func (k *ProvingKey) cachePath(dir string, id [32]byte) string {
	return filepath.Join(dir, "native-"+hex.EncodeToString(id[:16])+".key")
}

func align(n int64) int64 { return (n + cacheAlign - 1) &^ (cacheAlign - 1) }

// cacheLayout gives the offsets of the sections and the size of the file.
func (k *ProvingKey) cacheLayout() (offs [NumSections]int64, size int64) {
	size = cacheHeader
	for s := SectionH; s < NumSections; s++ {
		offs[s] = size
		n := nativeG1
		if s == SectionB2 {
			n = nativeG2
		}
		size = align(size + int64(n)*int64(k.lens[s]))
	}
	return offs, size
}

// cacheHead is the header for given checksums.
func (k *ProvingKey) cacheHead(id [32]byte, crcs [NumSections]uint32) []byte {
	b := make([]byte, cacheHeader)
	copy(b, cacheMagic)
	le := binary.LittleEndian
	le.PutUint32(b[8:], cacheVersion)
	le.PutUint32(b[12:], uint32(nativeG1))
	le.PutUint32(b[16:], uint32(nativeG2))
	copy(b[24:], id[:])
	le.PutUint64(b[56:], uint64(k.size))
	offs, _ := k.cacheLayout()
	for s := range offs {
		le.PutUint64(b[64+24*s:], uint64(offs[s]))
		le.PutUint64(b[72+24*s:], uint64(k.lens[s]))
		le.PutUint32(b[80+24*s:], crcs[s])
	}
	le.PutUint32(b[cacheHeader-4:], crc32.Checksum(b[:cacheHeader-4], castagnoli))
	return b
}

func pointBytes[P any](p []P) []byte {
	if len(p) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&p[0])), len(p)*int(unsafe.Sizeof(p[0])))
}

func (n *native) bytes(s Section) []byte {
	if s == SectionB2 {
		return pointBytes(n.b2)
	}
	return pointBytes(n.g1[s])
}

// checksum stops with its context: a section may have gigabytes.
func checksum(ctx context.Context, b []byte) (crc uint32, err error) {
	for len(b) > 0 && err == nil {
		n := min(len(b), 16*ioChunk)
		crc = crc32.Update(crc, castagnoli, b[:n])
		b, err = b[n:], ctx.Err()
	}
	return crc, err
}

func (k *ProvingKey) writeCache(ctx context.Context, dir string, n *native) error {
	id, err := k.Identity()
	if err != nil {
		return err
	}
	var crcs [NumSections]uint32
	for s := range crcs {
		if crcs[s], err = checksum(ctx, n.bytes(Section(s))); err != nil {
			return err
		}
	}
	offs, size := k.cacheLayout()
	return atomicfile.Write(k.cachePath(dir, id), 0o644, func(w io.Writer) error {
		w = ctxWriter{ctx, w}
		at := int64(0)
		put := func(b []byte) error {
			for len(b) > 0 {
				m, err := w.Write(b[:min(len(b), ioChunk)])
				at += int64(m)
				if err != nil {
					return err
				}
				b = b[m:]
			}
			return nil
		}
		if err := put(k.cacheHead(id, crcs)); err != nil {
			return err
		}
		for s := range crcs {
			if err := put(make([]byte, offs[s]-at)); err != nil {
				return err
			}
			if err := put(n.bytes(Section(s))); err != nil {
				return err
			}
		}
		return put(make([]byte, size-at))
	})
}

// openCache maps the cache file and checks all of it.
func (k *ProvingKey) openCache(ctx context.Context, dir string) (_ *native, err error) {
	id, err := k.Identity()
	if err != nil {
		return nil, err
	}
	f, err := pinning.MapFile(k.cachePath(dir, id))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	offs, size := k.cacheLayout()
	b := f.Bytes()
	if int64(len(b)) != size {
		return nil, fmt.Errorf("%w: %w", errCache, &LengthError{size, int64(len(b))})
	}
	n := &native{free: []func() error{f.Close}}
	for s := range offs {
		p, l := unsafe.Pointer(&b[min(offs[s], size-1)]), k.lens[s]
		switch {
		case l == 0:
		case Section(s) == SectionB2:
			n.b2 = unsafe.Slice((*bls12381.G2Affine)(p), l)
		default:
			n.g1[s] = unsafe.Slice((*bls12381.G1Affine)(p), l)
		}
	}
	var crcs [NumSections]uint32
	err = par.Do(ctx, 0, NumSections, func(_, s int) (err error) {
		crcs[s], err = checksum(ctx, n.bytes(Section(s)))
		return err
	})
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(b[:cacheHeader], k.cacheHead(id, crcs)) {
		return nil, fmt.Errorf("%w: header or checksum", errCache)
	}
	now := time.Now()
	_ = os.Chtimes(f.Path(), now, now) // when it was used, for pruneCache; a read-only directory is not pruned either
	return n, nil
}

// cacheBytes is what KeyConfig.CacheBytes is where nobody chose; staleAfter is how long an unfinished copy is left alone at least.
const (
	cacheBytes = 16 << 30
	staleAfter = 15 * time.Minute
	copies     = "native-*.key" // the names of cachePath
)

// pruneCache bounds the copies after this key's was written.
func (k *ProvingKey) pruneCache(cfg KeyConfig) error {
	id, err := k.Identity()
	if err != nil {
		return err
	}
	return pruneCache(cfg.CacheDir, k.cachePath(cfg.CacheDir, id), cfg.CacheBytes)
}

// pruneCache removes copies until those that are left have at most so many bytes, the one not used for longest first. keep
// stays. A copy that a process has mapped lives on for it.
func pruneCache(dir, keep string, bound int64) error {
	_, err := atomicfile.Sweep(dir, copies, staleAfter)
	if bound < 0 {
		return err
	}
	if bound == 0 {
		bound = cacheBytes
	}
	entries, rerr := os.ReadDir(dir)
	if rerr != nil {
		return errors.Join(err, rerr)
	}
	var files []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		if ok, _ := filepath.Match(copies, e.Name()); !ok {
			continue
		}
		st, serr := e.Info()
		if serr != nil || !st.Mode().IsRegular() {
			continue
		}
		total += st.Size()
		if e.Name() != filepath.Base(keep) {
			files = append(files, st)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if total <= bound {
			break
		}
		total -= f.Size()
		if rerr := os.Remove(filepath.Join(dir, f.Name())); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}
