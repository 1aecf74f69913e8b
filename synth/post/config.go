package post

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/filgroth/filgroth/synth/vanilla"
)

// Config is a complete proof type: the circuit's shape and how challenges are derived.
type Config struct {
	Shape   CircuitShape
	Winning bool
	Version vanilla.Version
}

// SizeConfig returns the parameters of a sector size, registered or test.
func SizeConfig(size vanilla.SectorSize, winning bool, version vanilla.Version) (Config, error) {
	shape, err := WindowShape(size)
	if winning {
		shape, err = WinningShape(size)
	}
	return Config{Shape: shape, Winning: winning, Version: version}, err
}

// ProofConfig returns the parameters of a registered PoSt proof type.
func ProofConfig(p vanilla.PoStProof) (Config, error) {
	if !p.Valid() {
		return Config{}, fmt.Errorf("unknown PoSt proof type %d", int(p))
	}
	return SizeConfig(p.Size(), p.Winning(), p.Version())
}

// PerSector is the number of challenges of a sector: those of one circuit sector for window, of all circuit sectors for winning.
func (c *Config) PerSector() int {
	if c.Winning {
		return c.Shape.Sectors * c.Shape.Challenges
	}
	return c.Shape.Challenges
}

// Partitions is the number of partitions for a number of sectors, at least 1.
func (c *Config) Partitions(sectors int) int {
	if c.Winning || sectors == 0 {
		return 1
	}
	return (sectors + c.Shape.Sectors - 1) / c.Shape.Sectors
}

// InputCount is the number of public inputs of a partition, without ONE.
func (c *Config) InputCount() int { return c.Shape.Sectors * (1 + c.Shape.Challenges) }

// Sector is what a verifier knows of a sector.
type Sector struct {
	ID    uint64
	CommR vanilla.Commitment
}

// SortSectors returns the sectors in the order of their numbers, in which node software challenges and proves them; of sectors with
// the same number the first is kept.
func SortSectors(in []Sector) []Sector {
	out := append([]Sector(nil), in...)
	sort.SliceStable(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	n := 0
	for i := range out {
		if n == 0 || out[n-1].ID != out[i].ID {
			out[n] = out[i]
			n++
		}
	}
	return out[:n]
}

// Challenges returns the challenged leaves of a sector. position is the sector's place (from 0) among all sectors proven together,
// over all partitions; it matters before API version 1.2.0 only.
func (c *Config) Challenges(randomness vanilla.Commitment, sector uint64, position int) []uint64 {
	out := make([]uint64, c.PerSector())
	first := uint64(0)
	if c.Version < vanilla.V1_2_0 && !c.Winning {
		first = uint64(position) * uint64(len(out))
	}
	for n := range out {
		b := append(make([]byte, 0, 48), randomness[:]...)
		b = binary.LittleEndian.AppendUint64(b, sector)
		b = binary.LittleEndian.AppendUint64(b, first+uint64(n))
		d := sha256.Sum256(b)
		out[n] = binary.LittleEndian.Uint64(d[:]) % c.Shape.Nodes
	}
	return out
}

// WinningSector returns the index, among count eligible sectors, of the one that a WinningPoSt has to prove. Randomness and prover
// id must be canonical, count not 0.
func WinningSector(prover, randomness vanilla.Commitment, count uint64) (uint64, error) {
	if count == 0 {
		return 0, fmt.Errorf("post: no eligible sectors")
	}
	if !prover.Canonical() || !randomness.Canonical() {
		return 0, fmt.Errorf("post: prover id and randomness must be canonical field elements")
	}
	b := append(make([]byte, 0, 72), prover[:]...)
	b = append(b, randomness[:]...)
	b = binary.LittleEndian.AppendUint64(b, 0)
	d := sha256.Sum256(b)
	return binary.LittleEndian.Uint64(d[:]) % count, nil
}
