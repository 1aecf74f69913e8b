package porep

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/filgroth/filgroth/synth/gadget/merkle"
	"github.com/filgroth/filgroth/synth/internal/circuittest"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// circuitShapes are the shapes of the golden circuits; porep-32g is in the long test only.
func circuitShapes(t testing.TB) map[string]Shape {
	m := map[string]Shape{
		"porep_test_2_0_0":          {8, vanilla.TreeShape{Base: 2}, 2, 1},
		"porep_test_8_0_0":          {8, vanilla.TreeShape{Base: 8}, 2, 1},
		"porep_test_8_4_0":          {32, vanilla.TreeShape{Base: 8, Sub: 4}, 2, 1},
		"porep_test_8_4_2":          {64, vanilla.TreeShape{Base: 8, Sub: 4, Top: 2}, 2, 1},
		"porep_test_8_0_0_layers11": {8, vanilla.TreeShape{Base: 8}, 11, 1},
	}
	for name, size := range map[string]vanilla.SectorSize{"porep-2k": vanilla.Size2KiB, "porep-4k": vanilla.Size4KiB,
		"porep-16k": vanilla.Size16KiB, "porep-32k": vanilla.Size32KiB, "porep-8m": vanilla.Size8MiB, "porep-512m": vanilla.Size512MiB,
		"porep-32g": vanilla.Size32GiB} {
		c, err := SizeConfig(size, vanilla.Interactive, vanilla.V1_1_0)
		require.NoError(t, err)
		m[name] = c.Shape
	}
	return m
}

// TestCircuitGolden compares every golden circuit but the largest with the deployed stack: counts, rows, densities.
func TestCircuitGolden(t *testing.T) {
	shapes := circuitShapes(t)
	refs := circuittest.Load(t, "testdata/circuits.json.gz")
	require.Len(t, refs, len(shapes))
	tDigest := map[string]string{
		"porep_test_8_0_0": "b9e22ee377bc73c4e08f679252c4f87948f5812be8c95358a6bf87a7279a785f",
		"porep-2k":         "2c120b1125bd531d5a62b11932b2ae0e0cb47f455cea582994f97534e296bb42",
	}
	for name, shape := range shapes {
		if name == "porep-32g" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := circuittest.Check(t, refs[name], &Circuit{Shape: shape})
			require.Equal(t, 1+shape.InputCount(), s.Inputs())
			if d, ok := tDigest[name]; ok {
				require.Equal(t, d, circuittest.TDigest(t, s))
			}
		})
	}
}

// TestCircuitLargeCounts compiles the two production shapes of 32 and 64 GiB: their counts, and the size of the compiled form.
func TestCircuitLargeCounts(t *testing.T) {
	for _, c := range []struct {
		size      vanilla.SectorSize
		aux, rows int
	}{{vanilla.Size32GiB, 130169893, 130278541}, {vanilla.Size64GiB, 131076643, 131185849}} {
		cfg, err := SizeConfig(c.size, vanilla.Interactive, vanilla.V1_1_0)
		require.NoError(t, err)
		s, err := synth.Compile(context.Background(), &Circuit{Shape: cfg.Shape})
		require.NoError(t, err)
		require.Equal(t, [3]int{328, c.aux, c.rows}, [3]int{s.Inputs(), s.Aux(), s.Rows()}, "%v", c.size)
		require.Less(t, s.Bytes(), int64(200<<20), "%v", c.size)
	}
}

// TestCircuitWitness fills circuits from all golden C1 files: each is satisfied, its public inputs are those that the public part
// gives, and witness and inputs are those of the deployed stack.
func TestCircuitWitness(t *testing.T) {
	refs := circuittest.Load(t, "testdata/witnesses.json.gz")
	systems := map[Shape]*synth.System{}
	done := 0
	for _, kind := range []string{"2k-v1-s1", "2k-v1_1-s1", "2k-v1_1-s2", "2k-synth-s1", "2k-ni-s1", "8m-v1_1-s1"} {
		c1 := loadC1(t, kind)
		s := systems[c1.Config.Shape]
		if s == nil {
			var err error
			s, err = synth.Compile(context.Background(), &Circuit{Shape: c1.Config.Shape})
			require.NoError(t, err)
			systems[c1.Config.Shape] = s
		}
		for k := range c1.Proofs {
			c, err := c1.Circuit(k)
			require.NoError(t, err)
			r := refs[fmt.Sprintf("%s.partition-%d", kind, k)]
			require.NotNil(t, r)
			a := circuittest.CheckWitness(t, r, s, c)
			public, err := c1.Public().Inputs(k)
			require.NoError(t, err)
			require.Equal(t, public, a.Public())
			done++
		}
	}
	require.Equal(t, len(refs), done)
}

