package synth

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/pinning"
	"github.com/stretchr/testify/require"
)

// randomCircuit draws its structure from shape and its values from vals: blocks that recur, bits, field elements,
// inputs, cancelled coefficients, parallel pieces.
type randomCircuit struct {
	shape, vals uint64
	pieces      int
	broken      int // make the row of this multiplication wrong, -1 for none
	muls        *int
}

type rval struct {
	v   Var
	val fr.Element
}

func (c randomCircuit) Synthesize(b *Builder) error {
	vals := rand.New(rand.NewPCG(c.vals, 1))
	sh := rand.New(rand.NewPCG(c.shape, 2))
	var pool []rval
	for i := 0; i < 3; i++ {
		x := fr.NewElement(vals.Uint64())
		pool = append(pool, rval{b.AllocInput(x), x})
	}
	x := fr.NewElement(vals.Uint64())
	pool = append(pool, rval{b.Alloc(x), x})
	pool = c.piece(b, sh, vals, pool, 40)
	seeds := make([]uint64, c.pieces)
	for i := range seeds {
		seeds[i] = sh.Uint64()
	}
	err := b.Parallel(c.pieces, func(i int, b *Builder) error {
		mine := append([]rval(nil), pool[:3]...)
		c.piece(b, rand.New(rand.NewPCG(seeds[i]%3, 3)), rand.New(rand.NewPCG(c.vals, uint64(i))), mine, 30)
		return nil
	})
	if err != nil {
		return err
	}
	c.piece(b, sh, vals, pool, 10)
	return b.Err()
}

func (c randomCircuit) piece(b *Builder, sh, vals *rand.Rand, pool []rval, n int) []rval {
	for i := 0; i < n; i++ {
		pick := func() rval { return pool[sh.IntN(len(pool))] }
		switch sh.IntN(5) {
		case 0, 1:
			pool = append(pool, c.mul(b, pick(), pick(), pick(), sh))
		case 2:
			w := vals.Uint64()
			k := 1 + sh.IntN(64)
			w &= ^uint64(0) >> (64 - k)
			first := b.AllocBits(w, k)
			for j := 0; j < k; j++ {
				v := fr.NewElement(w >> j & 1)
				u := first + Var(j)
				b.Enforce(b.LC().AddVar(One).SubVar(u), b.LC().AddVar(u), nil)
				if j%9 == 0 {
					pool = append(pool, rval{u, v})
				}
			}
		case 3:
			pool = append(pool, c.square3(b, pick()))
		case 4: // a term that cancels must not count
			p := pick()
			l := b.LC().AddVar(p.v).SubVar(p.v)
			b.Enforce(l, b.LC().Add(p.v, fr.Element{}), nil)
		}
	}
	return pool
}

func (c randomCircuit) mul(b *Builder, x, y, z rval, sh *rand.Rand) rval {
	k := fr.NewElement(uint64(sh.IntN(5)))
	if sh.IntN(3) == 0 {
		k.SetUint64(sh.Uint64())
		k.Square(&k)
	}
	var l, r fr.Element // (x + k z) * (y - 1)
	l.Mul(&k, &z.val)
	l.Add(&l, &x.val)
	r.Sub(&y.val, &frOne)
	l.Mul(&l, &r)
	if c.muls != nil {
		if *c.muls == c.broken {
			l.Add(&l, &frOne)
		}
		*c.muls++
	}
	o := b.Alloc(l)
	if b.WantRows() {
		b.Enforce(b.LC().AddVar(x.v).Add(z.v, k), b.LC().AddVar(y.v).SubVar(One), b.LC().AddVar(o))
	}
	return rval{o, l}
}

// square3 is a block: s = x^2, t = s^2 over one wire.
func (c randomCircuit) square3(b *Builder, x rval) rval {
	var s, t fr.Element
	s.Square(&x.val)
	t.Square(&s)
	out := b.Block("square3", []Var{x.v}, func() []Wire {
		sv := b.Alloc(s)
		b.Enforce(b.LC().AddVar(x.v), b.LC().AddVar(x.v), b.LC().AddVar(sv))
		tv := b.Alloc(t)
		b.Enforce(b.LC().AddVar(sv), b.LC().AddVar(sv), b.LC().AddVar(tv))
		return []Wire{{Var: tv}}
	})
	return rval{out[0].Var, t}
}

