package boolean

import "github.com/filgroth/filgroth/synth"

// The four operations on allocated bits. Each allocates its result and adds one row; the result is not constrained to be
// a bit again, because the row makes it one.

func bitXor(b *synth.Builder, x, y Bool) Bool {
	v := x.bit() != y.bit()
	c := Bool{Var: b.AllocBit(v), Val: v}
	if b.WantRows() {
		b.Enforce(b.LC().Add(x.Var, two), b.LC().AddVar(y.Var), b.LC().AddVar(x.Var).AddVar(y.Var).SubVar(c.Var))
	}
	return c
}

func bitAnd(b *synth.Builder, x, y Bool) Bool {
	v := x.bit() && y.bit()
	c := Bool{Var: b.AllocBit(v), Val: v}
	if b.WantRows() {
		b.Enforce(b.LC().AddVar(x.Var), b.LC().AddVar(y.Var), b.LC().AddVar(c.Var))
	}
	return c
}

func bitAndNot(b *synth.Builder, x, y Bool) Bool {
	v := x.bit() && !y.bit()
	c := Bool{Var: b.AllocBit(v), Val: v}
	if b.WantRows() {
		b.Enforce(b.LC().AddVar(x.Var), b.LC().AddVar(synth.One).SubVar(y.Var), b.LC().AddVar(c.Var))
	}
	return c
}

func bitNor(b *synth.Builder, x, y Bool) Bool {
	v := !x.bit() && !y.bit()
	c := Bool{Var: b.AllocBit(v), Val: v}
	if b.WantRows() {
		b.Enforce(b.LC().AddVar(synth.One).SubVar(x.Var), b.LC().AddVar(synth.One).SubVar(y.Var), b.LC().AddVar(c.Var))
	}
	return c
}

// bit is the value of the variable under x.
func (x Bool) bit() bool { return x.Val != (x.Kind == synth.Negated) }

// Nor is !x & !y. It equals And(b, x.Not(), y.Not()).
func Nor(b *synth.Builder, x, y Bool) Bool { return And(b, x.Not(), y.Not()) }

// AndNot is x & !y. It equals And(b, x, y.Not()).
func AndNot(b *synth.Builder, x, y Bool) Bool { return And(b, x, y.Not()) }

// Xor is x ^ y.
func Xor(b *synth.Builder, x, y Bool) Bool {
	switch {
	case x.Kind == synth.ConstFalse:
		return y
	case y.Kind == synth.ConstFalse:
		return x
	case x.Kind == synth.ConstTrue:
		return y.Not()
	case y.Kind == synth.ConstTrue:
		return x.Not()
	case x.Kind == y.Kind:
		return bitXor(b, x, y)
	case x.Kind == synth.Plain:
		return bitXor(b, x, y.Not()).Not()
	default: // the operand that is not negated comes first
		return bitXor(b, y, x.Not()).Not()
	}
}

// And is x & y.
func And(b *synth.Builder, x, y Bool) Bool {
	switch {
	case x.Kind == synth.ConstFalse || y.Kind == synth.ConstFalse:
		return Const(false)
	case x.Kind == synth.ConstTrue:
		return y
	case y.Kind == synth.ConstTrue:
		return x
	case x.Kind == synth.Plain && y.Kind == synth.Plain:
		return bitAnd(b, x, y)
	case x.Kind == synth.Plain:
		return bitAndNot(b, x, y.Not())
	case y.Kind == synth.Plain:
		return bitAndNot(b, y, x.Not())
	default:
		return bitNor(b, x.Not(), y.Not())
	}
}

// Ch is SHA-256's choice: (x & y) ^ (!x & z).
func Ch(b *synth.Builder, x, y, z Bool) Bool {
	v := x.Val && y.Val || !x.Val && z.Val
	switch {
	case x.IsConst() && y.IsConst() && z.IsConst():
		return Const(v)
	case x.Kind == synth.ConstFalse:
		return z
	case y.Kind == synth.ConstFalse:
		return And(b, x.Not(), z)
	case z.Kind == synth.ConstFalse:
		return And(b, x, y)
	case z.Kind == synth.ConstTrue:
		return And(b, x, y.Not()).Not()
	case y.Kind == synth.ConstTrue:
		return And(b, x.Not(), z.Not()).Not()
	}
	h := Bool{Var: b.AllocBit(v), Val: v}
	if b.WantRows() {
		p := z.AddTo(y.LC(b), minusOne)
		q := z.AddTo(b.LC().AddVar(h.Var), minusOne)
		b.Enforce(p, x.LC(b), q)
	}
	return h
}

// Maj is SHA-256's majority of three.
func Maj(b *synth.Builder, x, y, z Bool) Bool {
	v := x.Val && y.Val || x.Val && z.Val || y.Val && z.Val
	switch {
	case x.IsConst() && y.IsConst() && z.IsConst():
		return Const(v)
	case x.Kind == synth.ConstFalse:
		return And(b, y, z)
	case y.Kind == synth.ConstFalse:
		return And(b, x, z)
	case z.Kind == synth.ConstFalse:
		return And(b, x, y)
	case z.Kind == synth.ConstTrue:
		return And(b, x.Not(), y.Not()).Not()
	case y.Kind == synth.ConstTrue:
		return And(b, x.Not(), z.Not()).Not()
	case x.Kind == synth.ConstTrue:
		return And(b, y.Not(), z.Not()).Not()
	}
	m := Bool{Var: b.AllocBit(v), Val: v}
	yz := And(b, y, z)
	if b.WantRows() {
		p := z.AddTo(y.AddTo(yz.AddTo(b.LC(), two), minusOne), minusOne)
		q := yz.LC(b).SubVar(m.Var)
		b.Enforce(p, x.LC(b), q)
	}
	return m
}

// EnforceEqual makes x and y equal. Two constants emit nothing and give ErrConstants where they differ.
func EnforceEqual(b *synth.Builder, x, y Bool) error {
	if x.IsConst() && y.IsConst() {
		if x.Val != y.Val {
			return ErrConstants
		}
		return nil
	}
	if !b.WantRows() {
		return nil
	}
	l := b.LC()
	switch {
	case x.Kind == synth.ConstTrue:
		y.AddTo(l.AddVar(synth.One), minusOne)
	case y.Kind == synth.ConstTrue:
		x.AddTo(l.AddVar(synth.One), minusOne)
	case x.Kind == synth.ConstFalse:
		y.AddTo(l, one)
	case y.Kind == synth.ConstFalse:
		x.AddTo(l, one)
	default:
		y.AddTo(x.AddTo(l, one), minusOne)
	}
	b.Enforce(nil, nil, l)
	return nil
}

// XorRepeating is in ^ key with the key repeated as often as needed, operand in first. No Filecoin circuit uses it.
func XorRepeating(b *synth.Builder, key, in []Bool) []Bool {
	out := make([]Bool, len(in))
	for i := range in {
		out[i] = Xor(b, in[i], key[i%len(key)])
	}
	return out
}