// TestCircuitDirect: Direct mode gives the same witness and satisfied rows.
func TestCircuitDirect(t *testing.T) {
	c, err := loadC1(t, "2k-v1_1-s1").Circuit(0)
	require.NoError(t, err)
	s, err := synth.Compile(context.Background(), &Circuit{Shape: c.Shape})
	require.NoError(t, err)
	d, err := synth.DirectSynthesize(context.Background(), c, s, synth.DirectConfig{})
	require.NoError(t, err)
	defer d.Close()
	gadgettest.CheckDirect(t, s, gadgettest.Assign(t, s, c), d)
}

// TestCircuitRejects: wrong values make an assignment that does not satisfy the system, whichever value it is.
func TestCircuitRejects(t *testing.T) {
	c1 := loadC1(t, "2k-v1_1-s1")
	s, err := synth.Compile(context.Background(), &Circuit{Shape: c1.Config.Shape})
	require.NoError(t, err)
	for what, change := range map[string]func(in *CircuitInputs){
		"replica id":     func(in *CircuitInputs) { in.ReplicaID.Double(&in.ReplicaID) },
		"comm_d":         func(in *CircuitInputs) { in.CommD.Double(&in.CommD) },
		"comm_r":         func(in *CircuitInputs) { in.CommR.Double(&in.CommR) },
		"comm_r_last":    func(in *CircuitInputs) { in.CommRLast.Double(&in.CommRLast) },
		"comm_c":         func(in *CircuitInputs) { in.CommC.Double(&in.CommC) },
		"challenge":      func(in *CircuitInputs) { in.Challenges[1].Challenge++ },
		"leaf":           func(in *CircuitInputs) { in.Challenges[1].Leaf.Double(&in.Challenges[1].Leaf) },
		"DRG row":        func(in *CircuitInputs) { r := in.Challenges[0].Parents[2].Rows; r[0].Double(&r[0]) },
		"expander row":   func(in *CircuitInputs) { r := in.Challenges[0].Parents[9].Rows; r[1].Double(&r[1]) },
		"tree D index":   func(in *CircuitInputs) { in.Challenges[0].PathD[3].Index ^= 1 },
		"tree C sibling": func(in *CircuitInputs) { p := in.Challenges[0].PathC[1].Siblings; p[6].Double(&p[6]) },
		"tree R sibling": func(in *CircuitInputs) { p := in.Challenges[1].PathRLast[0].Siblings; p[0].Double(&p[0]) },
		"parent's path":  func(in *CircuitInputs) { p := in.Challenges[1].Parents[13].Path[0].Siblings; p[0].Double(&p[0]) },
	} {
		c, err := c1.Circuit(0)
		require.NoError(t, err)
		change(c.Inputs)
		a, err := synth.AssignWitness(context.Background(), c, s, synth.AssignConfig{})
		require.NoError(t, err, what)
		var u *synth.UnsatisfiedError
		require.ErrorAs(t, s.Satisfied(context.Background(), a, 0), &u, what)
		require.NoError(t, a.Close())
	}
}

// TestCircuitInputsFit: inputs of another shape are an error that names the place, not a panic.
func TestCircuitInputsFit(t *testing.T) {
	c1 := loadC1(t, "2k-v1_1-s1")
	s, err := synth.Compile(context.Background(), &Circuit{Shape: c1.Config.Shape})
	require.NoError(t, err)
	for want, change := range map[string]func(in *CircuitInputs){
		"1 challenges":                func(in *CircuitInputs) { in.Challenges = in.Challenges[:1] },
		"challenge 1: tree D path":    func(in *CircuitInputs) { in.Challenges[1].PathD = nil },
		"challenge 0: tree C path":    func(in *CircuitInputs) { in.Challenges[0].PathC = in.Challenges[0].PathC[:1] },
		"challenge 0: tree R-last":    func(in *CircuitInputs) { in.Challenges[0].PathRLast[0].Index = 8 },
		"challenge 1: parent 3: 1 ro": func(in *CircuitInputs) { in.Challenges[1].Parents[3].Rows = make([]fr.Element, 1) },
		"challenge 1: parent 13: ":    func(in *CircuitInputs) { in.Challenges[1].Parents[13].Path = merkle.Path{{}} },
	} {
		c, err := c1.Circuit(0)
		require.NoError(t, err)
		change(c.Inputs)
		_, err = synth.AssignWitness(context.Background(), c, s, synth.AssignConfig{})
		require.ErrorIs(t, err, ErrCircuitInputs)
		require.ErrorContains(t, err, want)
	}
	for _, shape := range []Shape{{}, {Nodes: 7, Tree: vanilla.TreeShape{Base: 8}, Layers: 2}, {Nodes: 64, Tree: vanilla.TreeShape{Base: 8}, Layers: 3},
		{Nodes: 64, Tree: vanilla.TreeShape{Base: 8}, Layers: 2, Challenges: -1}} {
		_, err := synth.Compile(context.Background(), &Circuit{Shape: shape})
		require.ErrorIs(t, err, ErrCircuitShape)
	}
}

