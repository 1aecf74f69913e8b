package merkle_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/golden"
	"github.com/filgroth/filgroth/internal/poseidon"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/filgroth/filgroth/synth/gadget/merkle"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/filgroth/filgroth/synth/internal/circuittest"
	"github.com/filgroth/filgroth/synth/internal/witness"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// inclusion is a stand-alone inclusion proof.
type inclusion struct {
	hash       merkle.Hash
	arities    []int
	leaf, root fr.Element
	path       merkle.Path
	private    bool
	allocated  bool // leaf and root before the gadget
}

func (c *inclusion) Synthesize(b *synth.Builder) error {
	leaf, root := merkle.Val(c.leaf), merkle.Val(c.root)
	if c.allocated {
		leaf = merkle.Var(num.Alloc(b, c.leaf))
		root = merkle.Var(num.Alloc(b, c.root))
	}
	merkle.Inclusion(b, c.hash, leaf, c.arities, c.path, root, c.private)
	return nil
}

// reference is what a golden inclusion proof carries as its output.
type reference struct {
	Challenge, Leaves uint64
	Proof             json.RawMessage `json:"merkle_proof"`
}

func load(t *testing.T, name string, shape vanilla.TreeShape) (*golden.Gadget, *inclusion) {
	g := gadgettest.Reference(t, name)
	var ref reference
	require.NoError(t, json.Unmarshal(g.Output, &ref))
	var p vanilla.MerkleProof
	require.NoError(t, vanilla.ReadJSON(ref.Proof, func(w vanilla.Walker) error { return p.Walk(w, shape, ref.Leaves) }))
	c := &inclusion{}
	var err error
	c.arities, err = shape.Levels(ref.Leaves)
	require.NoError(t, err)
	c.leaf, err = p.Leaf.Fr()
	require.NoError(t, err)
	c.root, err = p.Root.Fr()
	require.NoError(t, err)
	c.path, err = witness.Path(&p)
	require.NoError(t, err)
	require.NoError(t, c.path.Check(c.arities))
	require.Equal(t, ref.Challenge, c.path.LeafIndex())
	return g, c
}

func TestGolden(t *testing.T) {
	for _, c := range []struct {
		name    string
		shape   vanilla.TreeShape
		hash    merkle.Hash
		private bool
	}{
		{"por_2_0_0", vanilla.TreeShape{Base: 2}, merkle.Poseidon, false},
		{"por_4_0_0", vanilla.TreeShape{Base: 4}, merkle.Poseidon, false},
		{"por_8_0_0", vanilla.TreeShape{Base: 8}, merkle.Poseidon, false},
		{"por_8_2_0", vanilla.TreeShape{Base: 8, Sub: 2}, merkle.Poseidon, false},
		{"por_8_4_0", vanilla.TreeShape{Base: 8, Sub: 4}, merkle.Poseidon, false},
		{"por_8_4_2", vanilla.TreeShape{Base: 8, Sub: 4, Top: 2}, merkle.Poseidon, false},
		{"por_8_8_0", vanilla.TreeShape{Base: 8, Sub: 8}, merkle.Poseidon, false},
		{"por_8_0_0_private", vanilla.TreeShape{Base: 8}, merkle.Poseidon, true},
		{"por_sha256_2_0_0", vanilla.TreeShape{Base: 2}, merkle.SHA256, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, in := load(t, c.name, c.shape)
			in.hash, in.private = c.hash, c.private
			_, a := gadgettest.Check(t, g, in)
			want := fr.NewElement(in.path.LeafIndex())
			require.Equal(t, want, a.Inputs[1])
		})
	}
}

