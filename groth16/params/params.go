// Package params knows Filecoin's deployed Groth16 parameter files: their names, digests and dimensions, and how to open
// them from a directory without mistaking one for another.
//
// It downloads nothing. Who has files of other circuits should use groth16.OpenProvingKey.
package params

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/synth/porep"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Kind is a family of circuits.
type Kind uint8

// The kinds.
const (
	PoRep Kind = iota
	Winning
	Window
	Update
	UpdatePoseidon // in the deployed manifest, not used by the network
	numKinds
)

var kindNames = [numKinds]string{"porep", "winning", "window", "update", "update-poseidon"}

func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Circuit names a circuit of a kind and sector size, and with it its two files.
type Circuit struct {
	Kind Kind
	Size vanilla.SectorSize
	id   string // prefix and digest, see CacheID
}

// For returns the circuit of a kind and sector size, which need not have deployed files.
func For(k Kind, size vanilla.SectorSize) (Circuit, error) {
	id, err := identifier(k, size)
	if err != nil {
		return Circuit{}, err
	}
	tree, _ := size.Tree()
	shape := "merkletree-poseidon_hasher-" + tree.String()
	var prefix string
	switch k {
	case PoRep:
		prefix = "stacked-proof-of-replication-" + shape + "-sha256_hasher"
	case Winning, Window:
		prefix = "proof-of-spacetime-fallback-" + shape
	case Update:
		prefix = "empty-sector-update-" + shape
	case UpdatePoseidon:
		prefix = "empty-sector-update-poseidon-" + shape
	}
	h := sha256.Sum256([]byte(id))
	return Circuit{k, size, prefix + "-" + hex.EncodeToString(h[:])}, nil
}

// identifier is the text whose digest names the circuit (spec/params-files.md §2.5).
func identifier(k Kind, size vanilla.SectorSize) (string, error) {
	tree, ok := size.Tree()
	if !ok {
		return "", fmt.Errorf("params: no circuits for sectors of %v", size)
	}
	switch k {
	case PoRep:
		c, err := porep.SizeConfig(size, vanilla.Interactive, vanilla.V1_1_0)
		if err != nil {
			return "", fmt.Errorf("params: %w", err)
		}
		return fmt.Sprintf("layered_drgporep::PublicParams{ graph: stacked_graph::StackedGraph{expansion_degree: %d base_graph: "+
			"drgraph::BucketGraph{size: %d; degree: %d; hasher: poseidon_hasher} }, challenges: LayerChallenges { layers: %d, "+
			"max_count: %d }, tree: merkletree-poseidon_hasher-%v }", porep.ExpParents, size.Nodes(), porep.DRGParents, c.Layers, c.Challenges, tree), nil
	case Winning, Window:
		c, err := post.SizeConfig(size, k == Winning, vanilla.V1_2_0)
		if err != nil {
			return "", fmt.Errorf("params: %w", err)
		}
		return fmt.Sprintf("FallbackPoSt::PublicParams{sector_size: %d, challenge_count: %d, sector_count: %d}", uint64(size),
			c.Shape.Challenges, c.Shape.Sectors), nil
	case Update, UpdatePoseidon:
		return fmt.Sprintf("empty_sector_update::PublicParams{ sector_nodes: %d }", size.Nodes()), nil
	}
	return "", fmt.Errorf("params: unknown kind %v", k)
}

// String is kind and size, "porep-32GiB".
func (c Circuit) String() string { return c.Kind.String() + "-" + c.Size.String() }

// CacheID is the name of the circuit in the deployed stack, without version and ending.
func (c Circuit) CacheID() string { return c.id }

// ParamsFile and VKFile are the names of the circuit's files in a parameter directory.
func (c Circuit) ParamsFile() string { return version + c.id + ".params" }

// VKFile is described at ParamsFile.
func (c Circuit) VKFile() string { return version + c.id + ".vk" }

// version is the parameter version of the network.
const version = "v28-"

// Dimensions are what a circuit's key has.
type Dimensions struct {
	Inputs, Aux, Constraints int // inputs with ONE; constraints with the input rows
	H, A, B                  int // points of the sections (l has Aux, both b have B)
	ParamsBytes              int64
}

// Section is the number of points of a section.
func (d Dimensions) Section(s groth16.Section) int {
	switch s {
	case groth16.SectionH:
		return d.H
	case groth16.SectionL:
		return d.Aux
	case groth16.SectionA:
		return d.A
	}
	return d.B
}

type dimension struct {
	kind Kind
	size vanilla.SectorSize
	Dimensions
}

// Dimensions are the expected ones; false for a circuit without deployed files.
func (c Circuit) Dimensions() (Dimensions, bool) {
	for _, d := range dimensions {
		if d.kind == c.Kind && d.size == c.Size {
			return d.Dimensions, true
		}
	}
	return Dimensions{}, false
}

type deployed struct {
	kind       Kind
	size       vanilla.SectorSize
	id         string
	params, vk string
}

// Digests are the first 16 bytes of the BLAKE2b-512 of the deployed .params and .vk files in hex, as in the network's
// parameters.json; false for a circuit without deployed files.
func (c Circuit) Digests() (params, vk string, ok bool) {
	for _, d := range manifest {
		if d.kind == c.Kind && d.size == c.Size {
			return d.params, d.vk, true
		}
	}
	return "", "", false
}

// Deployed lists the circuits that have deployed files.
func Deployed() []Circuit {
	out := make([]Circuit, len(manifest))
	for i, d := range manifest {
		out[i], _ = For(d.kind, d.size)
	}
	return out
}
