package update

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

// TestCircuitWitness fills the circuit from the golden vanilla proof: it is satisfied, its public inputs are those that the public
// part gives, witness and inputs are those of the deployed stack; direct mode agrees.
func TestCircuitWitness(t *testing.T) {
	refs := circuittest.Load(t, "testdata/witnesses.json.gz")
	require.Len(t, refs, 1)
	public, p, _ := goldenUpdate(t)
	c, err := p.Circuit(public, 0)
	require.NoError(t, err)
	s, err := synth.Compile(context.Background(), &Circuit{Shape: c.Shape})
	require.NoError(t, err)
	a := circuittest.CheckWitness(t, refs["update.partition-0"], s, c)
	in, err := public.Inputs(0)
	require.NoError(t, err)
	require.Equal(t, in, a.Public())
	d, err := synth.DirectSynthesize(context.Background(), c, s, synth.DirectConfig{})
	require.NoError(t, err)
	defer d.Close()
	gadgettest.CheckDirect(t, s, a, d)
}

// TestCircuitRejects: wrong values make an assignment that does not satisfy the system.
func TestCircuitRejects(t *testing.T) {
	public, p, _ := goldenUpdate(t)
	s, err := synth.Compile(context.Background(), &Circuit{Shape: public.Shape})
	require.NoError(t, err)
	for what, change := range map[string]func(in *CircuitInputs){
		"comm_r_old":  func(in *CircuitInputs) { in.CommROld.Double(&in.CommROld) },
		"comm_d_new":  func(in *CircuitInputs) { in.CommDNew.Double(&in.CommDNew) },
		"comm_r_new":  func(in *CircuitInputs) { in.CommRNew.Double(&in.CommRNew) },
		"comm_c":      func(in *CircuitInputs) { in.CommC.Double(&in.CommC) },
		"root_r_old":  func(in *CircuitInputs) { in.RootROld.Double(&in.RootROld) },
		"root_r_new":  func(in *CircuitInputs) { in.RootRNew.Double(&in.RootRNew) },
		"apex leaf":   func(in *CircuitInputs) { in.ApexLeaves[5].Double(&in.ApexLeaves[5]) },
		"old leaf":    func(in *CircuitInputs) { c := &in.Challenges[9]; c.LeafROld.Double(&c.LeafROld) },
		"new data":    func(in *CircuitInputs) { c := &in.Challenges[9]; c.LeafDNew.Double(&c.LeafDNew) },
		"old sibling": func(in *CircuitInputs) { x := in.Challenges[3].PathROld[0].Siblings; x[0].Double(&x[0]) },
		"new sibling": func(in *CircuitInputs) { x := in.Challenges[3].PathRNew[1].Siblings; x[6].Double(&x[6]) },
		"data sibling": func(in *CircuitInputs) {
			x := in.Challenges[3].PathDNew[1].Siblings
			x[0].Double(&x[0])
		},
	} {
		c, err := p.Circuit(public, 0)
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
	public, p, _ := goldenUpdate(t)
	s, err := synth.Compile(context.Background(), &Circuit{Shape: public.Shape})
	require.NoError(t, err)
	for want, change := range map[string]func(in *CircuitInputs){
		"partition 1 of 1":       func(in *CircuitInputs) { in.Partition = 1 },
		"h selector 6":           func(in *CircuitInputs) { in.HSelect = 6 },
		"h selector -1":          func(in *CircuitInputs) { in.HSelect = -1 },
		"7 apex leaves":          func(in *CircuitInputs) { in.ApexLeaves = in.ApexLeaves[1:] },
		"1 siblings above":       func(in *CircuitInputs) { in.ApexPath = make([]fr.Element, 1) },
		"9 challenges":           func(in *CircuitInputs) { in.Challenges = in.Challenges[1:] },
		"challenge 2: old tree":  func(in *CircuitInputs) { in.Challenges[2].PathROld = nil },
		"challenge 3: new tree":  func(in *CircuitInputs) { in.Challenges[3].PathRNew = merkle.Path{{}} },
		"challenge 4: tree D pa": func(in *CircuitInputs) { in.Challenges[4].PathDNew[1].Siblings = nil },
	} {
		c, err := p.Circuit(public, 0)
		require.NoError(t, err)
		change(c.Inputs)
		_, err = synth.AssignWitness(context.Background(), c, s, synth.AssignConfig{})
		require.ErrorIs(t, err, ErrCircuitInputs)
		require.ErrorContains(t, err, want)
	}
}

// TestCircuitConversion: a vanilla proof that cannot be converted is refused with the path of the field.
func TestCircuitConversion(t *testing.T) {
	for want, change := range map[string]func(public *Public, p *PartitionProof){
		"comm_d_new: is not":                          func(public *Public, _ *PartitionProof) { public.CommDNew[31] = 0xff },
		"comm_c: is not":                              func(_ *Public, p *PartitionProof) { p.CommC[31] = 0xff },
		"apex_leafs[2]: is not":                       func(_ *Public, p *PartitionProof) { p.Apex[2][31] = 0xff },
		"apex_leafs: has 7":                           func(_ *Public, p *PartitionProof) { p.Apex = p.Apex[1:] },
		"challenge_proofs: has 0":                     func(_ *Public, p *PartitionProof) { p.Challenges = nil },
		"challenge_proofs[4].proof_r_old.root":        func(_ *Public, p *PartitionProof) { p.Challenges[4].ROld.Root[0] ^= 1 },
		"challenge_proofs[4].proof_r_new.root":        func(_ *Public, p *PartitionProof) { p.Challenges[4].RNew.Root[0] ^= 1 },
		"challenge_proofs[1].proof_d_new.data.Single": func(_ *Public, p *PartitionProof) { p.Challenges[1].DNew.Leaf[31] = 0xff },
		"challenge_proofs[1].proof_d_new":             func(_ *Public, p *PartitionProof) { p.Challenges[1].DNew.Base = p.Challenges[1].DNew.Base[1:] },
		"challenge_proofs[0].proof_r_new.path[1].ha":  func(_ *Public, p *PartitionProof) { p.Challenges[0].RNew.Base[1].Hashes[3][31] = 0xff },
	} {
		public, p, _ := goldenUpdate(t)
		change(public, p)
		_, err := p.Circuit(public, 0)
		var f *vanilla.FieldError
		require.ErrorAs(t, err, &f, want)
		require.ErrorContains(t, err, want)
	}
	public, p, _ := goldenUpdate(t)
	_, err := p.Circuit(public, 1)
	require.Error(t, err)
	public.Shape, err = PoseidonShapeOf(vanilla.Size2KiB)
	require.NoError(t, err)
	_, err = p.Circuit(public, 0)
	require.ErrorIs(t, err, ErrPoseidonVariant)
}

// TestCircuitPoseidonVariant makes a true witness of the variant: all leaves of each tree are equal, so one path serves every
// challenge.
func TestCircuitPoseidonVariant(t *testing.T) {
	for _, size := range []vanilla.SectorSize{vanilla.Size2KiB, vanilla.Size4KiB, vanilla.Size32KiB} {
		shape, err := PoseidonShapeOf(size)
		require.NoError(t, err)
		arities, err := shape.Tree.Levels(shape.Nodes)
		require.NoError(t, err)
		tree := func(leaf fr.Element) (merkle.Path, fr.Element) {
			var p merkle.Path
			for _, k := range arities {
				row := make([]fr.Element, k)
				for i := range row {
					row[i] = leaf
				}
				p = append(p, merkle.Level{Siblings: row[1:]})
				leaf = poseidon.Sum(row)
			}
			return p, leaf
		}
		in := &CircuitInputs{CommC: golden.X(0)}
		// with a data leaf of zero the new leaf is the old one, whatever rho is
		var data fr.Element
		old := golden.X(1)
		var pathOld, pathD merkle.Path
		pathOld, in.RootROld = tree(old)
		pathD, in.CommDNew = tree(data)
		in.CommROld = poseidon.Sum2(&in.CommC, &in.RootROld)
		in.RootRNew, in.CommRNew = in.RootROld, in.CommROld
		for i := 0; i < shape.Challenges; i++ {
			in.Challenges = append(in.Challenges, ChallengeInputs{LeafROld: old, LeafDNew: data, PathROld: pathOld, PathRNew: pathOld, PathDNew: pathD})
		}
		s, err := synth.Compile(context.Background(), &Circuit{Shape: shape})
		require.NoError(t, err)
		a := gadgettest.Assign(t, s, &Circuit{Shape: shape, Inputs: in})
		require.Equal(t, []fr.Element{fr.NewElement(1), in.CommROld, in.CommDNew, in.CommRNew}, a.Public())
	}
}
