package porep

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// mutated changes b at random places: bits, bytes, digits, pieces left out, doubled or moved.
func mutated(r *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for n := 1 + r.IntN(3); n > 0; n-- {
		i := r.IntN(len(b))
		j := min(len(b), i+1+r.IntN(200))
		switch r.IntN(7) {
		case 0:
			b[i] ^= 1 << r.IntN(8)
		case 1:
			b[i] = `{}[]",:0123456789-+.eE\ tfnu`[r.IntN(28)]
		case 2:
			b = append(b[:i:i], b[j:]...)
		case 3:
			b = append(b[:j:j], b[i:]...)
		case 4:
			k := r.IntN(len(b))
			copy(b[k:], b[i:j])
		case 5:
			b = append(append(b[:i:i], bytes.Repeat([]byte{"[{9\\"[r.IntN(4)]}, 1+r.IntN(300))...), b[i:]...)
		default:
			b = b[:i]
		}
		if len(b) == 0 {
			return b
		}
	}
	return b
}

// Whatever is done to a document, it is refused with the name of a place; or it decodes, and then Check finds what was done,
// unless that changed nothing that a proof depends on; or the circuit is made without a panic.
func TestMutatedDocuments(t *testing.T) {
	golden, raw := goldenC1(t, kinds[1])
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 2))
	rounds := 3000
	if testing.Short() {
		rounds = 100
	}
	decoded, held := 0, 0
	for i := range rounds {
		b := mutated(r, raw)
		c, err := DecodeC1(b)
		if refused(t, err) {
			continue
		}
		decoded++
		if err := Check(ctx, c); err != nil {
			var ce *vanilla.CheckError
			var fe *vanilla.FieldError
			require.True(t, errors.As(err, &ce) || errors.As(err, &fe), err)
			require.NotEmpty(t, err.Error())
			_, _ = c.Circuit(0)
			continue
		}
		held++
		ticket := c.Ticket
		c.Ticket = golden.Ticket // the one field that the proofs do not depend on
		require.Equal(t, golden, c, "round %d: ticket %v", i, ticket)
	}
	require.NotZero(t, decoded)
	require.Less(t, held, decoded)
}

// Documents made to exhaust something are refused, and cost no more memory than their own size.
func TestHostileDocuments(t *testing.T) {
	_, raw := goldenC1(t, kinds[1])
	big := 20 << 20
	if testing.Short() {
		big = 2 << 20
	}
	fill := func(head, unit, tail string) []byte {
		return []byte(head + strings.Repeat(unit, (big-len(head)-len(tail))/len(unit)) + tail)
	}
	noise := make([]byte, big)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	for name, b := range map[string][]byte{
		"noise": noise, "spaces": fill("", " ", ""), "zeros": make([]byte, big), "arrays": fill("", "[", ""), "objects": fill("", `{"a":`, ""),
		"one number": fill(`{"registered_proof":"StackedDrg2KiBV1","x":`, "9", "}"), "one string": fill(`{"`, "a", `":1}`),
		"escapes": fill(`{"`, `\u0041`, `":1}`), "one fraction": fill(`{"x":0.`, "0", "}"), "members": fill("{", `"a":1,`, `"a":1}`),
		"a size": fill(`{"registered_proof":"StackedDrg64GiBV1","comm_r":[`, "0,", "0]}"), "proofs": fill(`{"registered_proof":"StackedDrg64GiBV1","vanilla_proofs":{"StackedDrg64GiBV1":[`, "[],", "[]]}}"),
		"an envelope": fill(`{"SectorNum":1,"SectorSize":2048,"Phase1Out":"`, "AAAA", `"}`), "a tail": append(bytes.Clone(raw), make([]byte, big)...),
		"a name": fill(`{"registered_proof":"`, "S", `"}`), "a name in an envelope": fill(`{"Phase1Out":"`, "=", `"}`),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := DecodeC1(b)
		runtime.ReadMemStats(&after)
		var f *vanilla.FieldError
		require.ErrorAs(t, err, &f, name)
		require.Less(t, len(err.Error()), 600, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4*big+1<<20), name)
		require.Less(t, after.Mallocs-before.Mallocs, uint64(100000), name)
	}
}

// stopper is a context that ends after it was asked some times.
type stopper struct {
	context.Context
	left int
}

func (s *stopper) Err() error {
	if s.left--; s.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestDecodeStops(t *testing.T) {
	for _, kind := range []string{"2k-v1_1-s1", "2k-ni-s1"} {
		c, raw := goldenC1(t, kind)
		challenges := c.Config.Partitions * c.Config.Challenges
		envelope := []byte(`{"SectorNum":1,"SectorSize":2048,"Phase1Out":"` + base64.StdEncoding.EncodeToString(raw) + `"}`)
		for _, doc := range [][]byte{raw, envelope} {
			for left := range challenges {
				_, err := DecodeC1Context(&stopper{context.Background(), left}, doc)
				require.Equal(t, context.Canceled, err)
			}
			got, err := DecodeC1Context(&stopper{context.Background(), challenges}, doc)
			require.NoError(t, err)
			require.Equal(t, c, got)
		}
	}
}
