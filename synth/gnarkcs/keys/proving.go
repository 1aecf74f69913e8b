package keys

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	gnark "github.com/consensys/gnark/backend/groth16/bls12-381"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/internal/curveio"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gnarkcs"
)

// ImportProvingKey makes the key of c's system from gnark's keys, which gnark must have made for c's source with its input
// rows (else ErrInputRows). The result is in memory outside of the Go heap; WriteFile saves it. That the key belongs to this
// circuit and not to another one of the same densities only a proof shows.
func ImportProvingKey(ctx context.Context, c *gnarkcs.Circuit, pk *gnark.ProvingKey, vk *gnark.VerifyingKey) (*groth16.ProvingKey, error) {
	x, err := importer(c, pk, vk)
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		bw := bufio.NewWriterSize(w, 1<<20)
		_ = w.CloseWithError(errors.Join(x.write(bw), bw.Flush())) // nil is io.EOF
	}()
	k, err := groth16.ReadProvingKey(ctx, r)
	_ = r.Close() // ends the writer where reading ended early
	<-done
	if err != nil {
		return nil, err
	}
	if err := k.CheckSystem(ctx, c.System()); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	d, err := c.System().Digest(ctx)
	if err != nil {
		return nil, errors.Join(err, k.Close())
	}
	k.SetR1CS(d)
	return k, nil
}

// imported is a checked gnark key on its way.
type imported struct {
	c  *gnarkcs.Circuit
	pk *gnark.ProvingKey
	vk *groth16.VerifyingKey
	l  []uint32 // positions in K of the points to take; A and B are taken whole
}

func importer(c *gnarkcs.Circuit, pk *gnark.ProvingKey, vk *gnark.VerifyingKey) (*imported, error) {
	if !c.HasInputRows() {
		return nil, ErrInputRows
	}
	x := &imported{c: c, pk: pk}
	var err error
	if x.vk, err = checkPair(c, pk, vk); err != nil {
		return nil, err
	}
	sys := c.System()
	if x.l, err = privates(c, pk); err != nil {
		return nil, err
	}
	all := make([]uint64, (sys.Inputs()+63)/64)
	for i := range all {
		all[i] = ^uint64(0)
	}
	if err = sameDensity(c, "InfinityA", pk.InfinityA, len(pk.G1.A), all, sys.ADensity()); err != nil {
		return nil, err
	}
	return x, checkB(c, pk)
}

func checkB(c *gnarkcs.Circuit, pk *gnark.ProvingKey) error {
	if len(pk.G2.B) != len(pk.G1.B) {
		return &KeyError{"G2.B", -1, fmt.Sprintf("%d points, G1.B has %d", len(pk.G2.B), len(pk.G1.B))}
	}
	return sameDensity(c, "InfinityB", pk.InfinityB, len(pk.G1.B), c.System().BInputDensity(), c.System().BDensity())
}

// checkPair checks what the two keys have in common, the domain and the lengths.
func checkPair(c *gnarkcs.Circuit, pk *gnark.ProvingKey, vk *gnark.VerifyingKey) (*groth16.VerifyingKey, error) {
	if len(pk.CommitmentKeys) != 0 {
		return nil, fmt.Errorf("%w: proving key with %d commitment keys", gnarkcs.ErrCommitment, len(pk.CommitmentKeys))
	}
	out, err := ImportVerifyingKey(vk)
	if err != nil {
		return nil, err
	}
	if pk.G1.Alpha != vk.G1.Alpha || pk.G1.Beta != vk.G1.Beta || pk.G1.Delta != vk.G1.Delta || pk.G2.Beta != vk.G2.Beta || pk.G2.Delta != vk.G2.Delta {
		return nil, &KeyError{"ProvingKey", -1, "alpha, beta or delta differ from those of the verifying key"}
	}
	if len(vk.G1.K) != c.System().Inputs() {
		return nil, &KeyError{"G1.K", -1, fmt.Sprintf("verifying key of %d public inputs, the circuit has %d", len(vk.G1.K), c.System().Inputs())}
	}
	d, err := ntt.NewDomain(uint64(c.Source().GetNbConstraints()))
	if err != nil {
		return nil, err
	}
	if root := d.Root(); pk.Domain.Cardinality != d.Size() || !pk.Domain.Generator.Equal(&root) {
		return nil, &KeyError{"Domain", -1, fmt.Sprintf("%d points or another generator, the circuit needs %d", pk.Domain.Cardinality, d.Size())}
	}
	if uint64(len(pk.G1.Z)) != d.Size()-1 {
		return nil, &KeyError{"G1.Z", -1, fmt.Sprintf("%d points, expected %d", len(pk.G1.Z), d.Size()-1)}
	}
	return out, nil
}

