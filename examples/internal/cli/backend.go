package cli

import (
	"fmt"

	"github.com/filgroth/filgroth"
)

// backends resolves -backend; note says what was chosen and why.
func backends(name string) (b []filgroth.NamedBackend, note string, err error) {
	switch name {
	case "cpu":
		return nil, "cpu", nil
	case "cuda", "auto":
		return cuda(name == "cuda")
	}
	return nil, "", fmt.Errorf("-backend %q: not cpu, cuda or auto", name)
}
