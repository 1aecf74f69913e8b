package params

import (
	"encoding/hex"
	"fmt"

	"github.com/filgroth/filgroth/groth16"
)

// DevelopmentTag is the tag of groth16.DevTrapdoor that development keys of the circuit are made from.
func (c Circuit) DevelopmentTag() string { return "golden/" + c.id }

// IsDevelopmentKey says whether vk is the circuit's development key, for which anybody can forge proofs.
func (c Circuit) IsDevelopmentKey(vk *groth16.VerifyingKey) bool {
	return groth16.DevTrapdoor(c.DevelopmentTag()).Matches(vk)
}

// CheckPublished compares the digest of vk with that of the circuit's deployed verifying key: a *FileError that is
// ErrMismatch if it is another one, or if none was deployed. It takes microseconds, unlike hashing a .params file.
func (c Circuit) CheckPublished(vk *groth16.VerifyingKey) error {
	_, want, ok := c.Digests()
	if !ok {
		return &FileError{Circuit: c, Path: c.VKFile(), Err: fmt.Errorf("%w: no key of this circuit was deployed", ErrMismatch)}
	}
	d := vk.Digest()
	if got := hex.EncodeToString(d[:16]); got != want {
		what := "not the deployed verifying key"
		if c.IsDevelopmentKey(vk) {
			what = "a development key, whose proofs anybody can forge"
		}
		return &FileError{Circuit: c, Path: c.VKFile(), Err: fmt.Errorf("%w: %s", ErrMismatch, what), Expected: want, Found: got}
	}
	return nil
}
