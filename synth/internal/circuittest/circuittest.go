// Package circuittest compares compiled circuits with what the deployed stack says about them: counts, densities, row digests with
// checkpoints that locate a first difference, witness digests. It is for tests.
package circuittest

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/filgroth/filgroth/internal/golden"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/blake2s"
)

// Reference is what the deployed stack says about a circuit.
type Reference struct {
	Name   string `json:"name"`
	Domain int    `json:"domain_size"`
	golden.Summary
	Checkpoints []Checkpoint `json:"checkpoints"`
	// Inputs are all public inputs of a circuit with a witness, little-endian hex, the one first.
	Inputs []string `json:"all_inputs_le_hex"`
}

// Checkpoint is the row digest, and the number of variables, after so many rows.
type Checkpoint struct {
	Rows, Inputs, Aux int
	Digest            string
}

// UnmarshalJSON reads the array form.
func (c *Checkpoint) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&c.Rows, &c.Inputs, &c.Aux, &c.Digest})
}

// Load reads a gzipped JSON list of references and keys them by name.
func Load(t testing.TB, path string) map[string]*Reference {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var list []*Reference
	require.NoError(t, json.NewDecoder(z).Decode(&list))
	out := map[string]*Reference{}
	for _, r := range list {
		out[r.Name] = r
	}
	return out
}

var errDiffers = errors.New("differs")

// Check compiles c and compares everything about its rows with the reference.
func Check(t testing.TB, r *Reference, c synth.Circuit) *synth.System {
	t.Helper()
	require.NotNil(t, r, "no such reference")
	s, err := synth.Compile(context.Background(), c)
	require.NoError(t, err, r.Name)
	checkRows(t, r, s)
	require.Equal(t, [4]int{r.Summary.Inputs, r.Aux, r.Constraints, r.Domain}, [4]int{s.Inputs(), s.Aux(), s.Rows(), s.DomainSize()},
		"%s: inputs, aux, rows, domain", r.Name)
	a, b, n := s.Nonzeros()
	require.Equal(t, [3]int64{r.NonzerosA, r.NonzerosB, r.NonzerosC}, [3]int64{a, b, n}, "%s: nonzeros", r.Name)
	require.Equal(t, r.AAuxBitmap, bitmap(s.ADensity(), s.Aux()), "%s: density of A", r.Name)
	require.Equal(t, r.BAuxBitmap, bitmap(s.BDensity(), s.Aux()), "%s: density of B", r.Name)
	require.Equal(t, r.BInputBitmap, bitmap(s.BInputDensity(), s.Inputs()), "%s: density of B inputs", r.Name)
	return s
}

// checkRows stops at the first checkpoint that differs.
func checkRows(t testing.TB, r *Reference, s *synth.System) {
	t.Helper()
	every := 0
	want := map[int]string{r.Constraints: r.R1CS}
	for _, c := range r.Checkpoints {
		if every == 0 {
			every = c.Rows
		}
		want[c.Rows] = c.Digest
	}
	last, points := 0, 0
	_, err := s.DigestCheckpoints(context.Background(), every, func(c synth.Checkpoint) error {
		points++
		if hex.EncodeToString(c.Digest[:]) != want[c.Rows] {
			return fmt.Errorf("%w: rows %d to %d", errDiffers, last, c.Rows)
		}
		last = c.Rows
		return nil
	})
	require.NoError(t, err, "%s", r.Name)
	require.Equal(t, r.Constraints, last, "%s: rows", r.Name)
	require.GreaterOrEqual(t, points, len(r.Checkpoints), "%s: checkpoints", r.Name)
}

// CheckWitness assigns c, which is satisfied and has the reference's public inputs and witness.
func CheckWitness(t testing.TB, r *Reference, s *synth.System, c synth.Circuit) *synth.Assignment {
	t.Helper()
	a := gadgettest.Assign(t, s, c)
	require.Len(t, r.Inputs, len(a.Inputs))
	for i := range a.Inputs {
		b := a.Inputs[i].Bytes()
		for j, k := 0, 31; j < k; j, k = j+1, k-1 {
			b[j], b[k] = b[k], b[j]
		}
		require.Equal(t, r.Inputs[i], hex.EncodeToString(b[:]), "%s: public input %d", r.Name, i)
	}
	require.Equal(t, r.Witness, gadgettest.WitnessDigest(a), "%s: witness", r.Name)
	return a
}

func bitmap(words []uint64, n int) string {
	b := make([]byte, 0, 8*len(words))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	h := sha256.Sum256(b[:(n+7)/8])
	return hex.EncodeToString(h[:])
}

// TDigest is the second digest of the specification: BLAKE2s over the counts and all rows, big-endian.
func TDigest(t testing.TB, s *synth.System) string {
	t.Helper()
	h, err := blake2s.New256(nil)
	require.NoError(t, err)
	enc := make([][32]byte, len(s.Coeffs()))
	for i := range enc {
		enc[i] = s.Coeffs()[i].Bytes()
	}
	var buf []byte
	for _, n := range []int{s.Inputs(), s.Aux(), s.Rows()} {
		buf = binary.BigEndian.AppendUint64(buf, uint64(n))
	}
	err = s.EachRow(context.Background(), 0, s.Rows(), func(_ int, abc [3][]synth.RowTerm) error {
		for _, l := range abc {
			buf = binary.BigEndian.AppendUint64(buf, uint64(len(l)))
			for _, x := range l {
				kind := byte('A')
				if x.Var.IsInput() {
					kind = 'I'
				}
				buf = append(buf, kind)
				buf = binary.BigEndian.AppendUint64(buf, uint64(x.Var.Index()))
				buf = append(buf, enc[x.Coef][:]...)
			}
		}
		h.Write(buf)
		buf = buf[:0]
		return nil
	})
	require.NoError(t, err)
	h.Write(buf)
	return hex.EncodeToString(h.Sum(nil))
}
