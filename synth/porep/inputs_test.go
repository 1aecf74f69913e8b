package porep

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

type meta struct {
	Inputs    [][]string `json:"public_inputs_per_partition_le_hex"`
	ReplicaID string     `json:"replica_id"`
	CommD     string     `json:"comm_d"`
	CommR     string     `json:"comm_r"`
	PoRepID   string     `json:"porep_id"`
	Proof     string     `json:"registered_proof"`
	ProofID   int        `json:"registered_proof_id"`
	Sector    uint64     `json:"sector_number"`
	Seed      string
	Ticket    string
}

func goldenMeta(t testing.TB, kind string) (m meta) {
	t.Helper()
	name := kind + ".meta.json"
	if _, err := os.Stat("testdata/" + name); err != nil {
		name += ".gz"
	}
	require.NoError(t, json.Unmarshal(readGolden(t, name), &m))
	return m
}

func TestPublicInputsEqualGolden(t *testing.T) {
	for _, kind := range kinds {
		c, _ := goldenC1(t, kind)
		m := goldenMeta(t, kind)
		require.Equal(t, m.Proof, c.Proof.String())
		require.Equal(t, m.ProofID, int(c.Proof))
		require.Equal(t, m.PoRepID, hex.EncodeToString(c.Config.PoRepID[:]))
		require.Equal(t, m.Seed, c.Seed.String())
		require.Equal(t, m.Ticket, c.Ticket.String())
		id := ReplicaID(vanilla.ProverID(1000), m.Sector, c.Ticket, c.CommD, c.Config.PoRepID)
		require.Equal(t, m.ReplicaID, id.String())
		require.Equal(t, c.ReplicaID, id)
		all, err := c.Public().AllInputs()
		require.NoError(t, err)
		require.Len(t, all, len(m.Inputs))
		require.Len(t, all, c.Config.Partitions)
		for k := range all {
			require.Len(t, all[k], c.Config.InputCount())
			for i := range all[k] {
				require.Equal(t, m.Inputs[k][i], vanilla.FromFr(all[k][i]).String(), "%s partition %d input %d", kind, k, i)
			}
		}
	}
}

func TestInputsRefuse(t *testing.T) {
	c, _ := goldenC1(t, kinds[0])
	for _, k := range []int{-1, 1} {
		_, err := c.Public().Inputs(k)
		require.ErrorContains(t, err, "no partition")
	}
	c.CommR[31] = 0xff
	_, err := c.Public().Inputs(0)
	require.ErrorContains(t, err, "comm_r: is not a canonical")
}

// Published digests of the parents of all nodes.
func TestGraphDigests(t *testing.T) {
	for _, v := range []struct {
		p    vanilla.SealProof
		want string
	}{
		{0, "3da49221e2ed55371b86d0bf3d6526fcf128af61bed904f966428db1b531750d"},
		{5, "840057702eea7652cf97e04306c30fe57174714d90de156a25eddd6075c25b97"},
		{1, "a76604f2f59f2744c7151653bbb1d8596b6b57d295e6fa6c1f0c41d725b502ce"},
		{6, "03cd13565ded97c240a5f52e54295ad127bd0461b57904cb3a4d79b097bbecab"},
	} {
		cfg, err := ProofConfig(v.p)
		require.NoError(t, err)
		g := NewGraph(&cfg)
		h := sha256.New()
		var b [4 * Parents]byte
		for n := uint64(0); n < cfg.Nodes; n++ {
			for i, p := range g.Parents(n) {
				binary.LittleEndian.PutUint32(b[4*i:], p)
			}
			h.Write(b[:])
		}
		require.Equal(t, v.want, hex.EncodeToString(h.Sum(nil)), v.p.String())
	}
}

