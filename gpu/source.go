package gpu

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"sync"
)

// The sources that the library is built from: its digest of them must be ours. Embedding them keeps the two from
// drifting apart unseen; nothing is compiled at run time.
//
//go:embed cuda/*.cu cuda/*.cuh cuda/*.h
var sources embed.FS

// SourceDigest is the SHA-256 of the CUDA sources that this program belongs to: all files in order of their names.
var SourceDigest = sync.OnceValue(func() string {
	h := sha256.New()
	entries, err := fs.ReadDir(sources, "cuda") // sorted by name
	if err != nil {
		return ""
	}
	for _, e := range entries {
		b, err := fs.ReadFile(sources, "cuda/"+e.Name())
		if err != nil {
			return ""
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
})
