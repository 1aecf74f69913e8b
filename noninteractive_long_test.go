//go:build long

package filgroth

import (
	"context"
	"testing"

	"github.com/filgroth/filgroth/groth16/aggregate"
	"github.com/stretchr/testify/require"
)

// TestLongNonInteractive proves the 13 partitions of a non-interactive 2 KiB sector and aggregates them.
func TestLongNonInteractive(t *testing.T) {
	ctx := context.Background()
	e := developer(t, nil)
	defer e.Close()
	m := golden[sealMeta](t, "2k-ni-s1.meta.json")
	c1 := readGolden(t, "2k-ni-s1.c1.json.gz")
	proof, rep, err := e.SealCommitPhase2(ctx, c1, m.Sector, testMiner)
	require.NoError(t, err)
	require.Len(t, rep.Partitions, 13)
	require.Len(t, proof, aggregate.Size(16))
	info := m.info(t)
	info.Bytes = proof
	ok, err := e.VerifySeal(ctx, info)
	require.NoError(t, err)
	require.True(t, ok)
	info.CommR[0] ^= 1
	ok, err = e.VerifySeal(ctx, info)
	require.NoError(t, err)
	require.False(t, ok)

	// the partition proofs alone, to be aggregated with others': the same sector twice
	parts, _, err := e.SealCommitPhase2CircuitProofs(ctx, c1, m.Sector, testMiner)
	require.NoError(t, err)
	info.CommR[0] ^= 1
	s := AggregateSector{info.Sector, info.Ticket, info.Seed, info.CommR, info.CommD}
	agg := AggregateInfo{Miner: testMiner, Proof: info.Proof, Aggregation: 1, Sectors: []AggregateSector{s, s}}
	both, err := e.AggregateSealProofs(ctx, agg, [][]byte{parts, parts})
	require.NoError(t, err)
	ok, err = e.VerifyAggregateSeals(ctx, agg, both)
	require.NoError(t, err)
	require.True(t, ok)
}
