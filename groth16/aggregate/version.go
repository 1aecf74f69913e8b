package aggregate

import "fmt"

// Version is a variant of the SnarkPack transcript. The zero value is none of them.
type Version uint8

const (
	// V1 takes the challenge of the first folding round from the commitments alone, not from the
	// messages of that round, and the last challenge from fewer elements. It lives on for
	// proofs that exist; nothing new should choose it.
	V1 Version = 1
	// V2 hashes the messages of every round.
	V2 Version = 2
)

func (v Version) String() string {
	switch v {
	case V1:
		return "SnarkPackV1"
	case V2:
		return "SnarkPackV2"
	}
	return fmt.Sprintf("SnarkPack(version %d)", uint8(v))
}

// Validate refuses everything but V1 and V2.
func (v Version) Validate() error {
	if v != V1 && v != V2 {
		return refused("version", -1, "%d is none of 1, 2", uint8(v))
	}
	return nil
}

// FromRegistered translates the number of a registered aggregation of Filecoin: 0 is SnarkPackV1, 1 is SnarkPackV2.
func FromRegistered(n int64) (Version, error) {
	switch n {
	case 0:
		return V1, nil
	case 1:
		return V2, nil
	}
	return 0, refused("registered aggregation", -1, "%d is none of 0, 1", n)
}
