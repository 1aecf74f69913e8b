// Package gadgettest compares a circuit with the deployed stack's reference in all modes of a builder. It is for tests.
package gadgettest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/golden"
	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
)

// Func is a circuit as a function.
type Func func(b *synth.Builder) error

// Synthesize calls f.
func (f Func) Synthesize(b *synth.Builder) error { return f(b) }

// Reference loads a gadget's reference.
func Reference(t testing.TB, name string) *golden.Gadget {
	t.Helper()
	g, err := golden.Load(name)
	require.NoError(t, err)
	return g
}

// Check compiles c and compares counts, row digest, nonzeros and densities with the reference; then makes its witness in
// Assign and in Direct mode and compares both with the reference's digest and with the rows. Where rows differ it names
// the first that does. It gives the system and the Assign-mode witness, which it closes when the test ends.
func Check(t testing.TB, g *golden.Gadget, c synth.Circuit) (*synth.System, *synth.Assignment) {
	t.Helper()
	ctx := context.Background()
	s := CheckShape(t, g, c)
	a := Assign(t, s, c)
	require.Equal(t, g.Summary.Witness, WitnessDigest(a), "%s: witness in assign mode", g.Name)
	d, err := synth.DirectSynthesize(ctx, c, s, synth.DirectConfig{})
	require.NoError(t, err, "%s: direct mode", g.Name)
	defer d.Close()
	require.Equal(t, g.Summary.Witness, WitnessDigest(d), "%s: witness in direct mode", g.Name)
	CheckDirect(t, s, a, d)
	return s, a
}

// CheckShape is the part of Check that needs no witness.
func CheckShape(t testing.TB, g *golden.Gadget, c synth.Circuit) *synth.System {
	t.Helper()
	ctx := context.Background()
	s, err := synth.Compile(ctx, c)
	require.NoError(t, err, g.Name)
	digest, err := s.Digest(ctx)
	require.NoError(t, err)
	if hex.EncodeToString(digest[:]) != g.Summary.R1CS {
		t.Errorf("%s: %s", g.Name, FirstDifference(t, g, s))
	}
	require.Equal(t, [3]int{g.Summary.Inputs, g.Summary.Aux, g.Summary.Constraints}, [3]int{s.Inputs(), s.Aux(), s.Rows()},
		"%s: inputs, aux, rows", g.Name)
	require.Equal(t, g.Summary.R1CS, hex.EncodeToString(digest[:]), "%s: row digest", g.Name)
	na, nb, nc := s.Nonzeros()
	require.Equal(t, [3]int64{g.Summary.NonzerosA, g.Summary.NonzerosB, g.Summary.NonzerosC}, [3]int64{na, nb, nc}, g.Name)
	require.Equal(t, g.Summary.AAuxBitmap, bitmapDigest(s.ADensity(), s.Aux()), "%s: density of A", g.Name)
	require.Equal(t, g.Summary.BAuxBitmap, bitmapDigest(s.BDensity(), s.Aux()), "%s: density of B", g.Name)
	require.Equal(t, g.Summary.BInputBitmap, bitmapDigest(s.BInputDensity(), s.Inputs()), "%s: density of B inputs", g.Name)
	return s
}

// Assign makes the witness of c, checks that it satisfies s, and closes it when the test ends.
func Assign(t testing.TB, s *synth.System, c synth.Circuit) *synth.Assignment {
	t.Helper()
	a, err := synth.AssignWitness(context.Background(), c, s, synth.AssignConfig{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	require.NoError(t, s.Satisfied(context.Background(), a, 1))
	return a
}

// CheckDirect compares a witness with that of Direct mode, and the rows' values with s.Evaluate.
func CheckDirect(t testing.TB, s *synth.System, a, direct *synth.Assignment) {
	t.Helper()
	require.Equal(t, a.Inputs, direct.Inputs)
	require.True(t, slices.Equal(a.Bits, direct.Bits), "bits of assign and direct mode")
	require.True(t, slices.Equal(a.Fields, direct.Fields), "fields of assign and direct mode")
	n := s.Constraints()
	var v [3][]fr.Element
	for k := range v {
		v[k] = make([]fr.Element, n)
	}
	require.NoError(t, s.Evaluate(context.Background(), a, v[0], v[1], v[2], 1))
	for k, e := range [3][]fr.Element{direct.Eval.A, direct.Eval.B, direct.Eval.C} {
		require.True(t, slices.Equal(v[k], e), "values of %c in direct mode", 'A'+k)
	}
}

// WitnessDigest is the reference's digest of a witness.
func WitnessDigest(a *synth.Assignment) string {
	h := sha256.New()
	a.WitnessBytes(func(v *[32]byte) { h.Write(v[:]) })
	return hex.EncodeToString(h.Sum(nil))
}

func bitmapDigest(words []uint64, n int) string {
	b := make([]byte, (n+7)/8)
	for i := range b {
		b[i] = byte(words[i>>3] >> (8 * (i & 7)))
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

var errFound = errors.New("found")

// FirstDifference describes the first row of s that differs from the reference's dump.
func FirstDifference(t testing.TB, g *golden.Gadget, s *synth.System) string {
	t.Helper()
	d, err := g.Dump()
	require.NoError(t, err)
	if d == nil {
		return "rows differ; there is no dump to find where"
	}
	enc := make([][32]byte, len(s.Coeffs()))
	for i, c := range s.Coeffs() {
		enc[i] = c.Bytes()
		slices.Reverse(enc[i][:])
	}
	found := "the reference has more rows"
	err = s.EachRow(context.Background(), 0, s.Rows(), func(row int, abc [3][]synth.RowTerm) error {
		var got golden.Row
		for k := range abc {
			got[k] = make([]golden.Term, len(abc[k]))
			for j, x := range abc[k] {
				got[k][j] = golden.Term{Input: x.Var.IsInput(), Index: uint32(x.Var.Index()), Coeff: enc[x.Coef]}
			}
		}
		if diff := d.Diff(row, got); diff != "" {
			found = diff
			return errFound
		}
		return nil
	})
	if err != nil {
		require.ErrorIs(t, err, errFound)
	}
	return found
}