// plainCompile is Compile without templates: the reference for them.
func plainCompile(t *testing.T, c Circuit) *System {
	b := &Builder{mode: Shape, ctx: context.Background(), inputs: 1, rec: newRecorder()}
	b.rec.inBlock = true
	require.NoError(t, c.Synthesize(b))
	s, err := b.rec.finish(b)
	require.NoError(t, err)
	return s
}

func TestTemplatesChangeNothing(t *testing.T) {
	ctx := context.Background()
	for seed := uint64(0); seed < 30; seed++ {
		c := randomCircuit{shape: seed, vals: seed * 7, pieces: int(seed % 5)}
		s, err := Compile(ctx, c)
		require.NoError(t, err)
		p := plainCompile(t, c)
		ds, err := s.Digest(ctx)
		require.NoError(t, err)
		dp, err := p.Digest(ctx)
		require.NoError(t, err)
		require.Equal(t, dp, ds, "seed %d", seed)
		require.Equal(t, p.aAux, s.aAux)
		require.Equal(t, p.bAux, s.bAux)
		require.Equal(t, p.bInput, s.bInput)
		require.Equal(t, p.bools, s.bools)
		require.Equal(t, [3]int{p.inputs, p.aux, p.rows}, [3]int{s.inputs, s.aux, s.rows})
		a1, b1, c1 := s.Nonzeros()
		a2, b2, c2 := p.Nonzeros()
		require.Equal(t, [3]int64{a2, b2, c2}, [3]int64{a1, b1, c1})
	}
}

func TestAssignEvaluateDirect(t *testing.T) {
	ctx := context.Background()
	before := pinning.Live()
	for seed := uint64(0); seed < 20; seed++ {
		c := randomCircuit{shape: seed, vals: seed + 100, pieces: int(seed%4) * 3}
		s, err := Compile(ctx, c)
		require.NoError(t, err)
		a, err := AssignWitness(ctx, c, s, AssignConfig{Threads: 3})
		require.NoError(t, err)
		require.NoError(t, s.Satisfied(ctx, a, 2))
		n := s.DomainSize()
		e := [3][]fr.Element{make([]fr.Element, n), make([]fr.Element, n), make([]fr.Element, n)}
		require.NoError(t, s.Evaluate(ctx, a, e[0], e[1], e[2], 2))
		for _, cfg := range []DirectConfig{{}, {InlineTerms: 1}, {InlineTerms: 2, Presize: PresizeExact, HugePages: true, Prefault: true},
			{InlineTerms: 8, Presize: PresizeChunked, ChunkBytes: 4096, Prefault: true}} {
			d, err := DirectSynthesize(ctx, c, s, cfg)
			require.NoError(t, err)
			require.Equal(t, a.Inputs, d.Inputs)
			require.Equal(t, a.Bits, d.Bits)
			require.Equal(t, a.Fields, d.Fields)
			require.Equal(t, e[0][:s.Constraints()], d.Eval.A)
			require.Equal(t, e[1][:s.Constraints()], d.Eval.B)
			require.Equal(t, e[2][:s.Constraints()], d.Eval.C)
			require.NoError(t, d.Close())
		}
		// streamed in odd chunks
		err = s.EvaluateStream(ctx, a, 37, 2, func(lo int, x, y, z []fr.Element) error {
			require.Equal(t, e[0][lo:lo+len(x)], x)
			require.Equal(t, e[1][lo:lo+len(x)], y)
			require.Equal(t, e[2][lo:lo+len(x)], z)
			return nil
		})
		require.NoError(t, err)
		for i := 0; i < s.Aux(); i++ {
			require.Equal(t, a.Value(AuxVar(i)), a.Aux(i))
		}
		require.NoError(t, a.Close())
	}
	require.Equal(t, before, pinning.Live())
}

