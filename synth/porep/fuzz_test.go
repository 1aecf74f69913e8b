package porep

import (
	"bytes"
	"errors"
	"reflect"
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

// FuzzDecodeC1 replaces cut bytes of a golden document at a place by others: a whole document as fuzz input would be too long for
// the fuzzing engine to be quick.
func FuzzDecodeC1(f *testing.F) {
	_, golden := goldenC1(f, "2k-v1_1-s1")
	f.Add(0, 0, []byte(nil))
	f.Add(0, len(golden), []byte(`{"registered_proof":"StackedDrg64GiBV1","vanilla_proofs":{"StackedDrg64GiBV1":[[{}]]}}`))
	f.Add(0, len(golden), []byte(`{"SectorNum":1,"Phase1Out":"e30=","SectorSize":2048}`))
	f.Add(len(golden)/2, len(golden), []byte(`]]`))
	f.Add(1, 0, []byte(`"x":{"y":[1e5,"\u12"]},`))
	f.Fuzz(func(t *testing.T, at, cut int, insert []byte) {
		at = max(0, min(at, len(golden)))
		cut = max(0, min(cut, len(golden)-at))
		b := append(append(append([]byte(nil), golden[:at]...), insert...), golden[at+cut:]...)
		c, err := DecodeC1(b)
		if refused(t, err) {
			return
		}
		out, err := c.AppendJSON(nil)
		require.NoError(t, err)
		again, err := DecodeC1(out)
		require.NoError(t, err)
		require.True(t, reflect.DeepEqual(c, again))
	})
}

func FuzzDecodeC1Bincode(f *testing.F) {
	c, _ := goldenC1(f, "2k-v1_1-s1")
	bin, err := c.AppendBincode(nil)
	require.NoError(f, err)
	f.Add(int(c.Proof), 0, 0, []byte(nil))
	f.Add(0, len(bin)/2, len(bin), []byte(nil))
	f.Add(19, 0, len(bin), []byte{126, 0, 0, 0, 0, 0, 0, 0, 18, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, proof, at, cut int, insert []byte) {
		p := vanilla.SealProof(proof)
		if !p.Valid() {
			return
		}
		at = max(0, min(at, len(bin)))
		cut = max(0, min(cut, len(bin)-at))
		b := append(append(append([]byte(nil), bin[:at]...), insert...), bin[at+cut:]...)
		c, err := DecodeC1Bincode(p, b)
		if refused(t, err) {
			return
		}
		out, err := c.AppendBincode(nil)
		require.NoError(t, err)
		require.True(t, bytes.Equal(b, out))
	})
}
