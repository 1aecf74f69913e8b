package server

import (
	"fmt"
	"strings"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// circuitKinds are the protocol's names of the kinds' circuits.
var circuitKinds = map[string]filgroth.Kind{"porep": filgroth.PoRep, "winning": filgroth.WinningPoSt, "wpost": filgroth.WindowPoSt, "snap": filgroth.SnapDeals}

var circuitSizes = map[string]vanilla.SectorSize{"2k": vanilla.Size2KiB, "8m": vanilla.Size8MiB, "512m": vanilla.Size512MiB, "32g": vanilla.Size32GiB, "64g": vanilla.Size64GiB}

// ParseCircuit reads a circuit id as the protocol has it: porep-32g, wpost-64g, winning-2k, snap-8m.
func ParseCircuit(id string) (filgroth.Kind, vanilla.SectorSize, error) {
	k, s, _ := strings.Cut(id, "-")
	kind, ok := circuitKinds[k]
	size, ok2 := circuitSizes[s]
	if !ok || !ok2 {
		return 0, 0, fmt.Errorf("circuit %.64q: a kind (porep, wpost, winning, snap), a dash and a size (2k, 8m, 512m, 32g, 64g)", id)
	}
	return kind, size, nil
}

// CircuitID is the inverse of ParseCircuit.
func CircuitID(k filgroth.Kind, s vanilla.SectorSize) string {
	kind, size := k.String(), s.String()
	for n, v := range circuitKinds {
		if v == k {
			kind = n
		}
	}
	for n, v := range circuitSizes {
		if v == s {
			size = n
		}
	}
	return kind + "-" + size
}