// TestSpecDigests: shapes with leaf and root allocated before, private.
func TestSpecDigests(t *testing.T) {
	for _, c := range []struct {
		shape           vanilla.TreeShape
		leaves          uint64
		hash            merkle.Hash
		aux, rows       int
		tDigest, rename string
	}{
		{vanilla.TreeShape{Base: 8}, 64, merkle.Poseidon, 1076, 1062, "6f0a4cd86c7bd675d36b73f71078a6633ba566b7d9f819834a91676ad3b88f9f", ""},
		{vanilla.TreeShape{Base: 8, Sub: 2}, 128, merkle.Poseidon, 1391, 1376, "87fe63767f86bfba8396dae739640839f63840a3a2ce56f8d37c48fbd091274c", ""},
		{vanilla.TreeShape{Base: 8, Sub: 8}, 512, merkle.Poseidon, 1613, 1592, "27c69758b2d3c1b24f3c34bd8dfa09e3d2a2a1429a4907c33893f7f5abc0047d", ""},
		{vanilla.TreeShape{Base: 8, Sub: 8, Top: 2}, 1024, merkle.Poseidon, 1928, 1906, "7c22550ee0e31da6dacea7c3093d847b86860d15df7ad76514d9edc828d18c06", ""},
		{vanilla.TreeShape{Base: 2}, 64, merkle.SHA256, 272012, 272294, "66f70c4f25f7aebe4bece8efb49b809404a865b86fce15c04a7aafa9c78e55ac", ""},
	} {
		arities, err := c.shape.Levels(c.leaves)
		require.NoError(t, err)
		s, err := synth.Compile(context.Background(), &inclusion{hash: c.hash, arities: arities, private: true, allocated: true})
		require.NoError(t, err)
		require.Equal(t, [3]int{2, c.aux, c.rows}, [3]int{s.Inputs(), s.Aux(), s.Rows()}, "%v", c.shape)
		require.Equal(t, c.tDigest, circuittest.TDigest(t, s), "%v", c.shape)
	}
}

func TestGoldenNodeHash(t *testing.T) {
	for _, name := range []string{"sha256_hash2_circuit", "sha256_multi_leaf_2"} {
		g := gadgettest.Reference(t, name)
		var out num.Num
		_, a := gadgettest.Check(t, g, gadgettest.Func(func(b *synth.Builder) error {
			out = merkle.SHA256.Node(b, []num.Num{num.Alloc(b, golden.X(0)), num.Alloc(b, golden.X(1))})
			return nil
		}))
		want, err := g.OutputString()
		require.NoError(t, err)
		require.Equal(t, want, vanilla.FromFr(out.Val).String())
		require.Equal(t, out.Val, a.Value(out.Var))
	}
}

// sparse makes the path of a leaf in a tree whose other nodes are X(0), X(1), ..., and its root.
func sparse(hash merkle.Hash, arities []int, leaf fr.Element, index uint64) (merkle.Path, fr.Element) {
	var p merkle.Path
	cur, n := leaf, 0
	for _, k := range arities {
		l := merkle.Level{Index: int(index % uint64(k))}
		index /= uint64(k)
		var row []fr.Element
		for i := 0; i < k; i++ {
			if i == l.Index {
				row = append(row, cur)
				continue
			}
			row = append(row, golden.X(n))
			l.Siblings = append(l.Siblings, golden.X(n))
			n++
		}
		p = append(p, l)
		if hash == merkle.SHA256 {
			x, y := vanilla.FromFr(row[0]), vanilla.FromFr(row[1])
			c := vanilla.SHA256Pair(&x, &y)
			cur = c.FrReduced()
		} else {
			cur = poseidon.Sum(row)
		}
	}
	return p, cur
}