func TestParentsInRange(t *testing.T) {
	for p := vanilla.SealProof(0); p.Valid(); p++ {
		cfg, err := ProofConfig(p)
		require.NoError(t, err)
		g := NewGraph(&cfg)
		for _, n := range []uint64{2, 3, 63, cfg.Nodes - 1, cfg.Nodes / 2} {
			ps := g.Parents(n)
			for i, x := range ps {
				require.Less(t, uint64(x), cfg.Nodes)
				if i < DRGParents {
					require.Less(t, uint64(x), n)
				}
			}
			require.Contains(t, ps[:DRGParents], uint32(n-1))
		}
		zero := g.Parents(0)
		require.Equal(t, make([]uint32, DRGParents), zero[:DRGParents])
	}
}

// Published example of the deployed stack: 21 synthetic challenges, ten of them chosen.
func TestSyntheticChallenges(t *testing.T) {
	p := &Public{Config: Config{Shape: Shape{Nodes: 1 << 10, Challenges: 10}, Mode: vanilla.Synthetic}}
	p.ReplicaID = vanilla.FromFr(fr.NewElement(55))
	p.CommR = vanilla.FromFr(fr.NewElement(101))
	for i := range p.Seed {
		p.Seed[i] = 1
	}
	s := newSynthetic(p)
	s.set = 21
	var all, chosen []uint64
	for i := uint64(0); i < 21; i++ {
		all = append(all, s.member(i))
	}
	for j := uint32(0); j < 10; j++ {
		chosen = append(chosen, s.selected(j))
	}
	require.Equal(t, []uint64{178, 297, 869, 211, 875, 477, 94, 781, 124, 332, 856, 801, 176, 692, 429, 691, 290, 204, 986, 210, 973}, all)
	require.Equal(t, []uint64{176, 781, 801, 986, 290, 211, 692, 856, 986, 332}, chosen)
}

func TestPick(t *testing.T) {
	var b [32]byte
	for i := range b {
		b[i] = 0xff
	}
	require.Equal(t, uint64(1), pick(b[:], 2))
	require.Equal(t, uint64((1<<16-1)%(7)+1), pick(append([]byte{0xff, 0xff}, make([]byte, 30)...), 8))
	// 2^256 - 1 = 2^(256 mod 31) - 1 modulo 2^31 - 1
	require.Equal(t, uint64(1<<8), pick(b[:], 1<<31))
}

func TestConfigs(t *testing.T) {
	for _, v := range []struct {
		p                                         vanilla.SealProof
		nodes                                     uint64
		tree                                      string
		layers, partitions, challenges, proofSize int
	}{
		{0, 1 << 6, "8-0-0", 2, 1, 2, 192}, {6, 1 << 18, "8-0-0", 2, 1, 2, 192}, {12, 1 << 24, "8-0-0", 2, 1, 2, 192},
		{8, 1 << 30, "8-8-0", 11, 10, 18, 1920}, {14, 1 << 31, "8-8-2", 11, 10, 18, 1920}, {15, 1 << 6, "8-0-0", 2, 13, 2, 13 * 192},
		{18, 1 << 30, "8-8-0", 11, 126, 18, 126 * 192},
	} {
		c, err := ProofConfig(v.p)
		require.NoError(t, err)
		require.Equal(t, v.nodes, c.Nodes)
		require.Equal(t, v.tree, c.Tree.String())
		require.Equal(t, []int{v.layers, v.partitions, v.challenges, v.proofSize}, []int{c.Layers, c.Partitions, c.Challenges, c.ProofBytes()})
		require.Equal(t, map[int]int{2: 39, 18: 327}[v.challenges], c.InputCount())
		_, err = c.Tree.Levels(c.Nodes)
		require.NoError(t, err)
	}
	_, err := ProofConfig(20)
	require.Error(t, err)
	_, err = SizeConfig(3<<10, vanilla.Interactive, vanilla.V1_1_0)
	require.ErrorContains(t, err, "3KiB")
	for _, s := range []vanilla.SectorSize{vanilla.Size4KiB, vanilla.Size16KiB, vanilla.Size32KiB, vanilla.Size16MiB, vanilla.Size1GiB} {
		c, err := SizeConfig(s, vanilla.Interactive, vanilla.V1_1_0)
		require.NoError(t, err)
		require.Equal(t, s, c.SectorSize())
		_, err = c.Tree.Levels(c.Nodes)
		require.NoError(t, err)
	}
}
