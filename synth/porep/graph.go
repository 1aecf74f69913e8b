package porep

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/filgroth/filgroth/synth/vanilla"
	"golang.org/x/crypto/blake2b"
)

// Graph gives the parents of nodes: a depth-robust graph inside a layer, an expander between layers. It is safe for concurrent use.
//
// Source: Filecoin specification, "Stacked DRG PoRep"; the sampling is DRSample (Alwen, Blocki, Harsha,
// https://eprint.iacr.org/2017/443) with buckets of one less than the degree.
type Graph struct {
	nodes   uint64
	version vanilla.Version
	drgSeed [28]byte
	keys    [3]uint64 // Feistel rounds
	half    uint      // bits of one Feistel half
}

// NewGraph returns the graph of a proof type.
func NewGraph(c *Config) *Graph {
	g := &Graph{nodes: c.Nodes, version: c.Version}
	d := sha256.Sum256(append([]byte("Filecoin_DRSample"), c.PoRepID[:]...))
	copy(g.drgSeed[:], d[:])
	d = sha256.Sum256(append([]byte("Filecoin_Feistel"), c.PoRepID[:]...))
	for i := range g.keys {
		g.keys[i] = binary.LittleEndian.Uint64(d[8*i:])
	}
	width := uint(bits.Len64(ExpParents*c.Nodes - 1)) // 2^width is the least power of two that holds all indices
	g.half = max(1, (width+1)/2)
	return g
}

// Parents returns the parents of a node below the number of nodes: 6 in the same layer, then 8 in the layer before. There may be
// repetitions. Node 0 has none in the same layer; 0 stands there.
func (g *Graph) Parents(node uint64) [Parents]uint32 {
	var p [Parents]uint32
	g.drg(node, p[:DRGParents])
	for i := uint64(0); i < ExpParents; i++ {
		t := g.permute(ExpParents*node + i)
		if g.version == vanilla.V1_0_0 {
			t = uint64(uint32(t)) // a slip of the first version that is consensus for the sectors sealed with it
		}
		p[DRGParents+i] = uint32(t / ExpParents)
	}
	return p
}

func (g *Graph) drg(node uint64, p []uint32) {
	if node < 2 {
		return
	}
	const buckets = DRGParents - 1
	var key [32]byte
	copy(key[:], g.drgSeed[:])
	binary.LittleEndian.PutUint32(key[28:], uint32(node))
	rng := newChaCha8(&key)
	meta := node * buckets
	scales := uint64(bits.Len64(meta - 1))
	sampled := p[1:]
	p[0] = uint32(node - 1)
	if g.version == vanilla.V1_0_0 {
		sampled = p[:buckets]
		p[buckets] = uint32(node - 1)
	}
	for i := range sampled {
		scale := rng.next()%scales + 1
		hi := min(meta, 1<<scale)
		lo := max(2, hi>>1)
		dist := lo + rng.next()%(hi-lo+1)
		parent := (meta - dist) / buckets
		if parent == node {
			parent--
		}
		sampled[i] = uint32(parent)
	}
}

// permute is a pseudorandom permutation of the indices of all expander edges: a three-round Feistel network on the next even
// number of bits, walked until the index is in range.
func (g *Graph) permute(u uint64) uint64 {
	for {
		u = g.feistel(u)
		if u < ExpParents*g.nodes {
			return u
		}
	}
}

func (g *Graph) feistel(u uint64) uint64 {
	mask := uint64(1)<<g.half - 1
	l, r := u>>g.half&mask, u&mask
	for _, key := range g.keys {
		var in [16]byte
		binary.BigEndian.PutUint64(in[:], r)
		binary.BigEndian.PutUint64(in[8:], key)
		d := blake2b.Sum512(in[:])
		l, r = r, l^binary.BigEndian.Uint64(d[:])&mask
	}
	return l<<g.half | r
}
