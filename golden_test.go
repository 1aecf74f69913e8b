package filgroth

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// testdata: outputs of the deployed Rust stack, see testdata/README.md

func readGolden(t testing.TB, name string) []byte {
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	if !strings.HasSuffix(name, ".gz") {
		return b
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	require.NoError(t, err)
	out, err := io.ReadAll(z)
	require.NoError(t, err)
	return out
}

func golden[T any](t testing.TB, name string) (v T) {
	require.NoError(t, json.Unmarshal(readGolden(t, name), &v))
	return v
}

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

func hex32(t testing.TB, s string) (v [32]byte) {
	b := unhex(t, s)
	require.Len(t, b, 32)
	copy(v[:], b)
	return v
}

type sealMeta struct {
	RegisteredProof int    `json:"registered_proof_id"`
	Sector          uint64 `json:"sector_number"`
	Ticket          string `json:"ticket"`
	Seed            string `json:"seed"`
	CommD           string `json:"comm_d"`
	CommR           string `json:"comm_r"`
	Proof           string `json:"proof_hex"`
}

const testMiner = 1000

func (m *sealMeta) info(t testing.TB) SealVerifyInfo {
	return SealVerifyInfo{Proof: vanilla.SealProof(m.RegisteredProof), Miner: testMiner, Sector: m.Sector, Ticket: hex32(t, m.Ticket),
		Seed: hex32(t, m.Seed), CommR: hex32(t, m.CommR), CommD: hex32(t, m.CommD), Bytes: unhex(t, m.Proof)}
}

type postMeta struct {
	RegisteredProof string `json:"registered_proof"`
	Randomness      string `json:"randomness"`
	Proof           string `json:"proof_hex"`
	Sectors         []struct {
		ID    uint64 `json:"sector"`
		CommR string `json:"comm_r"`
	} `json:"sectors"`
}

func (m *postMeta) read(t testing.TB) (PoStProof, [32]byte, []PoStSector) {
	p, err := vanilla.ParsePoStProof(m.RegisteredProof)
	require.NoError(t, err)
	var s []PoStSector
	for _, x := range m.Sectors {
		s = append(s, PoStSector{x.ID, hex32(t, x.CommR)})
	}
	return PoStProof{p, unhex(t, m.Proof)}, hex32(t, m.Randomness), s
}

type updateMeta struct {
	CommDNew string `json:"comm_d_new"`
	CommRNew string `json:"comm_r_new"`
	CommROld string `json:"comm_r_old"`
	Proof    string `json:"proof_hex"`
}

func (m *updateMeta) info(t testing.TB) UpdateInfo {
	return UpdateInfo{Proof: 0, CommROld: hex32(t, m.CommROld), CommRNew: hex32(t, m.CommRNew), CommDNew: hex32(t, m.CommDNew), Bytes: unhex(t, m.Proof)}
}

// postGolden names the golden proofs of spacetime and their sectors' vanilla proofs.
var postGolden = map[string][]string{"window": {"window-s1", "window-s2"}, "window1_2": {"window1_2-s1", "window1_2-s2"}, "winning": {"winning-s1"}}

func postVanilla(t testing.TB, name string) [][]byte {
	var out [][]byte
	for _, f := range postGolden[name] {
		out = append(out, readGolden(t, f+".vanilla.bincode.gz"))
	}
	return out
}

// verifier is an engine over the golden verifying keys, as over a deployed parameter directory.
func verifier(t testing.TB) *Engine {
	e, err := New(Config{Parameters: "testdata", forgeable: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

var devCache = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "filgroth-test-*") })

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := devCache(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// developer is an engine over development keys, which all tests of a run share.
func developer(t testing.TB, change func(*Config)) *Engine {
	dir, err := devCache()
	require.NoError(t, err)
	cfg := Config{DevelopmentKeys: true, CacheDir: dir}
	if change != nil {
		change(&cfg)
	}
	e, err := New(cfg)
	require.NoError(t, err)
	return e
}

var sealGolden = []string{"2k-v1-s1", "2k-v1_1-s1", "2k-v1_1-s2", "2k-synth-s1"}

func TestDeployedProofsVerify(t *testing.T) {
	ctx := context.Background()
	e := verifier(t)
	for _, name := range sealGolden {
		m := golden[sealMeta](t, name+".meta.json")
		info := m.info(t)
		ok, err := e.VerifySeal(ctx, info)
		require.NoError(t, err, name)
		require.True(t, ok, name)
		for field, change := range map[string]func(*SealVerifyInfo){
			"miner":  func(i *SealVerifyInfo) { i.Miner++ },
			"sector": func(i *SealVerifyInfo) { i.Sector++ },
			"ticket": func(i *SealVerifyInfo) { i.Ticket[0] ^= 1 },
			"seed":   func(i *SealVerifyInfo) { i.Seed[0] ^= 1 },
			"comm_d": func(i *SealVerifyInfo) { i.CommD[0] ^= 1 },
			"comm_r": func(i *SealVerifyInfo) { i.CommR[0] ^= 1 },
			"type":   func(i *SealVerifyInfo) { i.Proof = (i.Proof + 5) % 15 },
		} {
			bad := info
			change(&bad)
			ok, err := e.VerifySeal(ctx, bad)
			require.NoError(t, err, "%s: %s", name, field)
			require.False(t, ok, "%s: %s", name, field)
		}
		for _, n := range []int{0, 1, 191, 193, 384} {
			bad := info
			bad.Bytes = append(append([]byte(nil), info.Bytes...), info.Bytes...)[:n]
			_, err := e.VerifySeal(ctx, bad)
			require.ErrorIs(t, err, ErrInput)
		}
	}
	for name := range postGolden {
		m := golden[postMeta](t, name+".json")
		proof, randomness, sectors := m.read(t)
		check := func(r [32]byte, s []PoStSector) (bool, error) {
			if proof.Proof.Winning() {
				return e.VerifyWinningPoSt(ctx, r, proof, s[0])
			}
			return e.VerifyWindowPoSt(ctx, r, proof, s)
		}
		ok, err := check(randomness, sectors)
		require.NoError(t, err, name)
		require.True(t, ok, name)
		other := randomness
		other[0] ^= 1
		ok, err = check(other, sectors)
		require.NoError(t, err)
		require.False(t, ok)
		other[31] |= 0xc0
		_, err = check(other, sectors)
		require.ErrorIs(t, err, ErrInput, "randomness that is no field element")
		wrong := append([]PoStSector(nil), sectors...)
		wrong[0].Number += 7
		ok, err = check(randomness, wrong)
		require.NoError(t, err)
		require.False(t, ok)
		if len(sectors) > 1 {
			ok, err = check(randomness, []PoStSector{sectors[1], sectors[0]})
			require.NoError(t, err)
			require.False(t, ok, "swapped sectors")
		}
	}
	um := golden[updateMeta](t, "update.json")
	u := um.info(t)
	ok, err := e.VerifySectorUpdate(ctx, u)
	require.NoError(t, err)
	require.True(t, ok)
	u.CommROld, u.CommRNew = u.CommRNew, u.CommROld
	ok, err = e.VerifySectorUpdate(ctx, u)
	require.NoError(t, err)
	require.False(t, ok)
}
