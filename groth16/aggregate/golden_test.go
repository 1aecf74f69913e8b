package aggregate

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/groth16"
)

// goldenCase is one statement that the reference aggregated.
type goldenCase struct {
	name       string
	srs        *SRS
	vk         *groth16.VerifyingKey
	proofs     []*groth16.Proof // nil where the reference did not keep them
	inputs     [][]fr.Element
	transcript []byte
	version    Version
	aggregate  []byte
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return b
}

func readJSON(t testing.TB, name string, v any) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(readFile(t, name)))
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, v))
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

func scalar(t testing.TB, le string) fr.Element {
	t.Helper()
	b := unhex(t, le)
	require.Len(t, b, fr.Bytes)
	x, err := fr.LittleEndian.Element((*[fr.Bytes]byte)(b))
	require.NoError(t, err)
	return x
}

func scalars(t testing.TB, rows [][]string) [][]fr.Element {
	t.Helper()
	out := make([][]fr.Element, len(rows))
	for i, row := range rows {
		for _, s := range row {
			out[i] = append(out[i], scalar(t, s))
		}
	}
	return out
}

func loadSRS(t testing.TB, name string) *SRS {
	t.Helper()
	s, err := LoadSRS(context.Background(), bytes.NewReader(readFile(t, name)), LoadConfig{})
	require.NoError(t, err)
	return s
}

func loadVK(t testing.TB, name string) *groth16.VerifyingKey {
	t.Helper()
	vk, err := groth16.ParseVerifyingKey(readFile(t, name))
	require.NoError(t, err)
	return vk
}

func mimcCases(t testing.TB) []goldenCase {
	var g struct {
		Transcript string     `json:"transcript_include_hex"`
		Inputs     [][]string `json:"public_inputs"`
		Aggregates []struct {
			Version string
			Hex     string `json:"aggregate_proof_hex"`
		}
	}
	readJSON(t, "snarkpack_n8.json.gz", &g)
	var b struct {
		Proofs []struct {
			Hex string `json:"proof_compressed_192"`
		}
	}
	readJSON(t, "mimc_batch10.json.gz", &b)
	var proofs []*groth16.Proof
	for _, p := range b.Proofs[:8] {
		q, err := groth16.ParseProof(unhex(t, p.Hex))
		require.NoError(t, err)
		proofs = append(proofs, q)
	}
	require.Len(t, g.Aggregates, 2)
	srs, vk := loadSRS(t, "snarkpack_n8.srs"), loadVK(t, "mimc.vk")
	var out []goldenCase
	for _, a := range g.Aggregates {
		version := map[string]Version{"V1": V1, "V2": V2}[a.Version]
		out = append(out, goldenCase{"mimc8/" + a.Version, srs, vk, proofs, scalars(t, g.Inputs),
			unhex(t, g.Transcript), version, unhex(t, a.Hex)})
	}
	return out
}

// sectorMeta is what a golden sector says about itself.
type sectorMeta struct {
	CommR  string     `json:"comm_r"`
	Seed   string     `json:"seed"`
	Inputs [][]string `json:"public_inputs_per_partition_le_hex"`
}

func sectorCases(t testing.TB) []goldenCase {
	srs, vk := loadSRS(t, "seal_2k.srs"), loadVK(t, "porep_2k.vk")
	var g struct {
		Aggregates []struct {
			Hex     string `json:"aggregate_hex"`
			Version string `json:"registered_aggregation"`
			Sectors []int
		}
	}
	readJSON(t, "seal_2k.json.gz", &g)
	require.Len(t, g.Aggregates, 4)
	var out []goldenCase
	for _, a := range g.Aggregates {
		c := goldenCase{srs: srs, vk: vk, aggregate: unhex(t, a.Hex)}
		c.version = map[string]Version{"SnarkPackV1": V1, "SnarkPackV2": V2}[a.Version]
		h := sha256.New()
		for _, s := range a.Sectors {
			name := "2k-v1_1-s" + string(rune('0'+s))
			var m sectorMeta
			readJSON(t, name+".meta.json.gz", &m)
			p, err := groth16.ParseProof(readFile(t, name+".proof.bin"))
			require.NoError(t, err)
			c.proofs = append(c.proofs, p)
			c.inputs = append(c.inputs, scalars(t, m.Inputs)...)
			h.Write(unhex(t, m.Seed))
			h.Write(unhex(t, m.CommR))
		}
		c.transcript = h.Sum(nil)
		c.name = "sectors" + string(rune('0'+len(a.Sectors))) + "/" + a.Version
		var err error
		c.proofs, err = PadProofs(c.proofs)
		require.NoError(t, err)
		c.inputs, err = PadInputs(c.inputs)
		require.NoError(t, err)
		out = append(out, c)
	}
	return append(out, nonInteractive(t, srs, vk))
}

