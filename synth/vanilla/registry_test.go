package vanilla

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRegistries(t *testing.T) {
	names := map[string]bool{}
	for p := SealProof(0); p.Valid(); p++ {
		q, err := ParseSealProof(p.String())
		require.NoError(t, err)
		require.Equal(t, p, q)
		names[p.String()] = true
	}
	require.Len(t, names, 20)
	for _, v := range []struct {
		p    SealProof
		name string
		size SectorSize
		ver  Version
		mode Mode
	}{
		{3, "StackedDrg32GiBV1", Size32GiB, V1_0_0, Interactive}, {9, "StackedDrg64GiBV1_1", Size64GiB, V1_1_0, Interactive},
		{10, "StackedDrg2KiBV1_1_Feat_SyntheticPoRep", Size2KiB, V1_2_0, Synthetic},
		{16, "StackedDrg8MiBV1_2_Feat_NonInteractivePoRep", Size8MiB, V1_2_0, NonInteractive}, {2, "StackedDrg512MiBV1", Size512MiB, V1_0_0, Interactive},
	} {
		require.Equal(t, v.name, v.p.String())
		require.Equal(t, v.size, v.p.Size())
		require.Equal(t, v.ver, v.p.Version())
		require.Equal(t, v.mode, v.p.Mode())
	}
	p, err := ParseSealProof("StackedDrg32GiBV1_2_Feat_NiPoRep")
	require.NoError(t, err)
	require.EqualValues(t, 18, p)
	for p := PoStProof(0); p.Valid(); p++ {
		q, err := ParsePoStProof(p.String())
		require.NoError(t, err)
		require.Equal(t, p, q)
		require.Equal(t, p < 5, p.Winning())
	}
	q, err := ParsePoStProof("StackedDrgWindow32GiBV1_2")
	require.NoError(t, err)
	require.EqualValues(t, 13, q)
	require.Equal(t, "StackedDrgWindow32GiBV1_1", q.String())
	require.Equal(t, V1_2_0, q.Version())
	require.Equal(t, V1_0_0, PoStProof(8).Version())
	for p := UpdateProof(0); p.Valid(); p++ {
		q, err := ParseUpdateProof(p.String())
		require.NoError(t, err)
		require.Equal(t, p, q)
	}
	for _, bad := range []string{"", "StackedDrg32GiB", "StackedDrgWinning2KiBV1_2"} {
		_, e1 := ParseSealProof(bad)
		_, e2 := ParsePoStProof(bad)
		_, e3 := ParseUpdateProof(bad)
		require.Error(t, e1)
		require.Error(t, e2)
		require.Error(t, e3)
	}
	require.Equal(t, "SealProof(20)", SealProof(20).String())
	require.Equal(t, "PoStProof(-1)", PoStProof(-1).String())
	require.Equal(t, "UpdateProof(5)", UpdateProof(5).String())
}

func TestSectorSizes(t *testing.T) {
	for s := range treeShapes {
		shape, ok := s.Tree()
		require.True(t, ok)
		levels, err := shape.Levels(s.Nodes())
		require.NoError(t, err)
		n := uint64(1)
		for _, k := range levels {
			n *= uint64(k)
		}
		require.Equal(t, s.Nodes(), n)
		base := shape.BaseLevels(s.Nodes())
		for _, k := range levels[:base] {
			require.Equal(t, 8, k)
		}
		_, err = Binary.Levels(s.Nodes())
		require.NoError(t, err)
	}
	require.Equal(t, "32GiB", Size32GiB.String())
	require.Equal(t, "512MiB", Size512MiB.String())
	require.Equal(t, "2KiB", Size2KiB.String())
	require.Equal(t, "100B", SectorSize(100).String())
	_, ok := SectorSize(64).Tree()
	require.False(t, ok)
}

// No value of an enumeration makes printing it, or what mentions it, panic.
func TestStringsOfAnyValue(t *testing.T) {
	for i := -2; i < 40; i++ {
		for _, s := range []fmt.Stringer{Mode(i), Form(i), Version(i), SealProof(i), PoStProof(i), UpdateProof(i), SectorSize(i), TreeShape{i, i, i}} {
			require.NotEmpty(t, s.String())
		}
	}
	p := MerkleProof{Form: 7}
	f := Faults{Prefix: "x"}
	require.False(t, f.Merkle("proof", &p, MerkleWant{Index: 1}))
	require.ErrorContains(t, AsCheckError(f.List), "x.proof.data.Form(7)")
	require.Error(t, p.CheckShape(Binary, 4))
}
