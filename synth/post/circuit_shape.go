package post

import (
	"errors"
	"fmt"

	"github.com/filgroth/filgroth/synth/vanilla"
)

// ErrCircuitShape: a shape that no circuit has.
var ErrCircuitShape = errors.New("post: bad circuit shape")

// winningSectors is the number of circuit sectors of WinningPoSt: one sector, once for each challenge.
const winningSectors = 66

// windowChallenges is the number of challenges of each sector in WindowPoSt.
const windowChallenges = 10

// WinningShape is the shape of the deployed WinningPoSt circuit for a sector size.
func WinningShape(size vanilla.SectorSize) (CircuitShape, error) {
	return shapeOf(size, winningSectors, 1)
}

// WindowShape is the shape of the deployed WindowPoSt circuit of one partition for a sector size.
func WindowShape(size vanilla.SectorSize) (CircuitShape, error) {
	n := 2
	switch size {
	case vanilla.Size32GiB:
		n = 2349
	case vanilla.Size64GiB:
		n = 2300
	}
	return shapeOf(size, n, windowChallenges)
}

func shapeOf(size vanilla.SectorSize, sectors, challenges int) (CircuitShape, error) {
	tree, ok := size.Tree()
	if !ok {
		return CircuitShape{}, fmt.Errorf("%w: no circuit for sectors of %v", ErrCircuitShape, size)
	}
	return CircuitShape{Tree: tree, Nodes: size.Nodes(), Sectors: sectors, Challenges: challenges}, nil
}