func nonInteractive(t testing.TB, srs *SRS, vk *groth16.VerifyingKey) goldenCase {
	var m sectorMeta
	readJSON(t, "2k-ni-s1.meta.json.gz", &m)
	require.Len(t, m.Inputs, 13)
	inputs, err := PadInputs(scalars(t, m.Inputs))
	require.NoError(t, err)
	d := sha256.Sum256(unhex(t, m.CommR))
	return goldenCase{"non-interactive", srs, vk, nil, inputs, d[:], V2, readFile(t, "2k-ni-s1.proof.bin")}
}

func goldenCases(t testing.TB) []goldenCase { return append(mimcCases(t), sectorCases(t)...) }

func TestGoldenAggregates(t *testing.T) {
	ctx := context.Background()
	cases := goldenCases(t)
	require.Len(t, cases, 7)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			prover, verifier, err := c.srs.Specialize(len(c.inputs))
			require.NoError(t, err)
			if c.proofs != nil {
				got, err := Prove(ctx, prover, c.proofs, c.transcript, c.version)
				require.NoError(t, err)
				require.Equal(t, hex.EncodeToString(c.aggregate), hex.EncodeToString(got))
			}
			require.Len(t, c.aggregate, Size(len(c.inputs)))
			ok, err := Verify(ctx, verifier, c.vk, c.inputs, c.aggregate, c.transcript, c.version)
			require.NoError(t, err)
			require.True(t, ok)

			ok, err = Verify(ctx, verifier, c.vk, c.inputs, c.aggregate, c.transcript, V1+V2-c.version)
			require.NoError(t, err)
			require.False(t, ok, "the other version")
			other := append(bytes.Clone(c.transcript), 0)
			ok, err = Verify(ctx, verifier, c.vk, c.inputs, c.aggregate, other, c.version)
			require.NoError(t, err)
			require.False(t, ok, "other transcript bytes")
		})
	}
}

// TestGoldenDecode parses what the reference wrote and writes it again.
func TestGoldenDecode(t *testing.T) {
	for _, c := range goldenCases(t) {
		p, n, err := Decode(context.Background(), c.aggregate)
		require.NoError(t, err, c.name)
		require.Equal(t, len(c.aggregate), n)
		require.Equal(t, len(c.inputs), p.Count())
		b, err := p.Bytes()
		require.NoError(t, err)
		require.Equal(t, c.aggregate, b, c.name)
	}
}

// TestGoldenSRS makes the reference's SRS from its secrets, and reads and writes its files.
func TestGoldenSRS(t *testing.T) {
	var n8 struct {
		Alpha string `json:"srs_alpha"`
		Beta  string `json:"srs_beta"`
		Hash  string `json:"srs_hash"`
	}
	readJSON(t, "snarkpack_n8.json.gz", &n8)
	var seal struct {
		Alpha string `json:"srs_alpha_le_hex"`
		Beta  string `json:"srs_beta_le_hex"`
	}
	readJSON(t, "seal_2k.json.gz", &seal)
	for _, c := range []struct {
		file, alpha, beta string
		points            int
	}{{"snarkpack_n8.srs", n8.Alpha, n8.Beta, 16}, {"seal_2k.srs", seal.Alpha, seal.Beta, 32}} {
		file := readFile(t, c.file)
		made, err := SetupInsecure(c.points, scalar(t, c.alpha), scalar(t, c.beta))
		require.NoError(t, err)
		for _, s := range []*SRS{made, loadSRS(t, c.file)} {
			require.Equal(t, c.points, s.Points())
			require.Equal(t, c.points, s.Stored())
			var w bytes.Buffer
			_, err = s.WriteTo(&w)
			require.NoError(t, err)
			require.Equal(t, file, w.Bytes())
		}
	}
	d := sha256.Sum256(readFile(t, "snarkpack_n8.srs"))
	require.Equal(t, n8.Hash, hex.EncodeToString(d[:]))
}

// TestPairingOfGenerators pins basis, exponent and byte order of GT. The digests are of e(G, H) as blstrs writes it.
func TestPairingOfGenerators(t *testing.T) {
	_, _, g, h := bls12381.Generators()
	e, err := bls12381.Pair([]bls12381.G1Affine{g}, []bls12381.G2Affine{h})
	require.NoError(t, err)
	raw := rawGT(&e)
	d := sha256.Sum256(raw[:])
	require.Equal(t, "ff9912603bb02b77bc6ec1deaeddf9d1fee40ac17a781fb13c9c6e7a9f74d22b", hex.EncodeToString(d[:]))
	var b [sizeGT]byte
	require.NoError(t, compressGT(b[:], &e))
	d = sha256.Sum256(b[:])
	require.Equal(t, "2276128cd9326ecb99f8bb25ea892beed11ca9e3323e9d5aca77d51c66f026ae", hex.EncodeToString(d[:]))
	back, err := decompressGT(b[:])
	require.NoError(t, err)
	require.Equal(t, e, back)
}
