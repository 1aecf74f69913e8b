package gnarkcs

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark/constraint"
	cs "github.com/consensys/gnark/constraint/bls12-381"

	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
)

// Packing says which wires become bits.
type Packing uint8

const (
	// PackAuto is PackInferred.
	PackAuto Packing = iota
	// PackNone stores every wire as a field element.
	PackNone
	// PackBooleanity packs wires with a row of their own, such as v * (1 - v) = 0, whose only solutions are 0 and 1.
	PackBooleanity
	// PackInferred packs also wires that a row makes 0 or 1 for all values of at most four other bits in it: the results of
	// and, or, and products of bits, which gnark gives no row of their own. (Its xor and select keep a difference of bits in
	// the wire, -1, 0 or 1, which is no bit.)
	PackInferred
)

var packingNames = [...]string{"auto", "none", "booleanity", "inferred"}

func (p Packing) String() string {
	if int(p) < len(packingNames) {
		return packingNames[p]
	}
	return fmt.Sprintf("Packing(%d)", uint8(p))
}

// Config are the options of Compile; the zero value is the recommendation.
type Config struct {
	Packing Packing
	// KeepEvaluations makes Solve hand the row values that gnark's solver has computed anyway to the prover, which then does
	// not evaluate the system: less work for 96 bytes a row of memory while the assignment lives.
	KeepEvaluations bool
}

// Validate refuses values out of range with ErrConfig.
func (c Config) Validate() error {
	if int(c.Packing) >= len(packingNames) {
		return fmt.Errorf("%w: Packing = %d", ErrConfig, c.Packing)
	}
	return nil
}

// String is what a benchmark line carries.
func (c Config) String() string {
	return fmt.Sprintf("packing=%v/keep=%t", c.Packing, c.KeepEvaluations)
}

// Circuit is a compiled gnark circuit with its System. It is safe for concurrent use as far as gnark's solver is.
type Circuit struct {
	r1cs   *cs.R1CS
	sys    *synth.System
	cfg    Config
	public int
	wires  []uint32 // the wire of aux i
	padded bool
}

// Compile takes over the rows of a gnark constraint system, which must not be changed afterwards. Private wires that occur
// in no row (results of hints that are not used) get no variable.
func Compile(ctx context.Context, ccs constraint.ConstraintSystem, cfg Config) (*Circuit, error) {
	ctx, sp := span.Start(ctx, "gnarkcs.compile")
	defer sp.End()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r, err := checked(ccs)
	if err != nil {
		return nil, err
	}
	s, err := scan(ctx, r, cfg.Packing)
	if err != nil {
		return nil, err
	}
	c := &Circuit{r1cs: r, cfg: cfg, public: r.GetNbPublicVariables(), padded: hasInputRows(r)}
	sys, err := synth.Compile(ctx, &shape{c: c, s: s})
	if err != nil {
		return nil, err
	}
	c.sys = sys
	return c, nil
}

// checked refuses what is no plain BLS12-381 R1CS.
func checked(ccs constraint.ConstraintSystem) (*cs.R1CS, error) {
	r, ok := ccs.(*cs.R1CS)
	if !ok {
		return nil, fmt.Errorf("%w: %T", ErrUnsupported, ccs)
	}
	if r == nil || r.Type != constraint.SystemR1CS {
		return nil, fmt.Errorf("%w: a sparse (PLONK) system", ErrUnsupported)
	}
	if n := len(r.GetCommitments().CommitmentIndexes()); n > 0 {
		return nil, fmt.Errorf("%w: %d of them", ErrCommitment, n)
	}
	if r.GetNbPublicVariables() == 0 {
		return nil, fmt.Errorf("%w: no constant one among the public variables", ErrMalformed)
	}
	return r, nil
}

// System is the compiled system.
func (c *Circuit) System() *synth.System { return c.sys }

// Source is the gnark system. Read only.
func (c *Circuit) Source() *cs.R1CS { return c.r1cs }

// Wires is the number of gnark's wires: public, secret and internal ones.
func (c *Circuit) Wires() int {
	internal, secret, public := c.r1cs.GetNbVariables()
	return internal + secret + public
}

// Wire is the number of the gnark wire that became v.
func (c *Circuit) Wire(v synth.Var) int {
	if v.IsInput() {
		return v.Index()
	}
	return int(c.wires[v.Index()])
}

// HasInputRows says whether the gnark system ends with the rows of AppendInputRows. They are not among the System's rows,
// which every System has in addition.
func (c *Circuit) HasInputRows() bool { return c.padded }

// shape writes the gnark rows to a Builder in Shape mode.
type shape struct {
	c *Circuit
	s *scanned
}

// Synthesize implements synth.Circuit.
func (x *shape) Synthesize(b *synth.Builder) error {
	r := x.c.r1cs
	for i := 1; i < x.c.public; i++ {
		b.AllocInput(fr.Element{})
	}
	vars := make([]synth.Var, x.c.Wires())
	for w := range vars {
		switch {
		case w < x.c.public:
			vars[w] = synth.InputVar(w)
		case !x.s.used[w]:
		case x.s.pack && x.s.bit[w]:
			vars[w] = b.AllocBit(false)
			x.c.wires = append(x.c.wires, uint32(w))
		default:
			vars[w] = b.Alloc(fr.Element{})
			x.c.wires = append(x.c.wires, uint32(w))
		}
	}
	lc := func(e constraint.LinearExpression) *synth.LC {
		l := b.LC()
		for _, t := range e {
			if t.CID != constraint.CoeffIdZero {
				l.Add(vars[t.VID], r.Coefficients[t.CID])
			}
		}
		return l
	}
	rows := r.GetNbConstraints()
	if x.c.padded {
		rows -= x.c.public
	}
	it := r.GetR1CIterator()
	for i := 0; i < rows; i++ {
		row := it.Next()
		if row == nil {
			return fmt.Errorf("%w: %d rows, %d announced", ErrMalformed, i, rows)
		}
		if i%4096 == 0 {
			if err := b.Err(); err != nil {
				return err
			}
		}
		b.Enforce(lc(row.L), lc(row.R), lc(row.O))
	}
	return nil
}
