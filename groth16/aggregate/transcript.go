package aggregate

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// transcript is the hash from which one challenge is drawn. Values enter without any mark of type or length.
type transcript struct{ h hash.Hash }

// newTranscript starts a challenge. The prefix says v1 in both versions.
func newTranscript(tag string) transcript {
	t := transcript{sha256.New()}
	t.h.Write([]byte("snarkpack-v1"))
	t.h.Write([]byte(tag))
	return t
}

func (t transcript) fr(values ...fr.Element) transcript {
	var buf [fr.Bytes]byte
	for _, v := range values {
		fr.LittleEndian.PutElement(&buf, v)
		t.h.Write(buf[:])
	}
	return t
}

func (t transcript) g1(points ...bls12381.G1Affine) transcript {
	for i := range points {
		b := points[i].Bytes()
		t.h.Write(b[:])
	}
	return t
}

func (t transcript) g2(points ...bls12381.G2Affine) transcript {
	for i := range points {
		b := points[i].Bytes()
		t.h.Write(b[:])
	}
	return t
}

func (t transcript) gt(values ...bls12381.GT) transcript {
	for i := range values {
		b := rawGT(&values[i])
		t.h.Write(b[:])
	}
	return t
}

// bytes takes the caller's data, the only value that carries its length.
func (t transcript) bytes(b []byte) transcript {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
	t.h.Write(n[:])
	t.h.Write(b)
	return t
}

// challenge counts up until the digest, cut to 255 bits, is a scalar other than 0 and 1.
func (t transcript) challenge() fr.Element {
	var buf [8]byte
	for counter := uint64(1); ; counter++ {
		binary.BigEndian.PutUint64(buf[:], counter)
		t.h.Write(buf[:])
		var digest [fr.Bytes]byte
		t.h.Sum(digest[:0])
		digest[fr.Bytes-1] &= 0x7f
		c, err := fr.LittleEndian.Element(&digest)
		if err == nil && !c.IsZero() && !c.IsOne() {
			return c
		}
	}
}
