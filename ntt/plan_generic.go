//go:build !amd64 || purego

package ntt

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

func haveIFMA() bool { return false }

// plan is not available here: haveIFMA keeps it from being used.
type plan struct{}

const minPlanLog = 64

func newPlan(Domain, int) *plan { return nil }

func (*plan) transform(context.Context, []fr.Element, Direction, Coset) error { return ErrUnavailable }

func (*plan) quotient(context.Context, []fr.Element, []fr.Element, []fr.Element) error {
	return ErrUnavailable
}
