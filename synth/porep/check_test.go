package porep

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

func TestCheckGolden(t *testing.T) {
	for _, kind := range kinds {
		c, _ := goldenC1(t, kind)
		require.NoError(t, Check(context.Background(), c), kind)
		m := goldenMeta(t, kind)
		require.NoError(t, CheckReplicaID(c, 1000, m.Sector))
		for _, other := range [][2]uint64{{1001, m.Sector}, {1000, m.Sector + 1}} {
			require.ErrorContains(t, CheckReplicaID(c, other[0], other[1]), "replica_id: is not that of sector")
		}
	}
}

// leafWalker visits every value of a structure; visit may change it.
type leafWalker struct {
	path  string
	visit func(path string, v any)
}

func (w *leafWalker) in(p string, fn func() error) error {
	keep := w.path
	w.path += p
	err := fn()
	w.path = keep
	return err
}

func (w *leafWalker) Decoding() bool { return false }
func (w *leafWalker) Object(fields ...vanilla.Field) error {
	for _, f := range fields {
		name := f.Name
		if w.path != "" {
			name = "." + name
		}
		if err := w.in(name, f.Walk); err != nil {
			return err
		}
	}
	return nil
}
func (w *leafWalker) Variant(names []string, sel *int, payload func() error) error {
	return w.in("."+names[*sel], payload)
}
func (w *leafWalker) List(n int, elem func(int) error) error {
	for i := 0; i < n; i++ {
		if err := w.in(fmt.Sprintf("[%d]", i), func() error { return elem(i) }); err != nil {
			return err
		}
	}
	return nil
}
func (w *leafWalker) Nodes(s []vanilla.Commitment) error {
	return w.List(len(s), func(i int) error { return w.Node(&s[i]) })
}
func (w *leafWalker) Node(c *vanilla.Commitment) error    { w.visit(w.path, c); return nil }
func (w *leafWalker) Bytes32(c *vanilla.Commitment) error { w.visit(w.path, c); return nil }
func (w *leafWalker) U32(v *uint32) error                 { w.visit(w.path, v); return nil }
func (w *leafWalker) U64(v *uint64) error                 { w.visit(w.path, v); return nil }
func (w *leafWalker) Text(*string) error                  { return nil }
func (w *leafWalker) Unit() error                         { return nil }

func alter(v any) {
	switch v := v.(type) {
	case *vanilla.Commitment:
		v[0] ^= 1
	case *uint32:
		*v ^= 1
	case *uint64:
		*v ^= 1
	}
}

// TestCheckNamesAlteredField changes one value after the other (of each kind of field several) and wants the check to name it.
func TestCheckNamesAlteredField(t *testing.T) {
	c, _ := goldenC1(t, "2k-v1_1-s1")
	indices := regexp.MustCompile(`\[\d+\]`)
	kinds := map[string]int{}
	type place struct {
		path string
		v    any
	}
	var places []place
	_ = c.walkJSON(context.Background(), &leafWalker{visit: func(path string, v any) {
		kind := indices.ReplaceAllString(path, "[]")
		kinds[kind]++
		if n := kinds[kind]; n == 1 || n%29 == 0 {
			places = append(places, place{path, v})
		}
	}})
	require.Len(t, kinds, 37)
	for _, p := range places {
		alter(p.v)
		err := Check(context.Background(), c)
		alter(p.v)
		if p.path == "ticket" {
			require.NoError(t, err) // enters the replica id only
			continue
		}
		var list *vanilla.CheckError
		require.ErrorAs(t, err, &list, p.path)
		first := list.Faults[0].Field
		require.True(t, strings.HasPrefix(p.path, first), "%s: %v", p.path, err)
		require.LessOrEqual(t, len(err.Error()), 1200)
	}
	require.NoError(t, Check(context.Background(), c))
}