// TestEveryShape proves leaves of trees of all deployed shapes, with both forms of the gadget; an altered sibling, leaf, root
// or position is noticed.
func TestEveryShape(t *testing.T) {
	ctx := context.Background()
	for _, shape := range []vanilla.TreeShape{{Base: 2}, {Base: 4}, {Base: 8}, {Base: 8, Sub: 2}, {Base: 8, Sub: 4}, {Base: 8, Sub: 8},
		{Base: 8, Sub: 4, Top: 2}, {Base: 8, Sub: 8, Top: 2}} {
		for _, hash := range []merkle.Hash{merkle.Poseidon, merkle.SHA256} {
			if hash == merkle.SHA256 && shape.Base != 2 {
				continue
			}
			leaves := uint64(shape.Base) * uint64(shape.Base) * uint64(max(1, shape.Sub)) * uint64(max(1, shape.Top))
			arities, err := shape.Levels(leaves)
			require.NoError(t, err)
			leaf := golden.X(99)
			index := leaves * 5 / 7
			path, root := sparse(hash, arities, leaf, index)
			require.Equal(t, index, path.LeafIndex())
			good := inclusion{hash: hash, arities: arities, leaf: leaf, root: root, path: path}
			s, err := synth.Compile(ctx, &inclusion{hash: hash, arities: arities})
			require.NoError(t, err)
			a := gadgettest.Assign(t, s, &good)
			require.Equal(t, []fr.Element{fr.NewElement(index), root}, a.Public())

			for what, change := range map[string]func(c *inclusion){
				"leaf": func(c *inclusion) { c.leaf = golden.X(98) },
				"root": func(c *inclusion) { c.root = golden.X(98) },
				"sibling": func(c *inclusion) {
					last(c.path).Siblings = append([]fr.Element{golden.X(98)}, last(c.path).Siblings[1:]...)
				},
				"position": func(c *inclusion) { last(c.path).Index = (last(c.path).Index + 1) % arities[len(arities)-1] },
			} {
				bad := good
				bad.path = append(merkle.Path(nil), path...)
				change(&bad)
				b, err := synth.AssignWitness(ctx, &bad, s, synth.AssignConfig{})
				require.NoError(t, err)
				var u *synth.UnsatisfiedError
				require.ErrorAs(t, s.Satisfied(ctx, b, 0), &u, "%v %v: altered %s", hash, shape, what)
				require.NoError(t, b.Close())
			}
			checkAt(t, &good, index)
		}
	}
}

func last(p merkle.Path) *merkle.Level { return &p[len(p)-1] }

// checkAt proves the same with position and siblings allocated before.
func checkAt(t *testing.T, c *inclusion, index uint64) {
	circuit := gadgettest.Func(func(b *synth.Builder) error {
		leaf, root := num.Alloc(b, c.leaf), num.Alloc(b, c.root)
		bits := boolean.AllocLE(b, []uint64{index}, 12).Bools()
		var sib [][]num.Num
		for _, l := range c.path {
			var row []num.Num
			for _, v := range l.Siblings {
				row = append(row, num.Alloc(b, v))
			}
			sib = append(sib, row)
		}
		merkle.InclusionAt(b, c.hash, leaf, bits, sib, root)
		return nil
	})
	s, err := synth.Compile(context.Background(), circuit)
	require.NoError(t, err)
	gadgettest.Assign(t, s, circuit)
	require.Equal(t, 1, s.Inputs())
}

func TestPathCheck(t *testing.T) {
	ok := merkle.Path{{Index: 1, Siblings: make([]fr.Element, 1)}, {Index: 7, Siblings: make([]fr.Element, 7)}}
	require.NoError(t, ok.Check([]int{2, 8}))
	require.Equal(t, uint64(15), ok.LeafIndex())
	require.ErrorIs(t, ok.Check([]int{2}), merkle.ErrPath)
	require.ErrorIs(t, ok.Check([]int{2, 4}), merkle.ErrPath)
	ok[0].Index = 2
	require.ErrorIs(t, ok.Check([]int{2, 8}), merkle.ErrPath)
	ok[0].Index = -1
	require.ErrorIs(t, ok.Check([]int{2, 8}), merkle.ErrPath)
	require.NoError(t, merkle.Path(nil).Check(nil))
}

func TestHashNames(t *testing.T) {
	require.Equal(t, "poseidon", merkle.Poseidon.String())
	require.Equal(t, "sha256", merkle.SHA256.String())
	require.Equal(t, "Hash(9)", merkle.Hash(9).String())
}
