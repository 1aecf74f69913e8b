package poseidon

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	native "github.com/filgroth/filgroth/internal/poseidon"
	"github.com/filgroth/filgroth/synth"
)

// elem is an element of the state: a variable, or (lc not nil) a linear combination that the elem owns.
type elem struct {
	v  synth.Var
	lc *synth.LC
}

// perm writes the rows of one permutation. The values of what it allocates come from a trace made before.
type perm struct {
	b     *synth.Builder
	p     *native.Params
	trace []fr.Element // nil: blank
	state []elem
	spare []elem
	mixes int // linear layers so far
}

// emit writes a whole permutation and returns the variable of the hash.
func emit(b *synth.Builder, p *native.Params, tag *fr.Element, in []synth.Var, trace []fr.Element) synth.Var {
	c := &perm{b: b, p: p, trace: trace, state: make([]elem, p.T), spare: make([]elem, p.T)}
	post := c.firstRound(tag, in)
	for r := 1; r < halfFull; r++ {
		post = c.fullRound(post)
	}
	for r := 0; r < p.RP; r++ {
		c.state[0] = elem{v: c.sbox(c.state[0], &post[r])}
		c.mix()
	}
	post = post[p.RP:]
	for r := 1; r < halfFull; r++ {
		post = c.fullRound(post)
	}
	for i := range c.state {
		c.state[i] = elem{v: c.sbox(c.state[i], nil)}
	}
	c.mix()
	out := c.ensure(c.state[1])
	for i := range c.state {
		if i != 1 {
			b.Discard(c.state[i].lc)
		}
	}
	return out
}

// firstRound is the full round that adds the first constants before its S-boxes; element 0, the tag, stays a constant. It
// returns the constants not yet used.
func (c *perm) firstRound(tag *fr.Element, in []synth.Var) []fr.Element {
	t := c.p.T
	pre, post := c.p.CRC[:t], c.p.CRC[t:2*t]
	var x, q fr.Element
	x.Add(tag, &pre[0])
	q.Square(&x)
	q.Square(&q)
	x.Mul(&x, &q)
	x.Add(&x, &post[0])
	c.state[0] = elem{lc: c.b.LC().AddConst(x)}
	sum := func(i int) *synth.LC { return c.b.LC().AddConst(pre[i]).AddVar(in[i-1]) }
	for i := 1; i < t; i++ {
		s := c.alloc()
		c.b.Enforce(sum(i), sum(i), c.b.LC().AddVar(s))
		q := c.square(s)
		y := c.alloc()
		c.b.Enforce(sum(i), c.b.LC().AddVar(q), c.minus(y, &post[i]))
		c.state[i] = elem{v: y}
	}
	c.mix()
	return c.p.CRC[2*t:]
}

func (c *perm) fullRound(post []fr.Element) []fr.Element {
	for i := range c.state {
		c.state[i] = elem{v: c.sbox(c.state[i], &post[i])}
	}
	c.mix()
	return post[c.p.T:]
}

// sbox allocates e^5 + post.
func (c *perm) sbox(e elem, post *fr.Element) synth.Var {
	l := c.ensure(e)
	q := c.square(c.square(l))
	y := c.alloc()
	c.b.Enforce(c.b.LC().AddVar(l), c.b.LC().AddVar(q), c.minus(y, post))
	return y
}

// ensure makes e a variable.
func (c *perm) ensure(e elem) synth.Var {
	if e.lc == nil {
		return e.v
	}
	v := c.alloc()
	c.b.Enforce(e.lc, c.b.LC().AddVar(synth.One), c.b.LC().AddVar(v))
	return v
}

func (c *perm) square(v synth.Var) synth.Var {
	s := c.alloc()
	c.b.Enforce(c.b.LC().AddVar(v), c.b.LC().AddVar(v), c.b.LC().AddVar(s))
	return s
}

// minus is v - k; k may be nil.
func (c *perm) minus(v synth.Var, k *fr.Element) *synth.LC {
	l := c.b.LC()
	if k != nil {
		var m fr.Element
		m.Neg(k)
		l.AddConst(m)
	}
	return l.AddVar(v)
}

func (c *perm) alloc() synth.Var {
	var v fr.Element
	if len(c.trace) > 0 {
		v = c.trace[0]
		c.trace = c.trace[1:]
	}
	return c.b.Alloc(v)
}

// mix applies the next linear layer.
func (c *perm) mix() {
	k := c.mixes
	c.mixes++
	switch {
	case k < halfFull-1 || k >= halfFull+c.p.RP:
		c.dense(c.p.M)
	case k == halfFull-1:
		c.dense(c.p.Pre)
	default:
		c.sparse(&c.p.Sparse[k-halfFull])
	}
}

func (c *perm) dense(m [][]fr.Element) {
	for j := range c.spare {
		l := c.b.LC()
		for i := range c.state {
			c.addTo(l, &c.state[i], &m[i][j])
		}
		c.spare[j] = elem{lc: l}
	}
	c.swap()
}

// sparse changes elements 1.. in place; they are linear combinations at this stage.
func (c *perm) sparse(m *native.Sparse) {
	l := c.b.LC()
	for i := range c.state {
		c.addTo(l, &c.state[i], &m.W[i])
	}
	for j := 1; j < c.p.T; j++ {
		c.addTo(c.state[j].lc, &c.state[0], &m.V[j-1])
	}
	c.b.Discard(c.state[0].lc)
	c.state[0] = elem{lc: l}
}

func (c *perm) addTo(l *synth.LC, e *elem, k *fr.Element) {
	if e.lc != nil {
		l.AddLC(*k, e.lc)
		return
	}
	l.Add(e.v, *k)
}

func (c *perm) swap() {
	for i := range c.state {
		c.b.Discard(c.state[i].lc)
	}
	c.state, c.spare = c.spare, c.state
}
