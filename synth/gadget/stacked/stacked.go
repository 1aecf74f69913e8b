// Package stacked holds the gadgets of StackedDRG proof of replication: the label of a node and the hash of a
// column of labels. (Encoding data with a label is num.Encode.)
package stacked

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/multipack"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/filgroth/filgroth/synth/gadget/poseidon"
	"github.com/filgroth/filgroth/synth/gadget/sha256"
)

// LabelParents is the number of parent labels that a label's preimage holds, repetitions included.
const LabelParents = 37

// ErrColumn: no hash exists for a column of that length.
var ErrColumn = errors.New("stacked: columns have 2 or 11 rows")

// CreateLabel allocates the label of a node in a layer (counted from 1): SHA-256 truncated to 254 bits over the replica id, the
// layer, the node number and the parents' labels. replicaID (256 bits) and parents (up to 256 bits each, padded with zeros) are
// message bits: most significant of each byte first. node are its 64 bits, most significant first.
func CreateLabel(b *synth.Builder, replicaID boolean.Vec, parents []boolean.Vec, layer uint32, node boolean.Vec) (num.Num, error) {
	var head [4]byte
	binary.BigEndian.PutUint32(head[:], layer)
	msg := make([]boolean.Vec, 0, 4+2*len(parents))
	msg = append(msg, replicaID, boolean.Constants(b, head[:]), node, boolean.Constants(b, make([]byte, 20)))
	for _, p := range parents {
		msg = append(msg, p)
		if n := p.Len(); n < 256 {
			msg = append(msg, boolean.Constants(b, make([]byte, 32)).Slice(n, 256))
		}
	}
	d, err := sha256.Hash(b, msg...)
	if err != nil {
		return num.Num{}, err
	}
	return multipack.PackBits(b, d.ReverseBitNumbering()), nil
}

// HashColumn allocates the Poseidon hash of one column of labels, which has a row for each layer.
func HashColumn(b *synth.Builder, rows []num.Num) (num.Num, error) {
	if len(rows) != 2 && len(rows) != 11 {
		return num.Num{}, fmt.Errorf("%w: got %d", ErrColumn, len(rows))
	}
	return poseidon.Hash(b, rows...), nil
}
