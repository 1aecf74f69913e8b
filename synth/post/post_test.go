package post

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

type goldenPost struct {
	RegisteredProof string `json:"registered_proof"`
	APIVersion      string `json:"api_version"`
	Randomness      string
	ProverID        string `json:"prover_id"`
	Sectors         []struct {
		Challenges []uint64
		CommR      string `json:"comm_r"`
		Sector     uint64
	}
	WinningOf8 []uint64 `json:"winning_sector_challenge_of_8"`
	Inputs     []string `json:"inputs_le_hex"`
}

var goldenNames = []string{"winning", "window", "window1_2"}

func commitment(t testing.TB, s string) (c vanilla.Commitment) {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	require.Equal(t, 32, copy(c[:], b))
	return c
}

func readGz(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	return b
}

func goldenProofs(t testing.TB, name string) (g goldenPost, public *Public, proofs []*SectorProof) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name + ".json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &g))
	p, err := vanilla.ParsePoStProof(g.RegisteredProof)
	require.NoError(t, err)
	cfg, err := ProofConfig(p)
	require.NoError(t, err)
	require.Equal(t, g.APIVersion, cfg.Version.String())
	public = &Public{Config: cfg, Randomness: commitment(t, g.Randomness)}
	for _, s := range g.Sectors {
		public.Sectors = append(public.Sectors, Sector{ID: s.Sector, CommR: commitment(t, s.CommR)})
		proof, err := DecodeSectorProof(&cfg, readGz(t, fmt.Sprintf("%s-s%d.vanilla.bincode.gz", name, s.Sector)))
		require.NoError(t, err)
		proofs = append(proofs, proof)
	}
	return g, public, proofs
}

func TestGoldenCodecs(t *testing.T) {
	for _, name := range goldenNames {
		_, public, proofs := goldenProofs(t, name)
		for _, p := range proofs {
			file := fmt.Sprintf("%s-s%d.vanilla.", name, p.SectorID)
			bin, err := p.AppendBincode(&public.Config, nil)
			require.NoError(t, err)
			require.True(t, bytes.Equal(readGz(t, file+"bincode.gz"), bin))
			doc, err := p.AppendJSON(&public.Config, nil)
			require.NoError(t, err)
			require.True(t, bytes.Equal(readGz(t, file+"json.gz"), doc))
			again, err := DecodeSectorProofJSON(&public.Config, doc)
			require.NoError(t, err)
			require.Equal(t, p, again)
		}
	}
}

func TestGoldenChallengesAndInputs(t *testing.T) {
	for _, name := range goldenNames {
		g, public, proofs := goldenProofs(t, name)
		for i, s := range g.Sectors {
			require.Equal(t, s.Challenges, public.Config.Challenges(public.Randomness, s.Sector, i), name)
		}
		in, err := public.Inputs(0)
		require.NoError(t, err)
		require.Len(t, in, public.Config.InputCount())
		require.Len(t, g.Inputs, len(in)+1)
		for i := range in {
			require.Equal(t, g.Inputs[i+1], vanilla.FromFr(in[i]).String(), "%s input %d", name, i)
		}
		parts, err := Assemble(public, proofs)
		require.NoError(t, err)
		require.Len(t, parts, 1)
		require.Len(t, parts[0].Sectors, public.Config.Shape.Sectors)
		require.NoError(t, Check(context.Background(), parts[0]))
		if name == "winning" {
			n, err := WinningSector(commitment(t, g.ProverID), public.Randomness, 8)
			require.NoError(t, err)
			require.Equal(t, g.WinningOf8, []uint64{n})
		}
	}
}

