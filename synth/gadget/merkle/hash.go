package merkle

import (
	"fmt"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/multipack"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/filgroth/filgroth/synth/gadget/poseidon"
	"github.com/filgroth/filgroth/synth/gadget/sha256"
)

// Hash is the hash of a tree's nodes.
type Hash uint8

const (
	// Poseidon is the hash of the trees C, R-last and R.
	Poseidon Hash = iota
	// SHA256 is the hash of the data tree D: SHA-256 of the children's 32-byte little-endian encodings, the two most
	// significant bits of the digest dropped.
	SHA256
)

func (h Hash) String() string {
	if h <= SHA256 {
		return [...]string{"poseidon", "sha256"}[h]
	}
	return fmt.Sprintf("Hash(%d)", uint8(h))
}

// Node allocates the parent of a row of children.
func (h Hash) Node(b *synth.Builder, row []num.Num) num.Num {
	if h == Poseidon {
		return poseidon.Hash(b, row...)
	}
	var buf [MaxArity]boolean.Vec
	msg := buf[:0]
	for i := range row {
		msg = append(msg, row[i].ToBitsLE(b).ReverseBitNumbering())
	}
	d, err := sha256.Hash(b, msg...)
	if err != nil {
		panic(err) // only for lengths that are no multiple of 8
	}
	return multipack.PackBits(b, d.ReverseBitNumbering())
}
