package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/bench/shapes"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
	"golang.org/x/sync/errgroup"
)

// Outcome is what one run of an arm gave.
type Outcome struct {
	Cost    Cost
	Records []span.Record
	Checks  [][32]byte           // of each circuit's results, which no knob may change
	Device  int64                // most bytes held on a device during the run
	Pinned  int64                // bytes of page-locked memory of the library and of ours at its end
	Locks   *pinning.LockerStats // page-locking by the host's side of the arm since it was bound; nil where there is none
}

// workload is a circuit with values, and for proofs a key: what all arms of a comparison share.
type workload struct {
	shape string
	prove bool
	ready bool // witnesses are made once for each arm, before its first run
	sys   *synth.System
	cases []shapes.Case
	key   *groth16.ProvingKey
	gpus  devices
}

// mixRows reads the logarithm of the number of rows of a made-up circuit, mix-16 to mix-27; ok is false for other shapes.
func mixRows(shape string) (log int, ok bool, err error) {
	s, ok := strings.CutPrefix(shape, "mix-")
	if !ok {
		return 0, false, nil
	}
	log, err = strconv.Atoi(s)
	if err != nil || log < 16 || log > 27 {
		return 0, true, fmt.Errorf("%q: mix-16 to mix-27", shape)
	}
	return log, true, nil
}

// checkShape says whether there is such a circuit.
func checkShape(shape string) error {
	_, mix, err := mixRows(shape)
	if !mix {
		_, err = shapes.Parse(shape)
	}
	return err
}

// circuitsOf gives a shape's blank circuit and as many with values. "mix-20" is a circuit of 2^20 rows, for quick looks.
func circuitsOf(ctx context.Context, shape string, n int) (synth.Circuit, []shapes.Case, error) {
	if log, mix, err := mixRows(shape); mix {
		if err != nil {
			return nil, nil, err
		}
		m, err := shapes.MixOf(ctx, 1<<log)
		if err != nil {
			return nil, nil, err
		}
		var cases []shapes.Case
		for i := range n {
			m.Seed = uint64(i) + 1
			cases = append(cases, shapes.Case{Circuit: m, Public: []fr.Element{fr.NewElement(m.Seed)}})
		}
		return m, cases, nil
	}
	sh, err := shapes.Parse(shape)
	if err != nil {
		return nil, nil, err
	}
	blank, err := sh.Blank()
	if err != nil {
		return nil, nil, err
	}
	cases, err := sh.Synthetic(ctx, 1, n)
	return blank, cases, err
}

// newWorkload compiles the shape and makes values for n circuits; with prove it opens or makes a key in dir.
func newWorkload(ctx context.Context, shape string, n int, prove bool, dir string) (*workload, error) {
	w := &workload{shape: shape, prove: prove}
	return w, w.load(ctx, n, dir, nil)
}

// load compiles the shape, makes values for n circuits, and opens or makes the key; maker, if not nil, makes its points.
func (w *workload) load(ctx context.Context, n int, dir string, maker groth16.FixedBase) error {
	blank, cases, err := circuitsOf(ctx, w.shape, n)
	if err != nil {
		return err
	}
	w.cases = cases
	if w.sys, err = synth.Compile(ctx, blank); err != nil || !w.prove {
		return err
	}
	w.key, err = benchKey(ctx, w.sys, w.shape, dir, maker)
	return err
}

func (w *workload) close() error {
	err := w.gpus.close()
	if w.key != nil {
		err = errors.Join(err, w.key.Close())
	}
	return err
}

// benchKey is a key with a published trapdoor, good for measurements only, kept in dir (default: the user's cache).
func benchKey(ctx context.Context, sys *synth.System, shape, dir string, maker groth16.FixedBase) (*groth16.ProvingKey, error) {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("-keys: %w", err)
		}
		dir = filepath.Join(cache, "filgroth", "bench")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	d, err := sys.Digest(ctx)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%x.params", shape, d[:8]))
	key, err := groth16.OpenProvingKey(path)
	switch {
	case err == nil:
		key.SetR1CS(d)
		return key, nil
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "bench: making a forgeable key for %s in %s\n", shape, dir)
	return groth16.SetupFile(ctx, sys, path, groth16.SetupOptions{Trapdoor: groth16.DevTrapdoor("filgroth-bench-" + shape), FixedBase: maker})
}