// privates are the positions in K of the wires that have a variable; the others must be at infinity.
func privates(c *gnarkcs.Circuit, pk *gnark.ProvingKey) ([]uint32, error) {
	in, n := c.System().Inputs(), c.System().Aux()
	if len(pk.G1.K) != c.Wires()-in {
		return nil, &KeyError{"G1.K", -1, fmt.Sprintf("%d points, the circuit has %d private wires", len(pk.G1.K), c.Wires()-in)}
	}
	at := make([]uint32, 0, n)
	for i := range pk.G1.K {
		if len(at) < n && c.Wire(synth.AuxVar(len(at))) == in+i {
			if pk.G1.K[i].IsInfinity() {
				return nil, &KeyError{"G1.K", i, "at infinity, though the wire occurs in the circuit"}
			}
			at = append(at, uint32(i))
		} else if !pk.G1.K[i].IsInfinity() {
			return nil, &KeyError{"G1.K", i, "a point of a wire that does not occur in the circuit"}
		}
	}
	return at, nil
}

// sameDensity checks that gnark left out of a query exactly the wires that the densities do not name: both then have the same
// points in the same order. A nil inputs leaves the public wires to gnark.
func sameDensity(c *gnarkcs.Circuit, name string, infinity []bool, points int, inputs, aux []uint64) error {
	if len(infinity) != c.Wires() {
		return &KeyError{name, -1, fmt.Sprintf("%d wires, the circuit has %d", len(infinity), c.Wires())}
	}
	in, n, next, count := c.System().Inputs(), c.System().Aux(), 0, 0
	for w, inf := range infinity {
		want := false
		if w < in {
			want = inputs == nil && !inf || inputs != nil && inputs[w/64]>>(w%64)&1 == 1
		} else if next < n && c.Wire(synth.AuxVar(next)) == w {
			want = aux[next/64]>>(next%64)&1 == 1
			next++
		}
		if want == inf {
			return &KeyError{name, w, fmt.Sprintf("infinity: %t, the circuit says %t (a key of another circuit?)", inf, !want)}
		}
		if want {
			count++
		}
	}
	if count != points {
		return &KeyError{name, -1, fmt.Sprintf("%d points, %d wires are not at infinity", points, count)}
	}
	return nil
}

// write puts the .params encoding out.
func (x *imported) write(w *bufio.Writer) error {
	if _, err := x.vk.WriteTo(w); err != nil {
		return err
	}
	z := x.pk.G1.Z
	shift := 64 - bits.Len(uint(len(z)))
	g1 := func(n int, at func(i int) *bls12381.G1Affine) error {
		var b [curveio.G1Size]byte
		if _, err := w.Write(binary.BigEndian.AppendUint32(nil, uint32(n))); err != nil {
			return err
		}
		for i := range n {
			curveio.PutG1(b[:], at(i))
			if _, err := w.Write(b[:]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := errors.Join(
		g1(len(z), func(i int) *bls12381.G1Affine { return &z[bits.Reverse64(uint64(i))>>shift] }),
		g1(len(x.l), func(i int) *bls12381.G1Affine { return &x.pk.G1.K[x.l[i]] }),
		g1(len(x.pk.G1.A), func(i int) *bls12381.G1Affine { return &x.pk.G1.A[i] }),
		g1(len(x.pk.G1.B), func(i int) *bls12381.G1Affine { return &x.pk.G1.B[i] }),
	); err != nil {
		return err
	}
	var b [curveio.G2Size]byte
	if _, err := w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(x.pk.G2.B)))); err != nil {
		return err
	}
	for i := range x.pk.G2.B {
		curveio.PutG2(b[:], &x.pk.G2.B[i])
		if _, err := w.Write(b[:]); err != nil {
			return err
		}
	}
	return nil
}

