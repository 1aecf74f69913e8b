// Package shapes names the deployed circuits for benchmarks and examples: "porep-32g", "window-2k", and so on. It gives each
// name its circuit without values, its circuit with synthetic values, and the row digest that the deployed stack has for it.
//
// Who proves real sectors takes circuits from synth/porep, synth/post and synth/update, or uses the root package.
package shapes

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/porep"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/update"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// ErrShape: a name that is no shape.
var ErrShape = errors.New("no such shape")

// Kind is the kind of proof.
type Kind uint8

// The kinds, as the names begin.
const (
	PoRep Kind = iota
	Winning
	Window
	Update
)

var kindNames = [...]string{"porep", "winning", "window", "update"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

var sizeNames = [...]string{"2k", "8m", "512m", "32g", "64g"}

// Shape is a kind of proof for a registered sector size.
type Shape struct {
	Kind Kind
	Size vanilla.SectorSize
	// Part, if not 0, is a number of challenges (porep, update) or circuit sectors (window) in place of the deployed one, to try
	// something at the depth of a large sector without its full length. There are no keys for such circuits.
	Part int
}

// All lists the shapes, kinds in order of their constants, small sectors first.
func All() []Shape {
	var out []Shape
	for k := range kindNames {
		for _, size := range vanilla.RegisteredSizes {
			out = append(out, Shape{Kind: Kind(k), Size: size})
		}
	}
	return out
}

// Names lists the names of All.
func Names() []string {
	var out []string
	for _, s := range All() {
		out = append(out, s.String())
	}
	return out
}

// String is the name: kind, hyphen, size; for a part a colon and its length behind it, as in porep-32g:6.
func (s Shape) String() string {
	if s.Part != 0 {
		whole := s
		whole.Part = 0
		return whole.String() + ":" + strconv.Itoa(s.Part)
	}
	for i, size := range vanilla.RegisteredSizes {
		if size == s.Size {
			return s.Kind.String() + "-" + sizeNames[i]
		}
	}
	return s.Kind.String() + "-" + s.Size.String()
}

// Parse is the inverse of String; an unknown name is ErrShape.
func Parse(name string) (Shape, error) {
	whole, part, isPart := strings.Cut(name, ":")
	for _, s := range All() {
		if s.String() != whole {
			continue
		}
		if !isPart {
			return s, nil
		}
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > maxPart || s.Kind == Winning {
			return Shape{}, fmt.Errorf("%w: %q: a part is 1 to %d challenges or sectors of porep, window or update", ErrShape, name, maxPart)
		}
		s.Part = n
		return s, nil
	}
	return Shape{}, fmt.Errorf("%w: %q; there are {%s}-{%s}", ErrShape, name, strings.Join(kindNames[:], ","), strings.Join(sizeNames[:], ","))
}

const maxPart = 1 << 12

// length is the part's length, or the deployed one.
func (s Shape) length(deployed int) int {
	if s.Part != 0 {
		return s.Part
	}
	return deployed
}

// Blank is the circuit of one partition without values: enough to compile it.
func (s Shape) Blank() (synth.Circuit, error) {
	switch s.Kind {
	case PoRep:
		c, err := porep.SizeConfig(s.Size, vanilla.Interactive, vanilla.V1_1_0)
		c.Challenges = s.length(c.Challenges)
		return &porep.Circuit{Shape: c.Shape}, err
	case Winning:
		c, err := post.WinningShape(s.Size)
		return &post.Circuit{Shape: c}, err
	case Window:
		c, err := post.WindowShape(s.Size)
		c.Sectors = s.length(c.Sectors)
		return &post.Circuit{Shape: c}, err
	case Update:
		c, err := update.ShapeOf(s.Size)
		c.Challenges = s.length(c.Challenges)
		return &update.Circuit{Shape: c}, err
	}
	return nil, fmt.Errorf("%w: %v", ErrShape, s)
}
