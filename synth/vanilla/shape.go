package vanilla

import (
	"fmt"
	"math/bits"
)

// SectorSize is a sector's size in bytes.
type SectorSize uint64

// NodeBytes is the size of a tree leaf.
const NodeBytes = 32

// Sizes with registered proof types, and (below the blank line) those that exist in tests only.
const (
	Size2KiB   SectorSize = 2 << 10
	Size8MiB   SectorSize = 8 << 20
	Size512MiB SectorSize = 512 << 20
	Size32GiB  SectorSize = 32 << 30
	Size64GiB  SectorSize = 64 << 30

	Size1KiB  SectorSize = 1 << 10
	Size4KiB  SectorSize = 4 << 10
	Size8KiB  SectorSize = 8 << 10
	Size16KiB SectorSize = 16 << 10
	Size32KiB SectorSize = 32 << 10
	Size16MiB SectorSize = 16 << 20
	Size1GiB  SectorSize = 1 << 30
)

// RegisteredSizes are the sizes that registered proofs have, in the order of their numbers.
var RegisteredSizes = [5]SectorSize{Size2KiB, Size8MiB, Size512MiB, Size32GiB, Size64GiB}

// TreeShape is the arity of the base levels (U), of the level above them (V) and of the top level (W) of a Poseidon tree; 0 where
// there is no such level.
type TreeShape struct{ Base, Sub, Top int }

// Binary is the shape of the SHA-256 data tree (tree D).
var Binary = TreeShape{Base: 2}

var treeShapes = map[SectorSize]TreeShape{
	Size1KiB: {8, 4, 0}, Size2KiB: {8, 0, 0}, Size4KiB: {8, 2, 0}, Size8KiB: {8, 4, 0}, Size16KiB: {8, 8, 0}, Size32KiB: {8, 8, 2},
	Size8MiB: {8, 0, 0}, Size16MiB: {8, 2, 0}, Size512MiB: {8, 0, 0}, Size1GiB: {8, 2, 0}, Size32GiB: {8, 8, 0}, Size64GiB: {8, 8, 2},
}

// Nodes is the number of leaves.
func (s SectorSize) Nodes() uint64 { return uint64(s) / NodeBytes }

// Tree returns the shape of the trees C and R-last; false for a size that does not exist.
func (s SectorSize) Tree() (TreeShape, bool) {
	t, ok := treeShapes[s]
	return t, ok
}

// String is the size as it stands in proof names: 2KiB, 32GiB.
func (s SectorSize) String() string {
	for i, u := range []string{"GiB", "MiB", "KiB"} {
		if unit := SectorSize(1) << (30 - 10*i); s >= unit && s%unit == 0 {
			return fmt.Sprintf("%d%s", s/unit, u)
		}
	}
	return fmt.Sprintf("%dB", uint64(s))
}

// String is U-V-W.
func (t TreeShape) String() string { return fmt.Sprintf("%d-%d-%d", t.Base, t.Sub, t.Top) }

// Levels returns the arities of the levels of a tree with the given number of leaves, from the leaves upward; an error if the
// shape does not fit the number.
func (t TreeShape) Levels(leaves uint64) ([]int, error) {
	base := leaves
	for _, k := range []int{t.Sub, t.Top} {
		if k > 1 {
			if base%uint64(k) != 0 {
				return nil, fmt.Errorf("%d leaves do not fit a %v tree", leaves, t)
			}
			base /= uint64(k)
		}
	}
	if t.Base < 2 || base == 0 {
		return nil, fmt.Errorf("%d leaves do not fit a %v tree", leaves, t)
	}
	var out []int
	for base > 1 {
		if base%uint64(t.Base) != 0 {
			return nil, fmt.Errorf("%d leaves do not fit a %v tree", leaves, t)
		}
		base /= uint64(t.Base)
		out = append(out, t.Base)
	}
	if t.Sub > 0 {
		out = append(out, t.Sub)
	}
	if t.Top > 0 {
		out = append(out, t.Top)
	}
	return out, nil
}

// BaseLevels is the number of levels of one base tree, for a number of leaves that fits the shape.
func (t TreeShape) BaseLevels(leaves uint64) int {
	base := leaves
	if t.Sub > 0 {
		base /= uint64(t.Sub)
	}
	if t.Top > 0 {
		base /= uint64(t.Top)
	}
	return (bits.Len64(base) - 1) / (bits.Len(uint(t.Base)) - 1)
}