func TestUnsatisfiedNamesTheFirstRow(t *testing.T) {
	ctx := context.Background()
	n := 0
	good := randomCircuit{shape: 5, vals: 9, muls: &n, broken: -1}
	s, err := Compile(ctx, good)
	require.NoError(t, err)
	muls := n
	require.Greater(t, muls, 5)
	for k := 0; k < muls; k++ {
		i := 0
		a, err := AssignWitness(ctx, randomCircuit{shape: 5, vals: 9, muls: &i, broken: k}, s, AssignConfig{})
		require.NoError(t, err)
		err = s.Satisfied(ctx, a, 2)
		var u *UnsatisfiedError
		require.ErrorAs(t, err, &u)
		// the row named fails, and none before it does
		require.NoError(t, s.EachRow(ctx, 0, u.Row+1, func(row int, abc [3][]RowTerm) error {
			var v [3]fr.Element
			for k := range abc {
				for _, term := range abc[k] {
					x := a.Value(term.Var)
					x.Mul(&x, &s.Coeffs()[term.Coef])
					v[k].Add(&v[k], &x)
				}
			}
			v[0].Mul(&v[0], &v[1])
			require.Equal(t, row != u.Row, v[0].Equal(&v[2]))
			return nil
		}))
		require.NoError(t, a.Close())
	}
}

func TestShapeMismatch(t *testing.T) {
	ctx := context.Background()
	before := pinning.Live()
	s, err := Compile(ctx, randomCircuit{shape: 1, pieces: 4})
	require.NoError(t, err)
	for _, c := range []Circuit{randomCircuit{shape: 2, pieces: 4}, randomCircuit{shape: 1, pieces: 3}, randomCircuit{shape: 3, pieces: 9}} {
		_, err = AssignWitness(ctx, c, s, AssignConfig{})
		require.ErrorIs(t, err, ErrShape)
		_, err = DirectSynthesize(ctx, c, s, DirectConfig{Presize: PresizeExact})
		require.ErrorIs(t, err, ErrShape)
	}
	cctx, cancel := context.WithCancel(ctx)
	cancel()
	_, err = AssignWitness(cctx, randomCircuit{shape: 1, pieces: 4}, s, AssignConfig{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = Compile(cctx, randomCircuit{shape: 1, pieces: 4})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, before, pinning.Live())
}

// requireClosed: whatever is asked of a system whose file is unmapped is an error.
func requireClosed(t *testing.T, s *System, c Circuit) {
	ctx := context.Background()
	_, err := AssignWitness(ctx, c, s, AssignConfig{})
	require.ErrorIs(t, err, ErrClosed)
	_, err = DirectSynthesize(ctx, c, s, DirectConfig{})
	require.ErrorIs(t, err, ErrClosed)
	_, err = NewAssignment(s)
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, s.Satisfied(ctx, &Assignment{}, 1), ErrClosed)
	require.ErrorIs(t, s.EachRow(ctx, 0, 1, nil), ErrClosed)
	require.ErrorIs(t, s.Encode(ctx, io.Discard), ErrClosed)
	_, err = s.DigestCheckpoints(ctx, 0, nil)
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, s.Close())
	require.NotEmpty(t, s.String())
}

// Sealed with good checksums, what no index would find is found too: bits beyond the variables, elements of no template.
func TestStrayElements(t *testing.T) {
	s, err := Compile(context.Background(), randomCircuit{shape: 11, vals: 3, pieces: 5})
	require.NoError(t, err)
	var buf bytes.Buffer
	require.NoError(t, s.Encode(context.Background(), &buf))
	good := buf.Bytes()
	le := binary.LittleEndian
	at := func(b []byte, sec int) uint64 {
		off := uint64(headerSize)
		for i := range sec {
			off += (le.Uint64(b[128+16*i:]) + sectionPad - 1) / sectionPad * sectionPad
		}
		return off
	}
	for sec, n := range map[int]int{secBools: s.aux, secAAux: s.aux, secBAux: s.aux, secBInput: s.inputs} {
		require.NotZero(t, n%64)
		b := bytes.Clone(good)
		b[at(b, sec)+le.Uint64(b[128+16*sec:])-1] |= 0x80
		reseal(b)
		_, err := parse("x", b)
		require.ErrorContains(t, err, "beyond the last", sectionNames[sec])
	}
	for _, sec := range []int{secPtr, secCol, secCoef, secTemplateBits} {
		b := bytes.Clone(good)
		n := le.Uint64(b[128+16*sec:])
		end := at(b, sec+1)
		b = append(b[:end:end], append(make([]byte, sectionPad), b[end:]...)...)
		le.PutUint64(b[128+16*sec:], (n+sectionPad-1)/sectionPad*sectionPad+sectionPad)
		reseal(b)
		_, err := parse("x", b)
		require.ErrorContains(t, err, "more than the templates have", sectionNames[sec])
	}
}