func TestAllInputs(t *testing.T) {
	cfg, err := SizeConfig(vanilla.Size2KiB, false, vanilla.V1_2_0)
	require.NoError(t, err)
	p := &Public{Config: cfg}
	for i := range uint64(5) {
		p.Sectors = append(p.Sectors, Sector{ID: i, CommR: vanilla.Commitment{byte(i)}})
	}
	all, err := p.AllInputs(context.Background())
	require.NoError(t, err)
	require.Len(t, all, 3)
	for k := range all {
		one, err := p.Inputs(k)
		require.NoError(t, err)
		require.Equal(t, one, all[k])
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = p.AllInputs(ctx)
	require.ErrorIs(t, err, context.Canceled)
	p.Sectors[4] = p.Sectors[0]
	_, err = p.AllInputs(context.Background())
	require.ErrorContains(t, err, "sectors[4].sector_id")
}

func TestAssembleRefuses(t *testing.T) {
	_, public, proofs := goldenProofs(t, "window")
	for want, alter := range map[string]func(*Public, []*SectorProof) []*SectorProof{
		"randomness: is not a canonical":                                                       func(p *Public, s []*SectorProof) []*SectorProof { p.Randomness[31] = 0x80; return s },
		"sectors: is empty":                                                                    func(p *Public, s []*SectorProof) []*SectorProof { p.Sectors = nil; return nil },
		"sectors[1].sector_id: is 1, as in sectors[0]":                                         func(p *Public, s []*SectorProof) []*SectorProof { p.Sectors[1].ID = 1; return s },
		"sectors[0].comm_r: is not a canonical":                                                func(p *Public, s []*SectorProof) []*SectorProof { p.Sectors[0].CommR[31] = 0xff; return s },
		"sector 2: has no vanilla proof":                                                       func(p *Public, s []*SectorProof) []*SectorProof { return s[:1] },
		"sector 1: has no vanilla proof; sector 2: has no vanilla proof":                       func(p *Public, s []*SectorProof) []*SectorProof { return nil },
		"vanilla_proofs[1].sector_id: is 1, of which there is a proof already":                 func(p *Public, s []*SectorProof) []*SectorProof { return []*SectorProof{s[0], s[0]} },
		"vanilla_proofs[1].sector_id: is 2, which is not among the sectors":                    func(p *Public, s []*SectorProof) []*SectorProof { p.Sectors = p.Sectors[:1]; return s },
		"vanilla_proofs[1]: is missing":                                                        func(p *Public, s []*SectorProof) []*SectorProof { return []*SectorProof{s[0], nil} },
		"sector 1: comm_r":                                                                     nil,
		"vanilla_proofs[0].vanilla_proof.sectors[0].inclusion_proofs: has 0 elements, want 10": nil,
	} {
		pub := *public
		pub.Sectors = append([]Sector(nil), public.Sectors...)
		in := []*SectorProof{}
		for _, p := range proofs {
			q := *p
			in = append(in, &q)
		}
		switch {
		case alter != nil:
			in = alter(&pub, in)
		case want == "sector 1: comm_r":
			in[0].CommR[0] ^= 1
			want = "sector 1.comm_r: of the vanilla proof is"
		default:
			in[0].Inclusion = nil
		}
		_, err := Assemble(&pub, in)
		require.ErrorContains(t, err, want)
	}
	_, winning, proof := goldenProofs(t, "winning")
	winning.Sectors = append(winning.Sectors, Sector{ID: 9})
	_, err := Assemble(winning, proof)
	require.ErrorContains(t, err, "sectors: has 2 elements, want 1 for a winning proof")
}

func TestPartitionsAndPadding(t *testing.T) {
	g, public, proofs := goldenProofs(t, "window")
	// three sectors in circuits of two: the second partition holds one, twice
	third := *proofs[0]
	third.SectorID = 3
	third.Inclusion = append([]vanilla.MerkleProof(nil), third.Inclusion...)
	pub := &Public{Config: public.Config, Randomness: public.Randomness, Sectors: append(public.Sectors, Sector{ID: 3, CommR: third.CommR})}
	parts, err := Assemble(pub, []*SectorProof{&third, proofs[1], proofs[0]})
	require.NoError(t, err)
	require.Len(t, parts, 2)
	require.NoError(t, Check(context.Background(), parts[0]))
	require.Equal(t, 1, parts[1].Real)
	require.Equal(t, parts[1].Sectors[0], parts[1].Sectors[1])
	in, err := pub.Inputs(1)
	require.NoError(t, err)
	require.Equal(t, in[:11], in[11:])
	challenges := pub.Config.Challenges(pub.Randomness, 3, 2)
	require.Equal(t, parts[1].Sectors[0].Challenges, challenges)
	require.NotEqual(t, challenges, pub.Config.Challenges(pub.Randomness, 3, 0))
	pub.Config.Version = vanilla.V1_2_0
	require.Equal(t, pub.Config.Challenges(pub.Randomness, 3, 2), pub.Config.Challenges(pub.Randomness, 3, 0))
	_, err = pub.Inputs(2)
	require.ErrorContains(t, err, "no partition 2 in 2")
	require.Len(t, g.Sectors, 2)
}

func TestCheckListsAllBadSectors(t *testing.T) {
	_, public, proofs := goldenProofs(t, "window")
	proofs[0].CommC[0] ^= 1
	proofs[1].Inclusion[7].Base[1].Hashes[3][0] ^= 1
	proofs[1].Inclusion[9].Leaf[0] ^= 1
	parts, err := Assemble(public, proofs)
	require.NoError(t, err)
	err = Check(context.Background(), parts[0])
	var list *vanilla.CheckError
	require.True(t, errors.As(err, &list))
	var got []string
	for _, f := range list.Faults {
		got = append(got, fmt.Sprint(f.Sector, " ", f.Field))
	}
	require.Equal(t, []string{"1 sector 1.comm_r", "2 sector 2.inclusion_proofs[7].data.Single", "2 sector 2.inclusion_proofs[9].data.Single"}, got)

	_, public, proofs = goldenProofs(t, "winning")
	proofs[0].Inclusion[65].SetIndex(1)
	proofs[0].Inclusion[3].Root[1] ^= 1
	parts, err = Assemble(public, proofs)
	require.NoError(t, err)
	err = Check(context.Background(), parts[0])
	require.ErrorContains(t, err, "sector 1.inclusion_proofs[3].data.Single.root: is not comm_r_last")
	require.ErrorContains(t, err, "sector 1.inclusion_proofs[65].data.Single: path of leaf 1, want")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, Check(ctx, parts[0]), context.Canceled)
}

