package porep

import (
	"errors"
	"testing"

	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// refused wants a decoder's error to name a place; what is accepted must survive a round trip.
func refused(t *testing.T, err error) bool {
	var f *vanilla.FieldError
	if err != nil && !errors.As(err, &f) {
		t.Fatalf("untyped error %v", err)
	}
	return err != nil
}

func FuzzDecodeC1(f *testing.F) {
	for _, kind := range []string{"2k-v1_1-s1", "2k-synth-s1"} {
		_, raw := goldenC1(f, kind)
		f.Add(raw)
		f.Add(raw[:len(raw)/2])
	}
	f.Add([]byte(`{"registered_proof":"StackedDrg64GiBV1","vanilla_proofs":{"StackedDrg64GiBV1":[[{}]]}}`))
	f.Add([]byte(`{"SectorNum":1,"Phase1Out":"e30=","SectorSize":2048}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeC1(b)
		if refused(t, err) {
			return
		}
		out, err := c.AppendJSON(nil)
		require.NoError(t, err)
		again, err := DecodeC1(out)
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}

func FuzzDecodeC1Bincode(f *testing.F) {
	c, _ := goldenC1(f, "2k-v1_1-s1")
	bin, err := c.AppendBincode(nil)
	require.NoError(f, err)
	f.Add(int(c.Proof), bin)
	f.Add(0, bin[:len(bin)/2])
	f.Add(19, []byte{126, 0, 0, 0, 0, 0, 0, 0, 18, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, proof int, b []byte) {
		p := vanilla.SealProof(proof)
		if !p.Valid() {
			return
		}
		c, err := DecodeC1Bincode(p, b)
		if refused(t, err) {
			return
		}
		out, err := c.AppendBincode(nil)
		require.NoError(t, err)
		require.Equal(t, b, out)
	})
}
