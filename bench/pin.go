package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/bench/stats"
	"github.com/filgroth/filgroth/gpu"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// pinFlags are the flags of the mode pin.
type pinFlags struct {
	bytes           byteSize
	n               int
	shape, keys     string
	out             string
	limit           time.Duration
	policies, pages []string
}

func pinMode(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	f := &pinFlags{bytes: 1 << 30, policies: []string{"none", "register", "register-once", "pool", "ring"}, pages: []string{"base", "huge"}}
	fs.Var(&f.bytes, "bytes", "size of the memory that is locked, as 1GiB")
	fs.IntVar(&f.n, "n", 10, "rounds; each does everything once")
	fs.StringVar(&f.shape, "shape", "", "also prove this circuit, a, b, c on the host, under each policy; best one of 2^23 rows or more, mix-23")
	fs.StringVar(&f.keys, "keys", "", "`directory` of forgeable measurement keys, made on the device when missing (default: the user's cache)")
	fs.DurationVar(&f.limit, "for", 0, "start no further round after this `time`; 0 = no limit")
	fs.StringVar(&f.out, "out", "", "write pin.json and pin.txt to this `directory`")
	return f.run
}

// PinResult is what the mode pin finds. Seconds have one value a round.
type PinResult struct {
	Environment Environment    `json:"environment"`
	Bytes       int64          `json:"bytes"`
	Shape       string         `json:"shape,omitempty"`
	Locks       []PinLock      `json:"locks"`
	Copies      []PinCopy      `json:"transforms"`
	Proofs      []PinProof     `json:"proofs,omitempty"`
	BreakEven   []PinBreakEven `json:"break_even"`
	Failed      string         `json:"error,omitempty"` // what ended the run before its time
}

// PinLock is what locking Bytes costs.
type PinLock struct {
	Pages      string    `json:"pages"`
	Touch      []float64 `json:"touch_s"` // first touch of every page, by one thread
	Faults     int64     `json:"touch_minor_faults"`
	Register   []float64 `json:"register_s"` // of touched memory
	Unregister []float64 `json:"unregister_s"`
	Fresh      []float64 `json:"register_untouched_s"`
}

// PinCopy is a transform, whose vector goes to the device and back.
type PinCopy struct {
	Pages   string    `json:"pages"`
	Locked  bool      `json:"locked"`
	Bytes   int64     `json:"bytes"` // both ways
	Seconds []float64 `json:"seconds"`
}

// PinProof is the sums of a proof whose a, b, c come from the host.
type PinProof struct {
	Pages       string    `json:"pages"`
	Policy      string    `json:"policy"`
	Unavailable string    `json:"unavailable,omitempty"`
	Bytes       int64     `json:"sent_bytes"`
	Send        []float64 `json:"send_s"` // spans that move them
	Pin         []float64 `json:"pin_s"`
	Total       []float64 `json:"total_s"`
}

// PinBreakEven says how often memory must be copied until locking it has paid.
type PinBreakEven struct {
	Pages   string  `json:"pages"`
	Against string  `json:"against"`
	Cost    float64 `json:"lock_and_unlock_s_per_gib"`
	Saved   float64 `json:"saved_s_per_gib_copied"`
	Uses    float64 `json:"uses"` // 0: never
}

func (f *pinFlags) run(ctx context.Context, out io.Writer) (err error) {
	if f.n < 1 || f.bytes < 1<<12 {
		return fmt.Errorf("-n %d -bytes %d: at least 1 and 4096", f.n, f.bytes)
	}
	if f.shape != "" {
		if err := checkShape(f.shape); err != nil {
			return err
		}
	}
	w := &workload{shape: f.shape, prove: true, ready: true}
	defer func() { err = errors.Join(err, w.close()) }()
	dev, err := w.gpus.get(0)
	if err != nil {
		return err
	}
	r := &PinResult{Environment: ReadEnvironment(), Bytes: int64(f.bytes), Shape: f.shape}
	return f.finish(r, f.measure(ctx, w, dev, r), out)
}

// measure does all rounds.
func (f *pinFlags) measure(ctx context.Context, w *workload, dev *gpu.Device, r *PinResult) error {
	start := time.Now()
	more := func(round int) bool {
		return round < f.n && (round == 0 || f.limit == 0 || time.Since(start) < f.limit)
	}
	for round := 0; more(round); round++ {
		if err := f.memory(ctx, dev, dev, r, round); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "\rbench: memory, round %d of %d ", round+1, f.n)
	}
	fmt.Fprintln(os.Stderr)
	if f.shape == "" {
		return nil
	}
	if err := w.load(ctx, 1, f.keys, dev.FixedBase()); err != nil {
		return err
	}
	if err := dev.Trim(); err != nil {
		return err
	}
	base := defaultSettings()
	base.Backend, base.Evaluation = "gpu", "whole"
	base.Prove.Key.Residence = groth16.ResidenceResident // of all arms, or of none
	start = time.Now()
	return f.proofs(ctx, w, base, r, more)
}

// finish shows and writes the result, also of a run that failed after some rounds.
func (f *pinFlags) finish(r *PinResult, err error, out io.Writer) error {
	if err != nil {
		r.Failed = err.Error()
		if len(r.Copies) == 0 { // an older result is worth more
			return err
		}
	}
	r.breakEven()
	r.table(out)
	if f.out == "" {
		return err
	}
	return errors.Join(err, os.MkdirAll(f.out, 0o755), writeJSON(filepath.Join(f.out, "pin.json"), r),
		writeFile(filepath.Join(f.out, "pin.txt"), func(w io.Writer) error { r.table(w); return nil }))
}

// timed adds the seconds of f to a list.
func timed(to *[]float64, f func() error) error {
	start := time.Now()
	err := f()
	*to = append(*to, time.Since(start).Seconds())
	return err
}

