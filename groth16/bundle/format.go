package bundle

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

const (
	magic      = "FILGBNDL"
	version    = 1
	headerSize = 4096
	pad        = 64
	tableAt    = 144
	entrySize  = 24
	// MaxNote is the largest note in bytes.
	MaxNote = 1 << 16
)

const (
	secSystem = iota
	secInputs
	secBits
	secFields
	secVK
	secKey
	secNote
	numSections
)

var sectionNames = [numSections]string{"system", "inputs", "bits", "fields", "vk", "key", "note"}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func padded(n uint64) uint64 { return (n + pad - 1) / pad * pad }

// counter is a writer that only counts and sums up.
type counter struct {
	n   uint64
	crc uint32
}

func (c *counter) Write(b []byte) (int, error) {
	c.n += uint64(len(b))
	c.crc = crc32.Update(c.crc, castagnoli, b)
	return len(b), nil
}

// writeChunk is how many elements are encoded at a time.
const writeChunk = 1 << 11

func writeElements(ctx context.Context, w io.Writer, v []fr.Element) error {
	buf := make([]byte, 0, fr.Bytes*min(len(v), writeChunk))
	for len(v) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(v), writeChunk)
		buf = buf[:fr.Bytes*n]
		for i := range n {
			fr.LittleEndian.PutElement((*[fr.Bytes]byte)(buf[fr.Bytes*i:]), v[i])
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		v = v[n:]
	}
	return nil
}

func writeWords(ctx context.Context, w io.Writer, v []uint64) error {
	buf := make([]byte, 0, 8*min(len(v), 4*writeChunk))
	for len(v) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(len(v), 4*writeChunk)
		buf = buf[:0]
		for _, x := range v[:n] {
			buf = binary.LittleEndian.AppendUint64(buf, x)
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		v = v[n:]
	}
	return nil
}
