package gpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/groth16test"
)

// TestBadPoint: the first point of a section that is not on the curve is named, at Bind for a resident key and by Sums for
// a streamed one, which goes on working: the next call fails in the same way.
func TestBadPoint(t *testing.T) {
	d, _ := testDevice(t, Options{})
	f := newFixture(t, groth16test.Circuit{Seed: 71, Values: 1, Inputs: 1, Bits: 60, Fields: 10, Products: 5, Rows: 60}, 1)
	var file bytes.Buffer
	_, err := f.key.WriteTo(&file)
	require.NoError(t, err)
	ctx := context.Background()
	for sec := groth16.SectionH; sec < groth16.NumSections; sec++ {
		t.Run(fmt.Sprint(sec), func(t *testing.T) {
			n := f.key.Len(sec)
			require.Greater(t, n, 11)
			bad := bytes.Clone(file.Bytes())
			all, err := f.key.Raw(sec, 0, n)
			require.NoError(t, err)
			at := bytes.Index(bad, all)
			require.Positive(t, at)
			for _, i := range []int{n - 1, 10} {
				bad[at+(i+1)*len(all)/n-1] ^= 1
			}
			key, err := groth16.NewProvingKey(bytes.NewReader(bad), int64(len(bad)))
			require.NoError(t, err)
			defer func() { require.NoError(t, key.Close()) }()
			named := func(err error) {
				var ke *groth16.KeyError
				require.True(t, errors.As(err, &ke), "%v", err)
				require.Equal(t, []any{sec.String(), 10}, []any{ke.Section, ke.Index})
			}
			_, err = d.Bind(ctx, f.sys, key, groth16.Config{})
			named(err)
			s, err := d.Bind(ctx, f.sys, key, groth16.Config{Key: groth16.KeyConfig{Residence: groth16.ResidenceStreamed, ChunkPoints: 500}})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			for range 2 {
				_, err = s.Sums(ctx, f.as)
				named(err)
			}
		})
	}
}