func TestDecodeRefuses(t *testing.T) {
	_, public, _ := goldenProofs(t, "window")
	raw := readGz(t, "window-s1.vanilla.bincode.gz")
	for n := 0; n < len(raw); n += 13 {
		_, err := DecodeSectorProof(&public.Config, raw[:n])
		var f *vanilla.FieldError
		require.ErrorAs(t, err, &f)
	}
	_, err := DecodeSectorProof(&public.Config, append(raw, 1))
	require.ErrorContains(t, err, "1 trailing bytes")
	winning, err := ProofConfig(0)
	require.NoError(t, err)
	_, err = DecodeSectorProof(&winning, raw)
	require.ErrorContains(t, err, "vanilla_proof.sectors[0].inclusion_proofs: has 10 elements, want 66")
	large, err := ProofConfig(8)
	require.NoError(t, err)
	_, err = DecodeSectorProof(&large, raw)
	require.ErrorContains(t, err, "inclusion_proofs[0].data.Single: Merkle proof of form Single, want Sub for a 8-8-0 tree")
}

func TestConfigs(t *testing.T) {
	for _, v := range []struct {
		p                   vanilla.PoStProof
		sectors, challenges int
		inputs, partitions  int // partitions of 5000 sectors
	}{{0, 66, 1, 132, 1}, {3, 66, 1, 132, 1}, {5, 2, 10, 22, 2500}, {8, 2349, 10, 25839, 3}, {13, 2349, 10, 25839, 3}, {9, 2300, 10, 25300, 3}, {14, 2300, 10, 25300, 3}} {
		c, err := ProofConfig(v.p)
		require.NoError(t, err)
		require.Equal(t, []int{v.sectors, v.challenges, v.inputs, v.partitions}, []int{c.Shape.Sectors, c.Shape.Challenges, c.InputCount(), c.Partitions(5000)})
	}
	_, err := ProofConfig(15)
	require.Error(t, err)
	_, err = WinningSector(vanilla.Commitment{}, vanilla.Commitment{}, 0)
	require.ErrorContains(t, err, "no eligible sectors")
	_, err = WinningSector(vanilla.Commitment{31: 0xff}, vanilla.Commitment{}, 1)
	require.ErrorContains(t, err, "canonical")
	require.Equal(t, []Sector{{ID: 1}, {ID: 4}}, SortSectors([]Sector{{ID: 4}, {ID: 1}, {ID: 4, CommR: vanilla.Commitment{1}}}))
}

func FuzzDecodeSectorProof(f *testing.F) {
	raw := readGz(f, "window-s1.vanilla.bincode.gz")
	f.Add(0, 0, []byte(nil))
	f.Add(40, 8, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	cfg, err := ProofConfig(5)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, at, cut int, insert []byte) {
		at = max(0, min(at, len(raw)))
		cut = max(0, min(cut, len(raw)-at))
		b := append(append(append([]byte(nil), raw[:at]...), insert...), raw[at+cut:]...)
		p, err := DecodeSectorProof(&cfg, b)
		if err != nil {
			var f *vanilla.FieldError
			require.ErrorAs(t, err, &f)
			return
		}
		out, err := p.AppendBincode(&cfg, nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(b, out))
	})
}
