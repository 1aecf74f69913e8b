package update

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/insertion"
	"github.com/filgroth/filgroth/synth/gadget/merkle"
	"github.com/filgroth/filgroth/synth/gadget/multipack"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/filgroth/filgroth/synth/gadget/poseidon"
)

// digestBits is how many bits of a challenge digest are used.
const digestBits = 254

// challengeBits derives the bits of count challenges, bitsEach of them, least significant first, from as few digests of
// comm_r_new as hold them. Digest j of partition k hashes the index k*digests + j.
func challengeBits(b *synth.Builder, crn, part num.Num, partition uint64, count, bitsEach int) [][]boolean.Bool {
	perDigest := digestBits / bitsEach
	digests := (count + perDigest - 1) / perDigest
	out := make([][]boolean.Bool, 0, count)
	for j := 0; j < digests; j++ {
		index := num.Alloc(b, fr.NewElement(partition*uint64(digests)+uint64(j)))
		if b.WantRows() {
			sum := b.LC().Add(part.Var, fr.NewElement(uint64(digests)))
			if j > 0 {
				sum.AddConst(fr.NewElement(uint64(j)))
			}
			b.Enforce(sum, b.LC().AddVar(synth.One), index.LC(b))
		}
		digest := poseidon.HashTagged(b, poseidon.TagGen, crn, index)
		all := num.AllocatedNumToAllocatedBits(b, digest).Bools()
		for i := 0; i < perDigest && len(out) < count; i++ {
			out = append(out, all[i*bitsEach:(i+1)*bitsEach:(i+1)*bitsEach])
		}
	}
	return out
}

// highBits allocates the number that the highest challenge bits make, as many of them as the selected h says.
func highBits(b *synth.Builder, challenge, selector []boolean.Bool, hs []int) num.Num {
	var v fr.Element
	sum := b.LC()
	for m, h := range hs {
		p := multipack.PackBits(b, boolean.Of(b, challenge[len(challenge)-h:]))
		var z fr.Element
		if selector[m].Val {
			z = p.Val
		}
		zm := num.Alloc(b, z)
		if b.WantRows() {
			b.Enforce(p.LC(b), selector[m].LC(b), zm.LC(b))
			sum.AddVar(zm.Var)
		}
		v.Add(&v, &z)
	}
	ch := num.Alloc(b, v)
	b.Enforce(sum, b.LC().AddVar(synth.One), ch.LC(b))
	return ch
}

// labelNew allocates the new replica's leaf, old + data*rho.
func labelNew(b *synth.Builder, old, data, rho num.Num) num.Num {
	t := num.Mul(b, data, rho)
	return num.Add(b, old, t)
}

// challenge writes the part of one challenged leaf; c are all bits of its position.
func (s *instance) challenge(b *synth.Builder, c []boolean.Bool, in *ChallengeInputs) {
	high := highBits(b, c, s.hsel, s.shape.H[:])
	rho := poseidon.HashTagged(b, poseidon.TagGen, s.phi, high)
	lo := num.Alloc(b, in.LeafROld)
	ld := num.Alloc(b, in.LeafDNew)
	ln := labelNew(b, lo, ld, rho)
	merkle.InclusionAt(b, merkle.Poseidon, lo, c, allocPath(b, s.treeR, in.PathROld), s.ro)
	merkle.InclusionAt(b, merkle.Poseidon, ln, c, allocPath(b, s.treeR, in.PathRNew), s.rn)
	if s.shape.Poseidon {
		merkle.InclusionAt(b, merkle.Poseidon, ld, c, allocPath(b, s.pathD, in.PathDNew), s.cdn)
		return
	}
	low := len(s.pathD)
	al := insertion.Select(b, s.apex, c[low:low+s.apexBits])
	merkle.InclusionAt(b, merkle.SHA256, ld, c[:low], allocPath(b, s.pathD, in.PathDNew), al)
}

// allocPath allocates the siblings of a path level by level.
func allocPath(b *synth.Builder, arities []int, path merkle.Path) [][]num.Num {
	out := make([][]num.Num, len(arities))
	for i, k := range arities {
		out[i] = make([]num.Num, k-1)
		for j := range out[i] {
			var v fr.Element
			if path != nil {
				v = path[i].Siblings[j]
			}
			out[i][j] = num.Alloc(b, v)
		}
	}
	return out
}