// ExportProvingKey makes gnark's proving key for c's source, which must have the input rows (else ErrInputRows), from a key
// of c's system. The points are on the Go heap, as gnark wants them.
func ExportProvingKey(ctx context.Context, c *gnarkcs.Circuit, k *groth16.ProvingKey) (*gnark.ProvingKey, error) {
	if !c.HasInputRows() {
		return nil, ErrInputRows
	}
	if err := k.CheckSystem(ctx, c.System()); err != nil {
		return nil, err
	}
	sys, vk, pk := c.System(), k.VerifyingKey(), new(gnark.ProvingKey)
	pk.G1.Alpha, pk.G1.Beta, pk.G1.Delta = vk.AlphaG1, vk.BetaG1, vk.DeltaG1
	pk.G2.Beta, pk.G2.Delta = vk.BetaG2, vk.DeltaG2
	h := make([]bls12381.G1Affine, k.Len(groth16.SectionH))
	l := make([]bls12381.G1Affine, k.Len(groth16.SectionL))
	pk.G1.A = make([]bls12381.G1Affine, k.Len(groth16.SectionA))
	pk.G1.B = make([]bls12381.G1Affine, k.Len(groth16.SectionB1))
	pk.G2.B = make([]bls12381.G2Affine, k.Len(groth16.SectionB2))
	for s, dst := range map[groth16.Section][]bls12381.G1Affine{groth16.SectionH: h, groth16.SectionL: l, groth16.SectionA: pk.G1.A, groth16.SectionB1: pk.G1.B} {
		if err := k.DecodeG1(ctx, s, 0, dst, 0); err != nil {
			return nil, err
		}
	}
	if err := k.DecodeG2(ctx, groth16.SectionB2, 0, pk.G2.B, 0); err != nil {
		return nil, err
	}
	shift := 64 - bits.Len(uint(len(h)))
	pk.G1.Z = make([]bls12381.G1Affine, len(h))
	for i := range h {
		pk.G1.Z[bits.Reverse64(uint64(i))>>shift] = h[i]
	}
	in := sys.Inputs()
	pk.G1.K = make([]bls12381.G1Affine, c.Wires()-in) // the zero value is infinity
	pk.InfinityA, pk.InfinityB = make([]bool, c.Wires()), make([]bool, c.Wires())
	for w := range pk.InfinityA {
		pk.InfinityA[w] = w >= in
		pk.InfinityB[w] = w >= in || sys.BInputDensity()[w/64]>>(w%64)&1 == 0
	}
	for i := range l {
		w := c.Wire(synth.AuxVar(i))
		pk.G1.K[w-in] = l[i]
		pk.InfinityA[w] = sys.ADensity()[i/64]>>(i%64)&1 == 0
		pk.InfinityB[w] = sys.BDensity()[i/64]>>(i%64)&1 == 0
	}
	pk.NbInfinityA, pk.NbInfinityB = uint64(c.Wires()-len(pk.G1.A)), uint64(c.Wires()-len(pk.G1.B))
	pk.Domain = *fft.NewDomain(uint64(c.Source().GetNbConstraints()))
	return pk, nil
}
