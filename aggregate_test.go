package filgroth

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

type aggMeta struct {
	Aggregates []struct {
		Hex     string `json:"aggregate_hex"`
		Version string `json:"registered_aggregation"`
		Sectors []int  `json:"sectors"`
	} `json:"aggregates"`
}

func aggregateInfo(t *testing.T, names ...string) (AggregateInfo, [][]byte) {
	info := AggregateInfo{Miner: testMiner}
	var proofs [][]byte
	for _, n := range names {
		m := golden[sealMeta](t, n+".meta.json")
		i := m.info(t)
		info.Proof = i.Proof
		info.Sectors = append(info.Sectors, AggregateSector{i.Sector, i.Ticket, i.Seed, i.CommR, i.CommD})
		proofs = append(proofs, i.Bytes)
	}
	return info, proofs
}

func TestGoldenAggregates(t *testing.T) {
	ctx := context.Background()
	e := verifier(t)
	meta := golden[aggMeta](t, "agg-seal-2k.json.gz")
	require.NotEmpty(t, meta.Aggregates)
	for _, a := range meta.Aggregates {
		names := []string{"2k-v1_1-s1", "2k-v1_1-s2", "2k-v1_1-s1"}[:len(a.Sectors)]
		info, proofs := aggregateInfo(t, names...)
		if a.Version == "SnarkPackV2" {
			info.Aggregation = 1
		}
		want := unhex(t, a.Hex)
		got, err := e.AggregateSealProofs(ctx, info, proofs)
		require.NoError(t, err)
		require.Equal(t, want, got, "%v %v", a.Version, a.Sectors)
		ok, err := e.VerifyAggregateSeals(ctx, info, append(append([]byte(nil), want...), 0))
		require.NoError(t, err, "trailing bytes are ignored, as deployed")
		require.True(t, ok)
		info.Aggregation = 1 - info.Aggregation
		ok, err = e.VerifyAggregateSeals(ctx, info, want)
		require.NoError(t, err)
		require.False(t, ok, "the other version")
		info.Aggregation = 1 - info.Aggregation
		info.Sectors[1].Seed[0] ^= 1
		ok, err = e.VerifyAggregateSeals(ctx, info, want)
		require.NoError(t, err)
		require.False(t, ok, "another seed")
		_, err = e.AggregateSealProofs(ctx, info, proofs)
		require.ErrorIs(t, err, ErrRejected)
		_, err = e.AggregateSealProofs(ctx, info, proofs[:1])
		require.ErrorIs(t, err, ErrInput)
	}
}

func TestNonInteractiveSealVerifies(t *testing.T) {
	ctx := context.Background()
	e := verifier(t)
	m := golden[sealMeta](t, "2k-ni-s1.meta.json")
	info := m.info(t)
	ok, err := e.VerifySeal(ctx, info)
	require.NoError(t, err)
	require.True(t, ok)
	info.Sector++
	ok, err = e.VerifySeal(ctx, info)
	require.NoError(t, err)
	require.False(t, ok)
	info.Bytes = info.Bytes[:100]
	_, err = e.VerifySeal(ctx, info)
	require.ErrorIs(t, err, ErrInput)
}

// A development reference string grows with what it is asked for, in whatever order.
func TestDevelopmentReferenceGrows(t *testing.T) {
	ctx := context.Background()
	e := developer(t, nil)
	defer e.Close()
	for _, n := range []int{2, 16, 4, 32, 2} {
		s, err := e.reference(ctx, n)
		require.NoError(t, err)
		_, _, err = s.Specialize(n)
		require.NoError(t, err, "%d proofs", n)
	}
}
