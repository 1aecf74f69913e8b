package post

import (
	"context"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/golden"
	"github.com/filgroth/filgroth/internal/poseidon"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/filgroth/filgroth/synth/gadget/merkle"
	"github.com/filgroth/filgroth/synth/internal/circuittest"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// circuitShapes are the shapes of the golden circuits; window-32g is in the long test only.
func circuitShapes(t testing.TB) map[string]CircuitShape {
	m := map[string]CircuitShape{
		"fallback_test_8_0_0_sectors3": {vanilla.TreeShape{Base: 8}, 64, 3, 5},
		"fallback_test_8_0_0_sectors2": {vanilla.TreeShape{Base: 8}, 64, 2, 5},
		"fallback_test_8_4_0_sectors3": {vanilla.TreeShape{Base: 8, Sub: 4}, 256, 3, 5},
		"fallback_test_8_4_2_sectors3": {vanilla.TreeShape{Base: 8, Sub: 4, Top: 2}, 512, 3, 5},
	}
	for name, size := range map[string]vanilla.SectorSize{"2k": vanilla.Size2KiB, "4k": vanilla.Size4KiB, "16k": vanilla.Size16KiB,
		"32k": vanilla.Size32KiB, "8m": vanilla.Size8MiB, "512m": vanilla.Size512MiB, "32g": vanilla.Size32GiB} {
		var err error
		m["winning-"+name], err = WinningShape(size)
		require.NoError(t, err)
		m["window-"+name], err = WindowShape(size)
		require.NoError(t, err)
	}
	return m
}

// TestCircuitGolden compares every golden circuit but the largest with the deployed stack: counts, rows, densities.
func TestCircuitGolden(t *testing.T) {
	shapes := circuitShapes(t)
	refs := circuittest.Load(t, "testdata/circuits.json.gz")
	require.Len(t, refs, len(shapes))
	tDigest := map[string]string{
		"winning-2k": "ce8079a9875ac8fafc46902e0e2368fa997e7f2ffb2065d2666ef92bc3ca2f67",
		"window-2k":  "14279e1c38053fa35eab6f56dbf1c5ef337b533f2c42fd3d7b4e7a116796b331",
	}
	for name, shape := range shapes {
		if name == "window-32g" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := circuittest.Check(t, refs[name], &Circuit{Shape: shape})
			if d, ok := tDigest[name]; ok {
				require.Equal(t, d, circuittest.TDigest(t, s))
			}
		})
	}
}

// TestCircuitCounts has the specified counts of one circuit sector, and of whole partitions of the two large sizes.
func TestCircuitCounts(t *testing.T) {
	for _, c := range []struct {
		size                        vanilla.SectorSize
		sectors, challenges         int
		rows, aux, inputs, wantRows int
		tDigest                     string
	}{
		{size: vanilla.Size32GiB, sectors: 1, challenges: 10, rows: 53333, aux: 54024, inputs: 11,
			tDigest: "968589037c1d354c4343a4aa9420877d57795335b069bc024547067884795960"},
		{size: vanilla.Size64GiB, sectors: 1, challenges: 1, rows: 5929, aux: 6000, inputs: 2},
		{size: vanilla.Size32GiB, sectors: 2349, challenges: 10, rows: 53333, aux: 54024, inputs: 11, wantRows: 125279217},
		{size: vanilla.Size64GiB, sectors: 2300, challenges: 10, rows: 56473, aux: 57174, inputs: 11, wantRows: 129887900},
	} {
		tree, _ := c.size.Tree()
		shape := CircuitShape{Tree: tree, Nodes: c.size.Nodes(), Sectors: c.sectors, Challenges: c.challenges}
		s, err := synth.Compile(context.Background(), &Circuit{Shape: shape})
		require.NoError(t, err)
		require.Equal(t, [3]int{1 + c.sectors*c.inputs, c.sectors * c.aux, c.sectors * c.rows}, [3]int{s.Inputs(), s.Aux(), s.Rows()})
		if c.wantRows != 0 {
			require.Equal(t, c.wantRows, s.Rows())
			window, err := WindowShape(c.size)
			require.NoError(t, err)
			require.Equal(t, window, shape)
		}
		if c.tDigest != "" {
			require.Equal(t, c.tDigest, circuittest.TDigest(t, s))
		}
	}
}

