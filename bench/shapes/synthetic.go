package shapes

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/porep"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/update"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/filgroth/filgroth/synth/vanillasim"
)

// Case is a partition's circuit with values that satisfy it, and its public inputs without ONE.
type Case struct {
	Circuit synth.Circuit
	Public  []fr.Element
}

// Synthetic makes the first so many partitions of a proof that was never sealed (see vanillasim), each different in content,
// deterministic from the seed. WinningPoSt has one partition only: several come from several seeds. A WindowPoSt partition has all
// its sectors distinct.
func (s Shape) Synthetic(ctx context.Context, seed uint64, partitions int) ([]Case, error) {
	if partitions < 1 {
		return nil, fmt.Errorf("%v: %d partitions", s, partitions)
	}
	o := vanillasim.Options{Seed: seed, Miner: 1000, Sector: 1}
	switch s.Kind {
	case PoRep:
		return s.porep(ctx, o, partitions)
	case Winning:
		var out []Case
		for i := range partitions {
			o.Seed = seed + uint64(i)<<32
			c, err := s.post(ctx, o, 1)
			if err != nil {
				return nil, err
			}
			out = append(out, c...)
		}
		return out, nil
	case Window:
		return s.post(ctx, o, partitions)
	case Update:
		return s.update(ctx, o, partitions)
	}
	return nil, fmt.Errorf("%w: %v", ErrShape, s)
}

func (s Shape) porep(ctx context.Context, o vanillasim.Options, partitions int) ([]Case, error) {
	cfg, err := porep.SizeConfig(s.Size, vanilla.Interactive, vanilla.V1_1_0)
	if err != nil {
		return nil, err
	}
	cfg.Challenges = s.length(cfg.Challenges)
	cfg.Partitions = partitions // as many as wanted: the circuit does not know how many there are
	c1, err := vanillasim.PoRep(ctx, cfg, o)
	if err != nil {
		return nil, err
	}
	out := make([]Case, partitions)
	for k := range out {
		if out[k].Circuit, err = c1.Circuit(k); err != nil {
			return nil, err
		}
		if out[k].Public, err = c1.Public().Inputs(k); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s Shape) post(ctx context.Context, o vanillasim.Options, partitions int) ([]Case, error) {
	cfg, err := post.SizeConfig(s.Size, s.Kind == Winning, vanilla.V1_2_0)
	if err != nil {
		return nil, err
	}
	sectors := 1
	if s.Kind == Window {
		cfg.Shape.Sectors = s.length(cfg.Shape.Sectors)
		sectors = partitions * cfg.Shape.Sectors
	}
	public, proofs, err := vanillasim.PoSt(ctx, cfg, sectors, o)
	if err != nil {
		return nil, err
	}
	parts, err := post.Assemble(public, proofs)
	if err != nil {
		return nil, err
	}
	out := make([]Case, len(parts))
	for k := range out {
		if out[k].Circuit, err = parts[k].Circuit(); err != nil {
			return nil, err
		}
		if out[k].Public, err = public.Inputs(k); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s Shape) update(ctx context.Context, o vanillasim.Options, partitions int) ([]Case, error) {
	shape, err := update.ShapeOf(s.Size)
	if err != nil {
		return nil, err
	}
	shape.Challenges = s.length(shape.Challenges)
	var out []Case
	for n := uint64(0); len(out) < partitions; n++ {
		o := o
		o.Seed += n << 32
		public, proofs, err := vanillasim.Update(ctx, shape, o)
		if err != nil {
			return nil, err
		}
		for k := 0; k < len(proofs) && len(out) < partitions; k++ {
			var c Case
			if c.Circuit, err = proofs[k].Circuit(public, k); err != nil {
				return nil, err
			}
			if c.Public, err = public.Inputs(k); err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	}
	return out, nil
}
