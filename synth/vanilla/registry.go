package vanilla

import "fmt"

// Version is the API version that a registered proof type runs with.
type Version int

// The API versions.
const (
	V1_0_0 Version = iota
	V1_1_0
	V1_2_0
)

func (v Version) String() string { return fmt.Sprintf("1.%d.0", int(v)) }

// Mode is the way PoRep challenges are derived.
type Mode int

// The modes.
const (
	Interactive Mode = iota
	Synthetic
	NonInteractive
)

func (m Mode) String() string {
	if m >= Interactive && m <= NonInteractive {
		return [...]string{"interactive", "synthetic", "non-interactive"}[m]
	}
	return fmt.Sprintf("Mode(%d)", int(m))
}

// SealProof is a registered seal proof type, 0 to 19, numbered as in the actors.
type SealProof int

type sealBlock struct {
	suffix, goSuffix string
	version          Version
	mode             Mode
}

// five sizes each, in the order of RegisteredSizes
var sealBlocks = [4]sealBlock{
	{"V1", "V1", V1_0_0, Interactive},
	{"V1_1", "V1_1", V1_1_0, Interactive},
	{"V1_1_Feat_SyntheticPoRep", "V1_1_Feat_SyntheticPoRep", V1_2_0, Synthetic},
	{"V1_2_Feat_NonInteractivePoRep", "V1_2_Feat_NiPoRep", V1_2_0, NonInteractive},
}

// SealProofs is the number of registered seal proof types.
const SealProofs = 20

// Valid reports whether the number is registered; the other methods are for valid numbers only.
func (p SealProof) Valid() bool { return p >= 0 && p < SealProofs }

// Size is the sector size.
func (p SealProof) Size() SectorSize { return RegisteredSizes[p%5] }

// Version is the API version.
func (p SealProof) Version() Version { return sealBlocks[p/5].version }

// Mode is the challenge derivation.
func (p SealProof) Mode() Mode { return sealBlocks[p/5].mode }

// PoRepID is the domain separator of graph and replica.
func (p SealProof) PoRepID() [32]byte { return [32]byte{byte(p)} }

// String is the name in C1 JSON.
func (p SealProof) String() string {
	if !p.Valid() {
		return fmt.Sprintf("SealProof(%d)", int(p))
	}
	return "StackedDrg" + p.Size().String() + sealBlocks[p/5].suffix
}

// ParseSealProof returns the type with this name, in the spelling of C1 JSON or in that of the Go node software.
func ParseSealProof(name string) (SealProof, error) {
	for p := SealProof(0); p < SealProofs; p++ {
		if name == p.String() || name == "StackedDrg"+p.Size().String()+sealBlocks[p/5].goSuffix {
			return p, nil
		}
	}
	return 0, fmt.Errorf("unknown seal proof type %q", printable(name))
}

// PoStProof is a registered PoSt proof type, 0 to 14: winning, window of API 1.0.0, window of API 1.2.0.
type PoStProof int

// PoStProofs is the number of registered PoSt proof types.
const PoStProofs = 15

// Valid reports whether the number is registered; the other methods are for valid numbers only.
func (p PoStProof) Valid() bool { return p >= 0 && p < PoStProofs }

// Size is the sector size.
func (p PoStProof) Size() SectorSize { return RegisteredSizes[p%5] }

// Winning tells a WinningPoSt from a WindowPoSt.
func (p PoStProof) Winning() bool { return p < 5 }

// Version is the API version.
func (p PoStProof) Version() Version {
	if p >= 10 {
		return V1_2_0
	}
	return V1_0_0
}

// String is the name in the Go node software.
func (p PoStProof) String() string {
	if !p.Valid() {
		return fmt.Sprintf("PoStProof(%d)", int(p))
	}
	kind := [3][2]string{{"Winning", "V1"}, {"Window", "V1"}, {"Window", "V1_1"}}[p/5]
	return "StackedDrg" + kind[0] + p.Size().String() + kind[1]
}

// ParsePoStProof returns the type with this name. The type of API 1.2.0 is called V1_1 by the Go node software and V1_2 by the
// proofs library; both are taken.
func ParsePoStProof(name string) (PoStProof, error) {
	for p := PoStProof(0); p < PoStProofs; p++ {
		if name == p.String() || p >= 10 && name == "StackedDrgWindow"+p.Size().String()+"V1_2" {
			return p, nil
		}
	}
	return 0, fmt.Errorf("unknown PoSt proof type %q", printable(name))
}

// UpdateProof is a registered sector update (SnapDeals) proof type, 0 to 4.
type UpdateProof int

// UpdateProofs is the number of registered update proof types.
const UpdateProofs = 5

// Valid reports whether the number is registered; the other methods are for valid numbers only.
func (p UpdateProof) Valid() bool { return p >= 0 && p < UpdateProofs }

// Size is the sector size.
func (p UpdateProof) Size() SectorSize { return RegisteredSizes[p] }

// String is the name in the Go node software.
func (p UpdateProof) String() string {
	if !p.Valid() {
		return fmt.Sprintf("UpdateProof(%d)", int(p))
	}
	return "StackedDrg" + p.Size().String() + "V1"
}

// ParseUpdateProof returns the type with this name.
func ParseUpdateProof(name string) (UpdateProof, error) {
	for p := UpdateProof(0); p < UpdateProofs; p++ {
		if name == p.String() {
			return p, nil
		}
	}
	return 0, fmt.Errorf("unknown update proof type %q", printable(name))
}