// inputsFor makes true inputs: trees whose nodes beside the paths are arbitrary.
func inputsFor(t testing.TB, s CircuitShape) *CircuitInputs {
	arities, err := s.Tree.Levels(s.Nodes)
	require.NoError(t, err)
	in := &CircuitInputs{Sectors: make([]SectorInputs, s.Sectors)}
	for i := range in.Sectors {
		sec := &in.Sectors[i]
		sec.Leaves = make([]LeafInputs, s.Challenges)
		// all challenges are the same leaf: one path makes the tree
		l := LeafInputs{Leaf: golden.X(i)}
		cur := l.Leaf
		for h, k := range arities {
			lv := merkle.Level{Index: (i + 3*h) % k}
			row := make([]fr.Element, 0, k)
			for j := 0; j < k; j++ {
				if j == lv.Index {
					row = append(row, cur)
					continue
				}
				row = append(row, golden.X(100*h+j))
				lv.Siblings = append(lv.Siblings, golden.X(100*h+j))
			}
			cur = poseidon.Sum(row)
			l.Path = append(l.Path, lv)
		}
		sec.CommRLast, sec.CommC = cur, golden.X(1000+i)
		sec.CommR = poseidon.Sum2(&sec.CommC, &sec.CommRLast)
		for n := range sec.Leaves {
			sec.Leaves[n] = l
		}
	}
	return in
}

// TestCircuitModes: assign and direct mode agree and satisfy the system, for every tree shape; public inputs are comm_r and leaf
// numbers of each sector in order.
func TestCircuitModes(t *testing.T) {
	for _, name := range []string{"fallback_test_8_4_2_sectors3", "window-2k", "window-4k", "window-16k"} {
		shape := circuitShapes(t)[name]
		c := &Circuit{Shape: shape, Inputs: inputsFor(t, shape)}
		s, err := synth.Compile(context.Background(), &Circuit{Shape: shape})
		require.NoError(t, err)
		a := gadgettest.Assign(t, s, c)
		d, err := synth.DirectSynthesize(context.Background(), c, s, synth.DirectConfig{})
		require.NoError(t, err)
		gadgettest.CheckDirect(t, s, a, d)
		require.NoError(t, d.Close())
		var want []fr.Element
		for _, sec := range c.Inputs.Sectors {
			want = append(want, sec.CommR)
			for _, l := range sec.Leaves {
				want = append(want, fr.NewElement(l.Path.LeafIndex()))
			}
		}
		require.Equal(t, want, a.Public())
	}
}

// TestCircuitRejects: wrong values make an assignment that does not satisfy the system.
func TestCircuitRejects(t *testing.T) {
	shape := circuitShapes(t)["fallback_test_8_4_2_sectors3"]
	s, err := synth.Compile(context.Background(), &Circuit{Shape: shape})
	require.NoError(t, err)
	for what, change := range map[string]func(in *SectorInputs){
		"comm_r":      func(in *SectorInputs) { in.CommR.Double(&in.CommR) },
		"comm_c":      func(in *SectorInputs) { in.CommC.Double(&in.CommC) },
		"comm_r_last": func(in *SectorInputs) { in.CommRLast.Double(&in.CommRLast) },
		"leaf":        func(in *SectorInputs) { in.Leaves[4].Leaf.Double(&in.Leaves[4].Leaf) },
		"sibling": func(in *SectorInputs) {
			p := in.Leaves[4].Path[0].Siblings
			p[3].Double(&p[3])
		},
		"position": func(in *SectorInputs) { in.Leaves[4].Path[2].Index ^= 1 },
	} {
		in := inputsFor(t, shape)
		change(&in.Sectors[2])
		a, err := synth.AssignWitness(context.Background(), &Circuit{Shape: shape, Inputs: in}, s, synth.AssignConfig{})
		require.NoError(t, err)
		var u *synth.UnsatisfiedError
		require.ErrorAs(t, s.Satisfied(context.Background(), a, 0), &u, what)
		require.NoError(t, a.Close())
	}
}

