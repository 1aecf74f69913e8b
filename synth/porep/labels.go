package porep

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/poseidon"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// ReplicaID binds a replica to its owner, sector, ticket and data.
func ReplicaID(prover vanilla.Commitment, sector uint64, ticket, commD vanilla.Commitment, porepID [32]byte) vanilla.Commitment {
	b := make([]byte, 0, 136)
	b = append(b, prover[:]...)
	b = binary.BigEndian.AppendUint64(b, sector)
	b = append(b, ticket[:]...)
	b = append(b, commD[:]...)
	b = append(b, porepID[:]...)
	c := vanilla.Commitment(sha256.Sum256(b))
	c.Truncate()
	return c
}

// Label is the label of a node in a layer (from 1), given the 37 parent labels (none for node 0).
func Label(replicaID *vanilla.Commitment, layer uint32, node uint64, parents []vanilla.Commitment) vanilla.Commitment {
	var buf [64 + 32*labelParents]byte
	copy(buf[:], replicaID[:])
	binary.BigEndian.PutUint32(buf[32:], layer)
	binary.BigEndian.PutUint64(buf[36:], node)
	b := buf[:64]
	for i := range parents {
		b = append(b, parents[i][:]...)
	}
	c := vanilla.Commitment(sha256.Sum256(b))
	c.Truncate()
	return c
}

// ExpandParents repeats the labels of the parents of a node up to the 37 that a label hashes: 6 in the first layer, 14 otherwise.
func ExpandParents(own []vanilla.Commitment) []vanilla.Commitment {
	out := make([]vanilla.Commitment, labelParents)
	for i := range out {
		out[i] = own[i%len(own)]
	}
	return out
}

// HashColumn is the leaf of tree C for the labels of one node, layer 1 first.
func HashColumn(rows []vanilla.Commitment) (vanilla.Commitment, error) {
	if len(rows) == 0 || len(rows) > poseidon.MaxArity {
		return vanilla.Commitment{}, vanilla.Errorf("", "column of %d rows", len(rows))
	}
	var in [poseidon.MaxArity]fr.Element
	for i := range rows {
		x, err := rows[i].Fr()
		if err != nil {
			return vanilla.Commitment{}, vanilla.At(i, err)
		}
		in[i] = x
	}
	return vanilla.FromFr(poseidon.Sum(in[:len(rows)])), nil
}

// Encode returns key + data in the field: a node of the replica. Both must be canonical.
func Encode(key, data *vanilla.Commitment) (vanilla.Commitment, error) {
	k, err := key.Fr()
	if err != nil {
		return vanilla.Commitment{}, err
	}
	d, err := data.Fr()
	if err != nil {
		return vanilla.Commitment{}, err
	}
	k.Add(&k, &d)
	return vanilla.FromFr(k), nil
}