func TestFileRoundTripAndDamage(t *testing.T) {
	ctx := context.Background()
	c := randomCircuit{shape: 11, vals: 3, pieces: 5}
	s, err := Compile(ctx, c)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "x.sys")
	require.NoError(t, s.WriteFile(ctx, path))
	d, err := s.Digest(ctx)
	require.NoError(t, err)
	o, err := OpenFile(path, &d)
	require.NoError(t, err)
	cps, err := o.DigestCheckpoints(ctx, 10, nil)
	require.NoError(t, err)
	require.Equal(t, d, cps[len(cps)-1].Digest)
	require.Equal(t, s.String(), o.String())
	a, err := AssignWitness(ctx, c, o, AssignConfig{})
	require.NoError(t, err)
	require.NoError(t, o.Satisfied(ctx, a, 0))
	require.NoError(t, a.Close())
	require.NoError(t, o.Close())
	requireClosed(t, o, c)

	wrong := d
	wrong[0] ^= 1
	_, err = OpenFile(path, &wrong)
	require.ErrorIs(t, err, ErrFormat)
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, n := range []int{0, 1, 7, 100, headerSize - 1, headerSize, headerSize + 1, len(raw) / 2, len(raw) - 1} {
		_, err := parse("x", raw[:n:n])
		require.ErrorIs(t, err, ErrFormat, "cut to %d", n)
	}
	_, err = parse("x", append(append([]byte(nil), raw...), make([]byte, 64)...))
	require.ErrorIs(t, err, ErrFormat)
	for i := 0; i < len(raw); i++ {
		if i >= headerSize && i%11 != 0 {
			continue
		}
		raw[i] ^= 0x40
		// padding after a section carries no data; everything else is covered by a checksum
		if _, err := parse("x", raw); err != nil {
			require.ErrorIs(t, err, ErrFormat)
		} else {
			require.GreaterOrEqual(t, i, headerSize, "header byte %d", i)
		}
		raw[i] ^= 0x40
	}
}

func TestConfigsValidate(t *testing.T) {
	for _, c := range []DirectConfig{{InlineTerms: 3}, {Presize: 9}, {ChunkBytes: -1}, {HugePages: true}, {ChunkBytes: 5}} {
		require.ErrorIs(t, c.Validate(), ErrConfig)
	}
	require.ErrorIs(t, AssignConfig{Threads: -1}.Validate(), ErrConfig)
	for _, p := range []Presize{PresizeNone, PresizeExact, PresizeChunked} {
		q, err := ParsePresize(p.String())
		require.NoError(t, err)
		require.Equal(t, p, q)
	}
	_, err := ParsePresize("?")
	require.True(t, errors.Is(err, ErrConfig))
}

func TestRank(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 63, 64, 65, 511, 512, 513, 2000} {
		s := newBitset(n)
		for i := 0; i < n; i++ {
			if r.IntN(3) == 0 {
				s.set(i)
			}
		}
		k := newRank(s)
		c := 0
		for i := 0; i <= n; i++ {
			require.Equal(t, c, k.before(i))
			if i < n && s.get(i) {
				c++
			}
		}
	}
}

func TestStringsOfAnyValue(t *testing.T) {
	for i := range 256 {
		require.NotEmpty(t, Mode(i).String())
		require.NotEmpty(t, Pages(i).String())
		require.NotEmpty(t, Presize(i).String())
	}
}