func TestCheckFindsAllInOnePass(t *testing.T) {
	c, _ := goldenC1(t, "2k-ni-s1")
	c.Proofs[2][1].CommD.Leaf[3] ^= 1
	c.Proofs[7][0].ExpParents[4].Rows[1][0] ^= 1
	c.Proofs[7][1].Encoding.Node++
	c.Proofs[12][1].Column.Inclusion.Root[5] ^= 1
	var list *vanilla.CheckError
	require.ErrorAs(t, Check(context.Background(), c), &list)
	var got []string
	for _, f := range list.Faults {
		got = append(got, fmt.Sprintf("%d/%d %s", f.Partition, f.Item, f.Field))
	}
	require.Equal(t, []string{
		"2/1 vanilla_proofs.StackedDrg2KiBV1[2][1].comm_d_proofs.data.Single",
		"7/0 vanilla_proofs.StackedDrg2KiBV1[7][0].replica_column_proofs.exp_parents[4].column.rows",
		"7/1 vanilla_proofs.StackedDrg2KiBV1[7][1].encoding_proof.node",
		"12/1 vanilla_proofs.StackedDrg2KiBV1[12][1].replica_column_proofs.c_x.inclusion_proof.data.Single.root",
	}, got)
}

func TestCheckForeignHeader(t *testing.T) {
	for kind, altered := range map[string]func(*C1) string{
		"2k-v1-s1":    func(c *C1) string { c.Seed[0] ^= 1; return "seed: does not give the challenge of any proof" },
		"2k-synth-s1": func(c *C1) string { c.ReplicaID[0] ^= 1; return "replica_id: does not give the labels of any proof" },
		"8m-v1_1-s1":  func(c *C1) string { c.CommD[0] ^= 1; return "comm_d: is not the root of any data proof" },
		"2k-v1_1-s1":  func(c *C1) string { c.CommR[0] ^= 1; return "comm_r: is not the hash of comm_c and comm_r_last" },
		"2k-v1_1-s2":  func(c *C1) string { c.Seed = vanilla.Commitment{}; return "seed: is all zero" },
	} {
		c, _ := goldenC1(t, kind)
		want := altered(c)
		require.ErrorContains(t, Check(context.Background(), c), want)
	}
}

func TestCheckMalformedStructure(t *testing.T) {
	for want, alter := range map[string]func(*C1){
		"vanilla_proofs: has 0 elements, want 1":                                              func(c *C1) { c.Proofs = nil },
		"vanilla_proofs[0]: has 1 elements, want 2":                                           func(c *C1) { c.Proofs[0] = c.Proofs[0][:1] },
		"vanilla_proofs[0][1].labeling_proofs: has 0 elements":                                func(c *C1) { c.Proofs[0][1].Labels = nil },
		"vanilla_proofs[0][0].comm_d_proofs.data.Single.path.path: has 0 elements, want 6":    func(c *C1) { c.Proofs[0][0].CommD.Base = nil },
		"vanilla_proofs[0][0].comm_d_proofs.data.Single.path.path[1].index: is 2, want below": func(c *C1) { c.Proofs[0][0].CommD.Base[1].Index = 2 },
		"vanilla_proofs[0][0].encoding_proof.parents[36]: is not a canonical":                 func(c *C1) { c.Proofs[0][0].Encoding.Parents[36][31] = 0xff },
		"vanilla_proofs[0][0].comm_r_last_proof.data: unknown variant 3":                      func(c *C1) { c.Proofs[0][0].CommRLast.Form = 3 },
	} {
		c, _ := goldenC1(t, "2k-v1_1-s1")
		alter(c)
		err := Check(context.Background(), c)
		var f *vanilla.FieldError
		require.ErrorAs(t, err, &f)
		require.ErrorContains(t, err, want)
	}
}

func TestCheckStops(t *testing.T) {
	c, _ := goldenC1(t, "2k-ni-s1")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, Check(ctx, c), context.Canceled)
}

func BenchmarkCheck(b *testing.B) {
	c, _ := goldenC1(b, "8m-v1_1-s1")
	for i := 0; i < b.N; i++ {
		require.NoError(b, Check(context.Background(), c))
	}
}