// TestCircuitConversion: a C1 that cannot be converted is refused with the path of the field.
func TestCircuitConversion(t *testing.T) {
	for want, change := range map[string]func(c *C1){
		"vanilla_proofs[0].comm_d":                    func(c *C1) { c.CommD[31] = 0xff },
		"[1].comm_r_last_proof.root":                  func(c *C1) { c.Proofs[0][1].CommRLast.Root[0] ^= 1 },
		"drg_parents[5].inclusion_proof.root":         func(c *C1) { c.Proofs[0][0].DRGParents[5].Inclusion.Root[0] ^= 1 },
		"exp_parents[7].column.rows[1]":               func(c *C1) { c.Proofs[0][0].ExpParents[7].Rows[1][31] = 0xff },
		"[1].comm_d_proofs.path[2].hashes[0]":         func(c *C1) { c.Proofs[0][1].CommD.Base[2].Hashes[0][31] = 0xff },
		"c_x.inclusion_proof.path[0].index":           func(c *C1) { c.Proofs[0][0].Column.Inclusion.Base[0].Index = 8 },
		"vanilla_proofs[0][0].labeling_proofs: is em": func(c *C1) { c.Proofs[0][0].Labels = nil },
	} {
		c1 := loadC1(t, "2k-v1_1-s1")
		change(c1)
		_, err := c1.Circuit(0)
		var f *vanilla.FieldError
		require.ErrorAs(t, err, &f)
		require.True(t, strings.Contains(err.Error(), want), "%v does not contain %s", err, want)
	}
	c1 := loadC1(t, "2k-v1_1-s1")
	for _, k := range []int{-1, 1} {
		_, err := c1.Circuit(k)
		require.Error(t, err)
	}
}

// A context that ends at any time, before, during or after, ends the work, and nothing is kept.
func TestCircuitCancelled(t *testing.T) {
	cfg, err := SizeConfig(vanilla.Size2KiB, vanilla.Interactive, vanilla.V1_1_0)
	require.NoError(t, err)
	c := &Circuit{Shape: cfg.Shape}
	s, err := synth.Compile(context.Background(), c)
	require.NoError(t, err)
	before := pinning.Live()
	ended := 0
	for d := time.Duration(0); d < 200*time.Millisecond; d = 2*d + 50*time.Microsecond {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		a, err := synth.AssignWitness(ctx, c, s, synth.AssignConfig{})
		if err == nil {
			require.NoError(t, a.Close())
		} else {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			ended++
		}
		if _, err = synth.Compile(ctx, c); err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		cancel()
		require.Equal(t, before, pinning.Live())
	}
	require.NotZero(t, ended)
}

// BenchmarkAssign makes witnesses of blank partitions; the work does not depend on the values.
func BenchmarkAssign(b *testing.B) {
	for _, name := range []string{"porep-2k", "porep-8m", "porep-512m", "porep-32g"} {
		b.Run("shape="+name, func(b *testing.B) {
			c := &Circuit{Shape: circuitShapes(b)[name]}
			s, err := synth.Compile(context.Background(), c)
			require.NoError(b, err)
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				a, err := synth.AssignWitness(context.Background(), c, s, synth.AssignConfig{Threads: 1})
				require.NoError(b, err)
				b.ReportMetric(float64(len(a.Bits)*8+len(a.Fields)*32), "witness-bytes")
				require.NoError(b, a.Close())
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, name := range []string{"porep-2k", "porep-32g"} {
		b.Run("shape="+name, func(b *testing.B) {
			for i := 0; i < b.N; i++ {
				s, err := synth.Compile(context.Background(), &Circuit{Shape: circuitShapes(b)[name]})
				require.NoError(b, err)
				b.ReportMetric(float64(s.Bytes()), "system-bytes")
			}
		})
	}
}

func loadC1(t testing.TB, kind string) *C1 {
	c1, _ := goldenC1(t, kind)
	return c1
}
