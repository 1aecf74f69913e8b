package porep

import (
	"fmt"

	"github.com/filgroth/filgroth/synth/vanilla"
)

// Degrees of the graph.
const (
	DRGParents = 6
	ExpParents = 8
	Parents    = DRGParents + ExpParents
)

// labelParents is the number of parent labels that a label hashes, repetitions included.
const labelParents = 37

// Shape is what the circuit of one partition depends on: nothing else does.
type Shape struct {
	Nodes      uint64            // leaves of each tree
	Tree       vanilla.TreeShape // trees C and R-last
	Layers     int
	Challenges int // challenges of a partition
}

// Config is a complete proof type: the circuit's shape and how challenges and graph are derived.
type Config struct {
	Shape
	Partitions int
	Mode       vanilla.Mode
	Version    vanilla.Version
	PoRepID    [32]byte
}

// SizeConfig returns the parameters of a sector size, registered or test (4 KiB, 16 KiB, 32 KiB, 16 MiB, 1 GiB), with the given
// challenge derivation and a zero PoRepID.
func SizeConfig(size vanilla.SectorSize, mode vanilla.Mode, version vanilla.Version) (Config, error) {
	tree, ok := size.Tree()
	if !ok {
		return Config{}, fmt.Errorf("no proof of replication for sectors of %v", size)
	}
	c := Config{Shape: Shape{Nodes: size.Nodes(), Tree: tree, Layers: 2, Challenges: 2}, Partitions: 1, Mode: mode, Version: version}
	large := size >= vanilla.Size32GiB
	if large {
		c.Layers, c.Challenges, c.Partitions = 11, 18, 10
	}
	if mode == vanilla.NonInteractive {
		c.Partitions = 13
		if large {
			c.Partitions = 126
		}
	}
	return c, nil
}

// ProofConfig returns the parameters of a registered seal proof type.
func ProofConfig(p vanilla.SealProof) (Config, error) {
	if !p.Valid() {
		return Config{}, fmt.Errorf("unknown seal proof type %d", int(p))
	}
	c, err := SizeConfig(p.Size(), p.Mode(), p.Version())
	c.PoRepID = p.PoRepID()
	return c, err
}

// InputCount is the number of public inputs of a partition, without ONE.
func (s Shape) InputCount() int { return 3 + s.Challenges*(4+Parents) }

// SectorSize is the size in bytes.
func (s Shape) SectorSize() vanilla.SectorSize {
	return vanilla.SectorSize(s.Nodes * vanilla.NodeBytes)
}

// ProofBytes is the length of the concatenated Groth16 proofs of all partitions.
func (c Config) ProofBytes() int { return 192 * c.Partitions }
