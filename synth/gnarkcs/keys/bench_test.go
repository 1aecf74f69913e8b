//go:build unix

package keys_test

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	gnark "github.com/consensys/gnark/backend/groth16/bls12-381"
	"github.com/consensys/gnark/backend/witness"
	cs "github.com/consensys/gnark/constraint/bls12-381"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/gpu"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/synth/gnarkcs"
	"github.com/filgroth/filgroth/synth/gnarkcs/keys"
)

// uniform is a chain of squares: every wire is a field element and every row has one in A, B and C.
type uniform struct {
	X, Y frontend.Variable
	End  frontend.Variable `gnark:",public"`
	rows int
}

func (c *uniform) Define(api frontend.API) error {
	x := c.X
	for range c.rows - 1 {
		x = api.Mul(x, api.Add(x, c.Y))
	}
	api.AssertIsEqual(x, c.End)
	return nil
}

// bitHeavy takes numbers of 64 bits apart and sums them up: of 65 wires 64 are bits, in A and B.
type bitHeavy struct {
	X   []frontend.Variable
	Sum frontend.Variable `gnark:",public"`
}

func (c *bitHeavy) Define(api frontend.API) error {
	var sum frontend.Variable = 0
	for _, x := range c.X {
		bits := api.ToBinary(x, 64)
		sum = api.Add(api.Mul(sum, bits[0]), x)
	}
	api.AssertIsEqual(sum, c.Sum)
	return nil
}

// benchCircuit fills a domain of 2^log points.
func benchCircuit(kind string, log int) (shape, full frontend.Circuit) {
	rows := 1<<log - 8
	if kind == "uniform" {
		x, y := fr.NewElement(3), fr.NewElement(5)
		var t fr.Element
		for range rows - 1 {
			x.Mul(&x, t.Add(&x, &y))
		}
		return &uniform{rows: rows}, &uniform{X: 3, Y: 5, End: x}
	}
	n := rows / 66
	c := &bitHeavy{X: make([]frontend.Variable, n)}
	var sum fr.Element
	for i := range c.X {
		v := uint64(i+1) * 0x9e3779b97f4a7c15
		c.X[i] = v
		var m fr.Element
		m.SetUint64(v & 1)
		sum.Mul(&sum, &m)
		m.SetUint64(v)
		sum.Add(&sum, &m)
	}
	c.Sum = sum
	return &bitHeavy{X: make([]frontend.Variable, n)}, c
}

// benchSide proves with one prover from the witness that gnark has not solved yet.
type benchSide struct {
	name  string
	prove func() error
	times []time.Duration
	cpu   []time.Duration // processor time, which others on the machine disturb less
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail with these arguments
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (s *benchSide) turn(b *testing.B) {
	start, cpu := time.Now(), processorTime()
	require.NoError(b, s.prove())
	s.times = append(s.times, time.Since(start))
	s.cpu = append(s.cpu, processorTime()-cpu)
}

func median(v []time.Duration) float64 {
	slices.Sort(v)
	return float64(v[len(v)/2]) / 1e6
}

// BenchmarkProve is our CPU prover against gnark's, turn by turn in one run, on the same circuit, key and witness. Both
// times hold gnark's solving of the witness; ours also the verification of the proof made.
func BenchmarkProve(b *testing.B) {
	for _, log := range []int{12, 14, 17, 20} {
		for _, kind := range []string{"uniform", "bits"} {
			b.Run(fmt.Sprintf("log=%d/%s", log, kind), func(b *testing.B) { benchProve(b, kind, log) })
		}
	}
}

func benchProve(b *testing.B, kind string, log int) {
	shape, asg := benchCircuit(kind, log)
	ccs, err := frontend.Compile(ecc.BLS12_381.ScalarField(), r1cs.NewBuilder, shape)
	require.NoError(b, err)
	require.NoError(b, gnarkcs.AppendInputRows(ccs))
	full, err := frontend.NewWitness(asg, ecc.BLS12_381.ScalarField())
	require.NoError(b, err)
	c, err := gnarkcs.Compile(b.Context(), ccs, gnarkcs.Config{KeepEvaluations: true})
	require.NoError(b, err)
	require.Equal(b, 1<<log, c.System().DomainSize())
	k, err := groth16.Setup(b.Context(), c.System(), groth16.SetupOptions{})
	require.NoError(b, err)
	defer func() { require.NoError(b, k.Close()) }()
	pk, err := keys.ExportProvingKey(b.Context(), c, k)
	require.NoError(b, err)
	m, n := engines(b)
	p, err := groth16.NewProver(b.Context(), groth16.Compose(m, n), c.System(), k, groth16.Config{})
	require.NoError(b, err)
	defer func() { require.NoError(b, p.Close()) }()
	solved, err := c.Solve(b.Context(), full)
	require.NoError(b, err)
	defer func() { require.NoError(b, solved.Close()) }()
	sides := []*benchSide{
		{name: "ours", prove: func() error {
			a, err := c.Solve(b.Context(), full)
			if err != nil {
				return err
			}
			defer a.Close()
			_, _, err = p.Prove(b.Context(), a)
			return err
		}},
		{name: "gnark", prove: func() error { return gnarkProve(ccs.(*cs.R1CS), pk, full) }},
		{name: "solved", prove: func() error { _, _, err := p.Prove(b.Context(), solved); return err }},
	}
	if s, closeDevice := deviceSide(b, c, k, full); s != nil {
		defer closeDevice()
		sides = append(sides, s)
	}
	b.Run("turns", func(b *testing.B) {
		for _, s := range sides {
			require.NoError(b, s.prove()) // once unmeasured: pages, tables
			s.times, s.cpu = nil, nil
		}
		b.ResetTimer()
		for i := range b.N {
			for j := range sides {
				sides[(i+j)%len(sides)].turn(b)
			}
		}
		for _, s := range sides {
			b.ReportMetric(median(s.times), s.name+"-ms")
			b.ReportMetric(median(s.cpu), s.name+"-cpu-ms")
		}
		if len(sides) > 3 {
			b.ReportMetric(median(sides[1].times)/median(sides[3].times), "gnark/gpu")
		}
		b.ReportMetric(median(sides[1].times)/median(sides[0].times), "gnark/ours")
		b.ReportMetric(median(sides[1].cpu)/median(sides[0].cpu), "gnark/ours-cpu")
		b.ReportMetric(float64(c.System().Fields())/float64(c.System().Aux()), "fields/aux")
	})
}

// deviceSide is ours on the first GPU, nil without one.
func deviceSide(b *testing.B, c *gnarkcs.Circuit, k *groth16.ProvingKey, full witness.Witness) (_ *benchSide, closeDevice func()) {
	d, err := gpu.Open(gpu.Options{})
	if errors.Is(err, gpu.ErrNoLibrary) || errors.Is(err, gpu.ErrNoDriver) || errors.Is(err, gpu.ErrNoDevice) {
		return nil, nil
	}
	require.NoError(b, err)
	p, err := groth16.NewProver(b.Context(), d, c.System(), k, groth16.Config{})
	require.NoError(b, err)
	closeDevice = func() {
		require.NoError(b, p.Close())
		require.NoError(b, d.Close())
	}
	return &benchSide{name: "gpu", prove: func() error {
		a, err := c.Solve(b.Context(), full)
		if err != nil {
			return err
		}
		defer a.Close()
		_, _, err = p.Prove(b.Context(), a)
		return err
	}}, closeDevice
}

func gnarkProve(r *cs.R1CS, pk *gnark.ProvingKey, w witness.Witness) error {
	_, err := gnark.Prove(r, pk, w)
	return err
}