// at gives the entry that has a key, a new one if there is none.
func at[T any](list *[]T, is func(*T) bool, fresh T) *T {
	for i := range *list {
		if is(&(*list)[i]) {
			return &(*list)[i]
		}
	}
	*list = append(*list, fresh)
	return &(*list)[len(*list)-1]
}

func pageOptions(pages string) pinning.Options {
	return pinning.Options{HugePages: pages == "huge", BasePages: pages == "base"}
}

// memory is one round of locks and transforms; the order of the kinds of pages alternates.
func (f *pinFlags) memory(ctx context.Context, reg pinning.Registrar, engine ntt.Engine, r *PinResult, round int) error {
	for i := range f.pages {
		pages := f.pages[(i+round)%len(f.pages)]
		if err := f.locks(reg, r, pages); err != nil {
			return err
		}
		if err := f.transforms(ctx, reg, engine, r, pages, round%2 == 1); err != nil {
			return err
		}
	}
	return nil
}

// locks times what locking costs.
func (f *pinFlags) locks(reg pinning.Registrar, r *PinResult, pages string) (err error) {
	l := at(&r.Locks, func(l *PinLock) bool { return l.Pages == pages }, PinLock{Pages: pages})
	alloc := func() (*pinning.Buffer, error) {
		return pinning.AllocWith(int(f.bytes), "measured memory", pageOptions(pages))
	}
	buf, err := alloc()
	if err != nil {
		return err
	}
	before := pinning.ReadUsage().MinorFaults
	err = timed(&l.Touch, func() error { pinning.Prefault(buf.Bytes()); return nil })
	l.Faults = pinning.ReadUsage().MinorFaults - before
	if err == nil {
		err = timed(&l.Register, func() error { return reg.Register(buf.Bytes(), 0) })
	}
	if err == nil {
		err = timed(&l.Unregister, func() error { return reg.Unregister(buf.Bytes(), 0) })
	}
	if err = errors.Join(err, buf.Close()); err != nil {
		return err
	}
	if buf, err = alloc(); err != nil {
		return err
	}
	if err = timed(&l.Fresh, func() error { return reg.Register(buf.Bytes(), 0) }); err == nil {
		err = reg.Unregister(buf.Bytes(), 0)
	}
	return errors.Join(err, buf.Close())
}

// transforms times a transform of pageable and of locked memory.
func (f *pinFlags) transforms(ctx context.Context, reg pinning.Registrar, engine ntt.Engine, r *PinResult, pages string, lockedFirst bool) (err error) {
	n := 1
	for n < 1<<24 && 64*n <= int(f.bytes) {
		n *= 2
	}
	d, err := ntt.NewDomain(uint64(n))
	if err != nil {
		return err
	}
	buf, err := pinning.AllocWith(32*n, "measured vector", pageOptions(pages))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, buf.Close()) }()
	v := pinning.Slice[fr.Element](buf, n)
	for i := range v {
		v[i][0] = uint64(i)
	}
	once := func(locked bool) error {
		c := at(&r.Copies, func(c *PinCopy) bool { return c.Pages == pages && c.Locked == locked }, PinCopy{Pages: pages, Locked: locked, Bytes: 64 * int64(n)})
		if locked {
			if err := reg.Register(buf.Bytes(), 0); err != nil {
				return err
			}
		}
		err := timed(&c.Seconds, func() error { return engine.Transform(ctx, d, v, ntt.Forward, ntt.Plain) })
		if locked {
			err = errors.Join(err, reg.Unregister(buf.Bytes(), 0))
		}
		return err
	}
	if err := once(lockedFirst); err != nil {
		return err
	}
	return once(!lockedFirst)
}

// proofs measures the sums of a proof under every policy, a, b, c on both kinds of pages, interleaved.
func (f *pinFlags) proofs(ctx context.Context, w *workload, base Settings, r *PinResult, more func(int) bool) (err error) {
	var bounds []*bound
	defer func() {
		for _, b := range bounds {
			if b != nil {
				err = errors.Join(err, b.close())
			}
		}
	}()
	for _, pages := range f.pages {
		for _, policy := range f.policies {
			s := base
			if s.Assign.Pages, err = synth.ParsePages(pages); err != nil {
				return err
			}
			if s.Prove.Pinning.Policy, err = pinning.ParsePolicy(policy); err != nil {
				return err
			}
			p := PinProof{Pages: pages, Policy: policy}
			b, err := w.bind(ctx, s)
			switch {
			case err != nil && !errors.Is(err, groth16.ErrUnavailable):
				return err
			case err != nil:
				p.Unavailable, b = err.Error(), nil
			}
			bounds, r.Proofs = append(bounds, b), append(r.Proofs, p)
		}
	}
	for round := -1; more(max(round, 0)); round++ { // the first is warm-up
		for k := range bounds {
			i := (k + max(round, 0)) % len(bounds)
			if bounds[i] == nil {
				continue
			}
			o, err := bounds[i].run(ctx)
			if err != nil {
				return err
			}
			if round >= 0 {
				r.Proofs[i].note(o)
			}
		}
		fmt.Fprintf(os.Stderr, "\rbench: proofs, round %d of %d ", round+1, f.n)
	}
	fmt.Fprintln(os.Stderr)
	return nil
}

// note adds a run.
func (p *PinProof) note(o *Outcome) {
	spans := byName(o.Records)
	p.Send, p.Pin, p.Total = append(p.Send, spans["prep"].Wall.Seconds()), append(p.Pin, spans["pin"].Wall.Seconds()), append(p.Total, o.Cost.Wall)
	p.Bytes = spans["prep"].Bytes
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return stats.Median(v, 0.95).Center
}
