package filgroth

import (
	"fmt"

	"github.com/filgroth/filgroth/groth16/params"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/porep"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/update"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Kind is one of the proof kinds.
type Kind uint8

// The kinds.
const (
	PoRep Kind = iota
	WinningPoSt
	WindowPoSt
	SnapDeals // EmptySectorUpdate
	numKinds
)

var kindNames = [numKinds]string{"porep", "winning", "window", "update"}

func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// ParseKind reads what String writes.
func ParseKind(s string) (Kind, error) {
	for i, n := range kindNames {
		if s == n {
			return Kind(i), nil
		}
	}
	return 0, fmt.Errorf("%w: kind %q", ErrInput, s)
}

// circuitSpec names a circuit: everything that its system and key depend on.
type circuitSpec struct {
	Kind Kind
	Size vanilla.SectorSize
}

func (s circuitSpec) String() string { return fmt.Sprintf("%v-%v", s.Kind, s.Size) }

// blank is the circuit without values, enough to compile.
func (s circuitSpec) blank() (synth.Circuit, error) {
	switch s.Kind {
	case PoRep:
		c, err := porep.SizeConfig(s.Size, vanilla.Interactive, vanilla.V1_1_0)
		if err != nil {
			return nil, err
		}
		return &porep.Circuit{Shape: c.Shape}, nil
	case WinningPoSt:
		sh, err := post.WinningShape(s.Size)
		return &post.Circuit{Shape: sh}, err
	case WindowPoSt:
		sh, err := post.WindowShape(s.Size)
		return &post.Circuit{Shape: sh}, err
	case SnapDeals:
		sh, err := update.ShapeOf(s.Size)
		return &update.Circuit{Shape: sh}, err
	}
	return nil, fmt.Errorf("%w: %v", ErrUnsupported, s.Kind)
}

// priority of proofs of the kind: a WinningPoSt has seconds, a WindowPoSt half an hour, the rest time.
func (k Kind) priority() Priority {
	switch k {
	case WinningPoSt:
		return PriorityCritical
	case WindowPoSt:
		return PriorityHigh
	}
	return PriorityNormal
}

// params names the circuit's parameter files.
func (s circuitSpec) params() (params.Circuit, error) {
	kinds := [numKinds]params.Kind{PoRep: params.PoRep, WinningPoSt: params.Winning, WindowPoSt: params.Window, SnapDeals: params.Update}
	if s.Kind >= numKinds {
		return params.Circuit{}, fmt.Errorf("%w: %v", ErrUnsupported, s.Kind)
	}
	return params.For(kinds[s.Kind], s.Size)
}
