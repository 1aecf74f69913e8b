package porep

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// kinds are the golden sectors: every challenge mode and two sizes.
var kinds = []string{"2k-v1-s1", "2k-v1_1-s1", "2k-v1_1-s2", "2k-synth-s1", "2k-ni-s1", "8m-v1_1-s1"}

func readGolden(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	if !strings.HasSuffix(name, ".gz") {
		return raw
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	require.NoError(t, err)
	out, err := io.ReadAll(z)
	require.NoError(t, err)
	return out
}

func goldenC1(t testing.TB, kind string) (*C1, []byte) {
	t.Helper()
	raw := readGolden(t, kind+".c1.json.gz")
	c, err := DecodeC1(raw)
	require.NoError(t, err)
	return c, raw
}

func TestC1RoundTrip(t *testing.T) {
	for _, kind := range kinds {
		c, raw := goldenC1(t, kind)
		out, err := c.AppendJSON(nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(raw, out), kind)
		bin, err := c.AppendBincode(nil)
		require.NoError(t, err)
		again, err := DecodeC1Bincode(c.Proof, bin)
		require.NoError(t, err)
		require.Equal(t, c, again)
		_, err = DecodeC1Bincode(c.Proof, append(bin, 0))
		require.ErrorContains(t, err, "1 trailing bytes")
		_, err = DecodeC1Bincode(c.Proof, bin[:len(bin)-1])
		require.ErrorContains(t, err, "ticket: found the end of the input")
	}
}

func TestEnvelope(t *testing.T) {
	c, raw := goldenC1(t, kinds[1])
	wrap := func(size uint64, inner string) []byte {
		return fmt.Appendf(nil, `{"SectorNum": 7, "Phase1Out": %q, "SectorSize": %d}`, inner, size)
	}
	text := base64.StdEncoding.EncodeToString(raw)
	e, err := DecodeEnvelope(wrap(2048, text))
	require.NoError(t, err)
	require.Equal(t, &Envelope{SectorNum: 7, SectorSize: 2048, C1: c}, e)
	viaC1, err := DecodeC1(wrap(2048, strings.ReplaceAll(text, "/", `\/`)))
	require.NoError(t, err)
	require.Equal(t, c, viaC1)
	for _, bad := range []struct {
		doc  []byte
		want string
	}{
		{wrap(4096, text), "SectorSize: is 4096, but StackedDrg2KiBV1_1 has 2048"},
		{wrap(2048, "!"), "Phase1Out: illegal base64"},
		{wrap(2048, text[:400]), "Phase1Out.vanilla_proofs.StackedDrg2KiBV1[0][0]"},
		{[]byte(`{"Phase1Out":"` + text + `"}`), "SectorNum: missing member"},
	} {
		_, err = DecodeC1(bad.doc)
		require.ErrorContains(t, err, bad.want)
	}
}

func TestMembersInAnyOrder(t *testing.T) {
	c, raw := goldenC1(t, kinds[1])
	// encoding/json sorts the members of a map
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var doc map[string]any
	require.NoError(t, dec.Decode(&doc))
	doc["another"] = map[string]any{"x": []any{nil, true, 1.5e300, "\u2028"}}
	sorted, err := json.MarshalIndent(doc, "", "\t")
	require.NoError(t, err)
	got, err := DecodeC1(sorted)
	require.NoError(t, err)
	require.Equal(t, c, got)
}

// path finds the piece of a document that a dotted path names, and returns a copy of the document with it replaced.
func replaced(t *testing.T, raw []byte, path string, with string) []byte {
	t.Helper()
	i := 0
	for _, step := range strings.Split(strings.ReplaceAll(path, "[", ".["), ".") {
		if step == "" {
			continue
		}
		var at int
		if step[0] == '[' {
			var n int
			_, err := fmt.Sscanf(step, "[%d]", &n)
			require.NoError(t, err)
			at = i + 1
			for ; n > 0; n-- {
				at += valueLen(raw[at:]) + 1
			}
		} else {
			// members are in their own order, so the first is the nearest
			k := bytes.Index(raw[i:], []byte(`"`+step+`":`))
			require.GreaterOrEqual(t, k, 0, step)
			at = i + k + len(step) + 3
		}
		i = at
	}
	n := valueLen(raw[i:])
	return append(append(append([]byte(nil), raw[:i]...), with...), raw[i+n:]...)
}

// valueLen is the length of the compact JSON value at the start of b.
func valueLen(b []byte) int {
	depth := 0
	for i, c := range b {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			} else if depth < 0 {
				return i
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return len(b)
}

func TestMalformedFields(t *testing.T) {
	_, raw := goldenC1(t, kinds[1])
	const p01 = "vanilla_proofs.StackedDrg2KiBV1[0][1]"
	modulus := "[1,0,0,0,255,255,255,255,254,91,254,255,2,164,189,83,5,216,161,9,8,216,57,51,72,125,157,41,83,167,237,115]"
	minus := "[0" + modulus[2:]
	for _, c := range []struct{ path, with, want string }{
		{"registered_proof", `"StackedDrg3KiBV1"`, `registered_proof: unknown seal proof type "StackedDrg3KiBV1"`},
		{"registered_proof", `"StackedDrg32GiBV1_1"`, "proofs of 2KiB sectors under registered_proof StackedDrg32GiBV1_1"},
		{"registered_proof", `5`, "registered_proof: found a number, want a string"},
		{"vanilla_proofs", `{"StackedDrg2KiBV1_1":[]}`, "vanilla_proofs: unknown variant"},
		{"vanilla_proofs", `{}`, "vanilla_proofs: empty object"},
		{"vanilla_proofs.StackedDrg2KiBV1", `[]`, "vanilla_proofs.StackedDrg2KiBV1: has 0 elements, want 1"},
		{"vanilla_proofs.StackedDrg2KiBV1[0]", `[]`, "vanilla_proofs.StackedDrg2KiBV1[0]: has 0 elements, want 2"},
		{p01, `null`, p01 + ": found null, want an object"},
		{p01 + ".comm_d_proofs.data.Single.path.path[3].index", `2`, p01 + ".comm_d_proofs.data.Single.path.path[3].index: is 2, want below the arity 2"},
		{p01 + ".comm_d_proofs.data.Single.path.path[3].index", `-1`, "path[3].index: found a negative number"},
		{p01 + ".comm_d_proofs.data.Single.path.path[3].index", `1.0`, "path[3].index: found a number with a fraction"},
		{p01 + ".comm_d_proofs.data.Single.path.path[3].index", `"1"`, "path[3].index: found a string"},
		{p01 + ".comm_d_proofs.data.Single.path.path[3].hashes", `[]`, "path[3].hashes: has 0 elements, want 1"},
		{p01 + ".comm_d_proofs.data.Single.path.path", `[]`, "data.Single.path.path: has 0 elements, want 6"},
		{p01 + ".comm_d_proofs.data", `{"Top":{}}`, "comm_d_proofs.data.Top: Merkle proof of form Top, want Single"},
		{p01 + ".comm_r_last_proof.data.Single.root", modulus, p01 + ".comm_r_last_proof.data.Single.root: is not a canonical field element"},
		{p01 + ".comm_r_last_proof.data.Single.leaf[31]", `256`, "data.Single.leaf[31]: integer out of range, want 0 to 255"},
		{p01 + ".comm_r_last_proof.data.Single.leaf[30]", `1e1`, "data.Single.leaf[30]: found a number with a fraction or exponent"},
		{p01 + ".comm_r_last_proof.data.Single.leaf[0]", `07`, "data.Single.leaf[0]: number with a leading zero"},
		{p01 + ".comm_r_last_proof.data.Single.leaf[5]", `1,2`, "data.Single.leaf: has more than 32 elements"},
		{p01 + ".comm_r_last_proof.data.Single.leaf", `[1,2]`, "data.Single.leaf: has 2 elements, want 32"},
		{p01 + ".replica_column_proofs.c_x.column.index", `4294967296`, "c_x.column.index: integer out of range"},
		{p01 + ".replica_column_proofs.c_x.column.rows", `[` + modulus + `]`, "c_x.column.rows[0]: is not a canonical"},
		{p01 + ".replica_column_proofs.c_x.column._h", `0`, "c_x.column._h: found a number, want null"},
		{p01 + ".replica_column_proofs.drg_parents[5]", `{}`, "replica_column_proofs.drg_parents[5].column: missing member"},
		{p01 + ".replica_column_proofs.exp_parents", `[]`, "replica_column_proofs.exp_parents: has 0 elements, want 8"},
		{p01 + ".labeling_proofs[1].parents", `[]`, p01 + ".labeling_proofs[1].parents: has 0 elements, want 37"},
		{p01 + ".labeling_proofs[1].node", `18446744073709551616`, "labeling_proofs[1].node: integer out of range"},
		{p01 + ".encoding_proof.layer_index", `true`, p01 + ".encoding_proof.layer_index: found a boolean"},
		{"comm_r", modulus, "comm_r: is not a canonical field element"},
		{"comm_d", `"x"`, "comm_d: found a string, want an array of 32 bytes"},
		{"ticket", `[` + strings.Repeat("255,", 31) + `256]`, "ticket[31]: integer out of range"},
		{"ticket", `[1],"ticket":[2]`, "ticket: has 1 elements"},
		{"seed", modulus + `,"seed":` + modulus, "seed: duplicate member"},
	} {
		_, err := DecodeC1(replaced(t, raw, c.path, c.with))
		var f *vanilla.FieldError
		require.ErrorAs(t, err, &f, c.path)
		require.Contains(t, err.Error(), c.want)
	}
	for _, ok := range []struct{ path, with string }{
		{"ticket", `[` + strings.Repeat("255,", 31) + `255]`}, // any 32 bytes
		{"seed", modulus},
		{"comm_r", minus}, // the largest field element
		{"comm_r", minus + `,"x":1,"x":2`},
	} {
		_, err := DecodeC1(replaced(t, raw, ok.path, ok.with))
		require.NoError(t, err, ok.path)
	}
	_, err := DecodeC1(append(raw, '0'))
	require.ErrorContains(t, err, "trailing characters")
	_, err = DecodeC1(nil)
	require.ErrorContains(t, err, "found the end of the input, want an object")
}

func TestTruncatedAnywhere(t *testing.T) {
	_, raw := goldenC1(t, kinds[1])
	for n := 0; n < len(raw); n += 1 + n%97 {
		_, err := DecodeC1(raw[:n])
		var f *vanilla.FieldError
		require.ErrorAs(t, err, &f, n)
	}
}

func TestEveryMemberIsNeeded(t *testing.T) {
	_, raw := goldenC1(t, kinds[1])
	var names []string
	for _, part := range bytes.Split(raw, []byte(`":`)) {
		if q := bytes.LastIndexByte(part, '"'); q >= 0 && !bytes.ContainsAny(part[q+1:], "[]{},:") {
			names = append(names, string(part[q+1:]))
		}
	}
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			continue
		}
		seen[n] = true
		_, err := DecodeC1(bytes.Replace(raw, []byte(`"`+n+`":`), []byte(`"`+n+`_":`), 1))
		require.ErrorContains(t, err, n, "member %s", n)
	}
	require.GreaterOrEqual(t, len(seen), 28)
}
