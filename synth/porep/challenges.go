package porep

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math/bits"

	"github.com/filgroth/filgroth/synth/vanilla"
	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/chacha20"
)

// Domain separation of the challenge derivations (Filecoin improvement proposals 0059 and 0092).
const (
	domainNI        = "filecoin.io|PoRep|1|NonInteractive|1"
	domainGenerate  = "filecoin.io|PoRep|1|Synthetic|1|Generation"
	domainSelect    = "filecoin.io|PoRep|1|Synthetic|1|Selection"
	synthNonce      = "synth-porep\x00"
	maxSyntheticSet = 1 << 18
)

// pick maps a 256-bit little-endian integer to a node other than 0.
func pick(b []byte, nodes uint64) uint64 {
	var rem uint64
	for i := 24; i >= 0; i -= 8 {
		_, rem = bits.Div64(rem, binary.LittleEndian.Uint64(b[i:]), nodes-1)
	}
	return rem + 1
}

// Challenges returns the challenged nodes of a partition (from 0) in order; none is 0.
func (p *Public) Challenges(partition int) []uint64 {
	out := make([]uint64, p.Config.Challenges)
	first := uint32(partition * p.Config.Challenges)
	switch p.Config.Mode {
	case vanilla.Synthetic:
		s := newSynthetic(p)
		for i := range out {
			out[i] = s.selected(first + uint32(i))
		}
	case vanilla.NonInteractive:
		for i := range out {
			out[i] = hashed(p.Config.Nodes, first+uint32(i), []byte(domainNI), p.ReplicaID[:], p.CommR[:])
		}
	default:
		for i := range out {
			out[i] = hashed(p.Config.Nodes, first+uint32(i), p.ReplicaID[:], p.Seed[:])
		}
	}
	return out
}

func hashed(nodes uint64, j uint32, parts ...[]byte) uint64 {
	h := sha256.New()
	for _, b := range parts {
		h.Write(b)
	}
	h.Write(binary.LittleEndian.AppendUint32(nil, j))
	return pick(h.Sum(nil), nodes)
}

// synthetic selects challenges from a set that is fixed before the seed is known.
type synthetic struct {
	nodes, set uint64
	generate   [32]byte // keys of ChaCha20
	choose     [32]byte
}

func newSynthetic(p *Public) *synthetic {
	s := &synthetic{nodes: p.Config.Nodes, set: min(p.Config.Nodes, maxSyntheticSet)}
	s.generate = keyed(domainGenerate, p.ReplicaID[:], p.CommR[:])
	s.choose = keyed(domainSelect, p.ReplicaID[:], p.Seed[:])
	return s
}

func keyed(domain string, parts ...[]byte) (out [32]byte) {
	h := mustBlake2b(domain)
	for _, b := range parts {
		h.Write(b)
	}
	h.Sum(out[:0])
	return out
}

func mustBlake2b(key string) hash.Hash {
	h, err := blake2b.New256([]byte(key))
	if err != nil {
		panic(err) // keys of this package are shorter than the limit of 64 bytes
	}
	return h
}

// keystream fills out from a multiple of the block size on.
func keystream(key *[32]byte, block uint32, out []byte) {
	c, err := chacha20.NewUnauthenticatedCipher(key[:], []byte(synthNonce))
	if err != nil {
		panic(err) // key and nonce have fixed lengths
	}
	c.SetCounter(block)
	c.XORKeyStream(out, out)
}

// member is synthetic challenge number s, below the size of the set.
func (s *synthetic) member(i uint64) uint64 {
	var b [64]byte
	keystream(&s.generate, uint32(i/2), b[:])
	return pick(b[i%2*32:][:32], s.nodes)
}

// selected is challenge number j over all partitions.
func (s *synthetic) selected(j uint32) uint64 {
	var b [64]byte
	keystream(&s.choose, j/16, b[:])
	return s.member(uint64(binary.LittleEndian.Uint32(b[j%16*4:])) % s.set)
}
