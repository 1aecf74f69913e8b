package gnarkcs

import (
	"fmt"

	"github.com/consensys/gnark/constraint"
	cs "github.com/consensys/gnark/constraint/bls12-381"
)

// AppendInputRows adds to a gnark system the rows that bellperson's proof system has and gnark's has not: x * 0 = 0 for
// every public input x, the constant one first, after all other rows. They change nothing for a witness, but they are part
// of the polynomials that a key is made from: only keys that gnark makes after this call are keys of our System too (package
// gnarkcs/keys), and keys made before it no longer fit. A system that has the rows already is left alone. The system must
// not be in use.
func AppendInputRows(ccs constraint.ConstraintSystem) error {
	r, err := checked(ccs)
	if err != nil {
		return err
	}
	if hasInputRows(r) {
		return nil
	}
	if uint64(r.GetNbConstraints())+uint64(r.GetNbPublicVariables()) > 1<<32-1 {
		return fmt.Errorf("%w: too many rows", ErrMalformed)
	}
	id := r.AddBlueprint(&constraint.BlueprintGenericR1C{})
	for i := range r.GetNbPublicVariables() {
		r.AddR1C(constraint.R1C{L: constraint.LinearExpression{{CID: constraint.CoeffIdOne, VID: uint32(i)}}}, id)
	}
	return nil
}

// hasInputRows looks at the last instructions only.
func hasInputRows(r *cs.R1CS) bool {
	n, m := r.GetNbPublicVariables(), r.GetNbInstructions()
	if m < n || r.GetNbConstraints() < n {
		return false
	}
	var row constraint.R1C
	for i := range n {
		bp, ok := r.Blueprints[r.Instructions[m-n+i].BlueprintID].(constraint.BlueprintR1C)
		if !ok {
			return false
		}
		bp.DecompressR1C(&row, r.GetInstruction(m-n+i))
		want := constraint.Term{CID: constraint.CoeffIdOne, VID: uint32(i)}
		if len(row.L) != 1 || row.L[0] != want || len(row.R) != 0 || len(row.O) != 0 {
			return false
		}
	}
	return true
}