// TestCircuitInputsFit: inputs of another shape are an error that names the place, not a panic.
func TestCircuitInputsFit(t *testing.T) {
	shape := circuitShapes(t)["fallback_test_8_4_2_sectors3"]
	s, err := synth.Compile(context.Background(), &Circuit{Shape: shape})
	require.NoError(t, err)
	for want, change := range map[string]func(in *CircuitInputs){
		"2 sectors":        func(in *CircuitInputs) { in.Sectors = in.Sectors[:2] },
		"sector 1: 4":      func(in *CircuitInputs) { in.Sectors[1].Leaves = in.Sectors[1].Leaves[1:] },
		"sector 2: leaf 3": func(in *CircuitInputs) { in.Sectors[2].Leaves[3].Path = nil },
	} {
		in := inputsFor(t, shape)
		change(in)
		_, err := synth.AssignWitness(context.Background(), &Circuit{Shape: shape, Inputs: in}, s, synth.AssignConfig{})
		require.ErrorIs(t, err, ErrCircuitInputs)
		require.ErrorContains(t, err, want)
	}
	for _, bad := range []CircuitShape{{Tree: vanilla.TreeShape{Base: 8}, Nodes: 63}, {Tree: vanilla.TreeShape{Base: 8}, Nodes: 64, Sectors: -1},
		{Tree: vanilla.TreeShape{Base: 8}, Nodes: 64, Challenges: -1}} {
		_, err = synth.Compile(context.Background(), &Circuit{Shape: bad})
		require.ErrorIs(t, err, ErrCircuitShape)
	}
	_, err = WinningShape(3 << 10)
	require.ErrorIs(t, err, ErrCircuitShape)
	_, err = WindowShape(3 << 10)
	require.ErrorIs(t, err, ErrCircuitShape)
}

func TestCircuitCancelled(t *testing.T) {
	shape := circuitShapes(t)["window-32g"]
	ctx, cancel := context.WithCancel(context.Background())
	s, err := synth.Compile(ctx, &Circuit{Shape: shape})
	require.NoError(t, err)
	cancel()
	_, err = synth.AssignWitness(ctx, &Circuit{Shape: shape}, s, synth.AssignConfig{})
	require.ErrorIs(t, err, context.Canceled)
}

// BenchmarkAssign makes witnesses of blank partitions; the work does not depend on the values.
func BenchmarkAssign(b *testing.B) {
	for _, name := range []string{"winning-2k", "winning-32g", "window-2k", "window-32g"} {
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

// TestCircuitWitness fills circuits from the golden vanilla proofs: each is satisfied, its public inputs are those that the public
// part gives, and witness and inputs are those of the deployed stack.
func TestCircuitWitness(t *testing.T) {
	refs := circuittest.Load(t, "testdata/witnesses.json.gz")
	require.Len(t, refs, len(goldenNames))
	for _, name := range goldenNames {
		_, public, proofs := goldenProofs(t, name)
		parts, err := Assemble(public, proofs)
		require.NoError(t, err)
		c, err := parts[0].Circuit()
		require.NoError(t, err)
		s, err := synth.Compile(context.Background(), &Circuit{Shape: c.Shape})
		require.NoError(t, err)
		a := circuittest.CheckWitness(t, refs[name+".partition-0"], s, c)
		in, err := public.Inputs(0)
		require.NoError(t, err)
		require.Equal(t, in, a.Public())
	}
}

// TestCircuitPadding: a short partition is satisfied and has the public inputs of its last sector repeated.
func TestCircuitPadding(t *testing.T) {
	_, public, proofs := goldenProofs(t, "window")
	public.Sectors, proofs = public.Sectors[:1], proofs[:1]
	parts, err := Assemble(public, proofs)
	require.NoError(t, err)
	c, err := parts[0].Circuit()
	require.NoError(t, err)
	s, err := synth.Compile(context.Background(), &Circuit{Shape: c.Shape})
	require.NoError(t, err)
	a := gadgettest.Assign(t, s, c)
	in, err := public.Inputs(0)
	require.NoError(t, err)
	require.Equal(t, in, a.Public())
}

// TestCircuitConversion: a value that is not canonical is refused with the path of the field.
func TestCircuitConversion(t *testing.T) {
	for want, change := range map[string]func(p *Partition){
		"sectors[1].comm_r:":                                     func(p *Partition) { p.Sectors[1].Sector.CommR[31] = 0xff },
		"sectors[0].comm_c:":                                     func(p *Partition) { p.Sectors[0].CommC[31] = 0xff },
		"sectors[0].inclusion_proofs[9].leaf:":                   func(p *Partition) { p.Sectors[0].Inclusion[9].Leaf[31] = 0xff },
		"sectors[1].inclusion_proofs[2].path[1].hashes[6]: is n": func(p *Partition) { p.Sectors[1].Inclusion[2].Base[1].Hashes[6][31] = 0xff },
		"sectors[1].inclusion_proofs[0].path[0].index: is 8":     func(p *Partition) { p.Sectors[1].Inclusion[0].Base[0].Index = 8 },
	} {
		_, public, proofs := goldenProofs(t, "window")
		parts, err := Assemble(public, proofs)
		require.NoError(t, err)
		change(parts[0])
		_, err = parts[0].Circuit()
		var f *vanilla.FieldError
		require.ErrorAs(t, err, &f)
		require.ErrorContains(t, err, want)
	}
}
