package gnarksha

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/stretchr/testify/require"
)

func TestDigestAndNothingElse(t *testing.T) {
	field := ecc.BLS12_381.ScalarField()
	ccs, err := frontend.Compile(field, r1cs.NewBuilder, New(2))
	require.NoError(t, err)
	good := Assign(2, 7)
	w, err := frontend.NewWitness(good, field)
	require.NoError(t, err)
	require.NoError(t, ccs.IsSolved(w))
	good.Message[5] = 1 - good.Message[5].(byte)
	w, err = frontend.NewWitness(good, field)
	require.NoError(t, err)
	require.Error(t, ccs.IsSolved(w))
	t.Logf("%d rows for two blocks", ccs.GetNbConstraints())
}
