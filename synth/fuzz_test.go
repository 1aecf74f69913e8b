package synth

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// reseal makes all checksums right again, so that the checks behind them are reached.
func reseal(b []byte) {
	if len(b) < headerSize {
		return
	}
	le := binary.LittleEndian
	off := uint64(headerSize)
	for i := 0; i < numSections; i++ {
		n := le.Uint64(b[128+16*i:])
		if off > uint64(len(b)) || n > uint64(len(b))-off {
			break
		}
		le.PutUint32(b[128+16*i+8:], crc32.Checksum(b[off:off+n], castagnoli))
		off += (n + sectionPad - 1) / sectionPad * sectionPad
	}
	le.PutUint32(b[headerSize-4:], crc32.Checksum(b[:headerSize-4], castagnoli))
}

// FuzzSystemFile: whatever the bytes, parsing gives an error or a system on which nothing faults.
func FuzzSystemFile(f *testing.F) {
	ctx := context.Background()
	c := randomCircuit{shape: 4, vals: 3, pieces: 2}
	s, err := Compile(ctx, c)
	require.NoError(f, err)
	path := filepath.Join(f.TempDir(), "x.sys")
	require.NoError(f, s.WriteFile(ctx, path))
	raw, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Add(uint32(0), uint64(0), uint32(len(raw)))
	for _, at := range []uint32{16, 24, 32, 128, 144, 4096, 4200, 5000, 6000} {
		f.Add(at, uint64(1)<<33|7, uint32(len(raw)))
	}
	f.Fuzz(func(t *testing.T, at uint32, x uint64, n uint32) {
		b := append([]byte(nil), raw[:min(int(n), len(raw))]...)
		if int(at)+8 <= len(b) {
			binary.LittleEndian.PutUint64(b[at:], binary.LittleEndian.Uint64(b[at:])^x)
		}
		reseal(b)
		s, err := parse("fuzz", b)
		if err != nil {
			return
		}
		if s.inputs > 1<<16 || s.aux > 1<<20 || s.rows > 1<<20 {
			return
		}
		a, err := NewAssignment(s)
		require.NoError(t, err)
		defer a.Close()
		_ = s.Satisfied(ctx, a, 1)
		_ = s.EachRow(ctx, 0, s.rows, func(int, [3][]RowTerm) error { return nil })
		if w, err := AssignWitness(ctx, c, s, AssignConfig{}); err == nil {
			_ = w.Close()
		}
	})
}
