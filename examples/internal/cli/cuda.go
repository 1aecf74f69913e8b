package cli

import (
	"errors"

	"github.com/filgroth/filgroth"
)

func cuda(must bool) ([]filgroth.NamedBackend, string, error) {
	if must {
		return nil, "", errors.New("-backend cuda: not wired yet")
	}
	return nil, "cpu", nil
}