// bound is an arm ready to run.
type bound struct {
	w      *workload
	s      Settings
	prover groth16.Prover
	seen   *sumsSeen
	host   hostSide
	ready  []*synth.Assignment // where the witnesses are not part of the runs
}

// bind prepares an arm. A value that this machine or backend cannot run is groth16.ErrUnavailable or msm.ErrUnavailable.
func (w *workload) bind(ctx context.Context, s Settings) (*bound, error) {
	b := &bound{w: w, s: s}
	if need, have := w.synthBytes(s), pinning.SystemMemory(); have > 0 && need > have/20*19 {
		return nil, fmt.Errorf("%w: synthesis takes some %s here, the machine has %s", groth16.ErrUnavailable, bytesString(need), bytesString(have))
	}
	if !w.prove {
		return b, nil
	}
	backend, host, err := newBackend(&s, &w.gpus)
	if err != nil {
		return nil, err
	}
	b.seen, b.host = &sumsSeen{Backend: backend}, host
	if b.prover, err = groth16.NewProver(ctx, b.seen, w.sys, w.key, s.Prove); err == nil && w.ready {
		err = b.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// synthBytes estimates the memory of a run's synthesis. Vectors that grow by appending hold their last copy, the one before it, and
// what the collector has not taken back yet.
func (w *workload) synthBytes(s Settings) int64 {
	rows, aux := int64(w.sys.Constraints()), int64(w.sys.Aux())
	n := aux/8 + int64(w.sys.Fields())*32
	switch {
	case s.Synthesis == "direct" && s.Direct.Presize == synth.PresizeNone:
		n += (3*rows + aux) * 32 * 5 / 2
	case s.Synthesis == "direct":
		n += (3*rows + aux) * 32
	case (!w.prove || w.ready) && s.Evaluation == "whole":
		n += 3 * rows * 32
	}
	return n * int64(s.Circuits)
}

func (b *bound) close() error {
	var err error
	if b.prover != nil {
		err = b.prover.Close()
	}
	if b.host != nil {
		err = errors.Join(err, b.host.close())
	}
	return errors.Join(err, closeAssignments(b.ready))
}

// isUnavailable says whether an error only means that this machine cannot.
func isUnavailable(err error) bool {
	return errors.Is(err, groth16.ErrUnavailable) || errors.Is(err, msm.ErrUnavailable) || errors.Is(err, ntt.ErrUnavailable)
}

// run makes the witnesses and proofs of one iteration. Hashing results for the comparison is not measured.
func (b *bound) run(ctx context.Context) (*Outcome, error) {
	rec := span.NewRecorder()
	sctx := span.With(ctx, rec)
	n := b.s.Circuits
	if n > len(b.w.cases) {
		return nil, fmt.Errorf("%d circuits, %d prepared", n, len(b.w.cases))
	}
	as := make([]*synth.Assignment, n)
	copy(as, b.ready)
	var results []groth16.Result
	if b.seen != nil {
		b.seen.reset()
	}
	var out Outcome
	var err error
	b.w.gpus.resetPeaks()
	out.Cost, err = measure(func() (err error) {
		results, err = b.work(sctx, as)
		return err
	})
	held := b.w.gpus.held()
	out.Device, out.Pinned = held.DevicePeak, held.Pinned+pinning.LockedBytes()
	if b.host != nil {
		s := b.host.locks()
		out.Locks = &s
	}
	if err == nil {
		out.Records = rec.Records()
		out.Checks, err = b.check(ctx, as, results)
	}
	if b.ready == nil && !b.overlapped() {
		err = errors.Join(err, closeAssignments(as))
	}
	return &out, err
}

// work is what a run measures: as is filled, or ready.
func (b *bound) work(ctx context.Context, as []*synth.Assignment) ([]groth16.Result, error) {
	if b.overlapped() {
		return b.overlap(ctx, as)
	}
	for i := range as {
		if as[i] != nil {
			continue
		}
		var err error
		if as[i], err = b.assign(ctx, b.w.cases[i].Circuit); err != nil {
			return nil, err
		}
	}
	if !b.w.prove {
		return nil, b.evaluate(ctx, as)
	}
	return b.proveAll(ctx, as)
}

func closeAssignments(as []*synth.Assignment) (err error) {
	for _, a := range as {
		if a != nil {
			err = errors.Join(err, a.Close())
		}
	}
	return err
}

func (b *bound) assign(ctx context.Context, c synth.Circuit) (*synth.Assignment, error) {
	if b.s.Synthesis == "direct" {
		return synth.DirectSynthesize(ctx, c, b.w.sys, b.s.Direct)
	}
	return synth.AssignWitness(ctx, c, b.w.sys, b.s.Assign)
}

// evaluate completes synthesis where the assignment does not have a, b, c.
func (b *bound) evaluate(ctx context.Context, as []*synth.Assignment) error {
	n := b.w.sys.Constraints()
	for _, a := range as {
		if a.Eval != nil {
			continue
		}
		if b.s.Evaluation == "stream" {
			ctx, sp := span.Start(ctx, "synth.eval")
			err := b.stream(ctx, a, func(_, _, _ []fr.Element) {})
			sp.End()
			if err != nil {
				return err
			}
			continue
		}
		// a buffer each: two page-locked vectors must not share a page
		var v [3][]fr.Element
		for k := range v {
			buf, err := pinning.AllocWith(n*32, "a, b, c", pinning.Options{HugePages: b.s.Assign.Pages != synth.PagesBase, BasePages: b.s.Assign.Pages == synth.PagesBase})
			if err != nil {
				return err
			}
			a.AddBuffer(buf)
			v[k] = pinning.Slice[fr.Element](buf, n)
		}
		a.Eval = &synth.Evaluations{A: v[0], B: v[1], C: v[2]}
		if err := b.w.sys.Evaluate(ctx, a, a.Eval.A, a.Eval.B, a.Eval.C, b.s.Assign.Threads); err != nil {
			return err
		}
	}
	return nil
}

// streamChunk is the number of rows of a chunk.
const streamChunk = 1 << 18

func (b *bound) stream(ctx context.Context, a *synth.Assignment, f func(a, b, c []fr.Element)) error {
	return b.w.sys.EvaluateStream(ctx, a, streamChunk, b.s.Assign.Threads, func(_ int, x, y, z []fr.Element) error {
		f(x, y, z)
		return nil
	})
}

// proveAll spreads the assignments over the workers.
func (b *bound) proveAll(ctx context.Context, as []*synth.Assignment) ([]groth16.Result, error) {
	calls := min(b.s.Workers, len(as))
	out := make([]groth16.Result, len(as))
	g, gctx := errgroup.WithContext(ctx)
	for i := range calls {
		lo, hi := i*len(as)/calls, (i+1)*len(as)/calls
		g.Go(func() error {
			rs, err := b.prover.ProveBatch(gctx, as[lo:hi])
			copy(out[lo:hi], rs)
			return err
		})
	}
	return out, g.Wait()
}

// check verifies the proofs and hashes for each circuit what must be equal in all arms: witness with a, b, c, or the sums before
// blinding.
func (b *bound) check(ctx context.Context, as []*synth.Assignment, results []groth16.Result) ([][32]byte, error) {
	if b.w.prove {
		vk := b.w.key.VerifyingKey()
		for i, r := range results {
			if r.Err != nil {
				return nil, fmt.Errorf("circuit %d: %w", i, r.Err)
			}
			ok, err := groth16.Verify(vk, b.w.cases[i].Public, r.Proof)
			if err != nil || !ok {
				return nil, fmt.Errorf("circuit %d: the proof does not verify: %w", i, err)
			}
		}
		return b.seen.take(as), nil
	}
	out := make([][32]byte, len(as))
	for i, a := range as {
		all := sha256.New()
		all.Write(rawElements(a.Inputs))
		all.Write(rawElements(a.Fields))
		parts := [3]hash.Hash{sha256.New(), sha256.New(), sha256.New()}
		add := func(vs ...[]fr.Element) {
			for k := range parts {
				parts[k].Write(rawElements(vs[k]))
			}
		}
		if e := a.Eval; e != nil {
			add(e.A, e.B, e.C)
		} else if err := b.stream(ctx, a, func(x, y, z []fr.Element) { add(x, y, z) }); err != nil {
			return nil, err
		}
		for k := range parts {
			all.Write(parts[k].Sum(nil))
		}
		all.Sum(out[i][:0])
	}
	return out, nil
}
