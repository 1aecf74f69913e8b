package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// Axis is a knob as the command line and the reports name it.
type Axis struct {
	Name   string
	ID     string // its name in the Phase 4 story, if it has one
	About  string
	Values []string // those worth comparing; Set takes others of the same form too
	Phases []string // spans that it can touch; "total" always
	Set    func(s *Settings, value string) error
	Get    func(s *Settings) string
}

// phases that several knobs touch
var (
	directPhases = []string{"synth.direct"}
	sumPhases    = []string{"msm.h", "msm.l", "msm.a", "msm.b1", "msm.b2"}
	bitPhases    = []string{"prep", "msm.l", "msm.a", "msm.b1", "msm.b2"}
	provePhases  = append([]string{"prep", "synth.eval", "ntt.quotient"}, sumPhases...)
	pinPhases    = []string{"pin", "prep", "synth.eval", "ntt.quotient", "key.load"}
	allPhases    = append([]string{"synth.witness", "synth.direct", "pin", "key.load", "verify"}, provePhases...)
)

// axes are all knobs.
func axes() []Axis {
	list := []Axis{
		text("backend", "", "which backend computes the sums", []string{"cpu", "gpu", "gpu-engines"}, provePhases, func(s *Settings) *string { return &s.Backend }),
		number64("device-memory", "", "bytes that may be held on the device, to imitate a smaller card; 0 = what is free", []string{"0", "17179869184", "25769803776"},
			append([]string{"key.load"}, provePhases...), func(s *Settings) *int64 { return &s.DeviceMemory }),
		text("synthesis", "", "compiled system with a compact witness, or everything anew for each proof", []string{"compiled", "direct"},
			[]string{"synth.witness", "synth.direct", "synth.eval"}, func(s *Settings) *string { return &s.Synthesis }),
		text("evaluation", "", "compiled synthesis, work synth or prover: a, b, c in chunks that are used again, or in three whole vectors", []string{"stream", "whole"},
			[]string{"synth.eval", "prep", "pin"},
			func(s *Settings) *string { return &s.Evaluation }),
		number("inline", "A1", "direct synthesis: terms that a linear combination holds without an allocation", []string{"0", "1", "2", "4", "8"}, directPhases,
			func(s *Settings) *int { return &s.Direct.InlineTerms }),
		parsed("presize", "A2", "direct synthesis: how its vectors get their room", []string{"none", "exact", "chunked"}, directPhases,
			func(s *Settings) *synth.Presize { return &s.Direct.Presize }, synth.ParsePresize),
		toggle("hugepages", "A2", "direct synthesis: huge pages under mapped vectors", directPhases, func(s *Settings) *bool { return &s.Direct.HugePages }),
		toggle("prefault", "A2", "direct synthesis: touch mapped vectors ahead of use", directPhases, func(s *Settings) *bool { return &s.Direct.Prefault }),
		number("presize-chunk", "A2", "direct synthesis: bytes of a chunk", []string{"0", "4194304", "67108864"}, directPhases,
			func(s *Settings) *int { return &s.Direct.ChunkBytes }),
		parsed("pages", "", "compiled synthesis: pages under the witness, and under whole vectors a, b, c", []string{"auto", "base", "huge"},
			append([]string{"synth.witness"}, pinPhases...),
			func(s *Settings) *synth.Pages { return &s.Assign.Pages }, synth.ParsePages),
		text("bits", "", "bit-aware sums, or each bit a scalar", []string{"aware", "dense"}, bitPhases, func(s *Settings) *string { return &s.Bits }),
		parsed("b2", "A4", "where the sum in G2 runs", []string{"auto", "sequential", "parallel", "device"}, provePhases,
			func(s *Settings) *groth16.Place { return &s.Prove.B2.Place }, groth16.ParsePlace),
		number("b2-threads", "A4", "threads of the sum in G2; 0 = all", []string{"0", "1", "2"}, provePhases, func(s *Settings) *int { return &s.Prove.B2.Threads }),
		parsed("pin", "B1", "which host memory is page-locked, and when", []string{"auto", "none", "register", "register-once", "pool", "ring"},
			pinPhases, func(s *Settings) *pinning.Policy { return &s.Prove.Pinning.Policy }, pinning.ParsePolicy),
		number64("pin-chunk", "B1", "bytes of one registration or of a ring's chunk; 0 = choose", []string{"0", "16777216", "67108864"},
			pinPhases, func(s *Settings) *int64 { return &s.Prove.Pinning.ChunkBytes }),
		number("pin-ring", "B1", "chunks of a ring; 0 = choose", []string{"0", "2", "4"}, pinPhases,
			func(s *Settings) *int { return &s.Prove.Pinning.RingChunks }),
		parsed("pin-node", "B1", "memory node of page-locked memory that the prover allocates, where there is more than one", []string{"any", "0", "1"}, pinPhases,
			func(s *Settings) *pinning.Node { return &s.Prove.Pinning.Node }, pinning.ParseNode),
		parsed("evaluate", "", "where a, b, c are computed", []string{"auto", "host", "device"}, pinPhases,
			func(s *Settings) *groth16.Place { return &s.Prove.Evaluate }, groth16.ParsePlace),
		parsed("key", "", "key kept in the backend's form, or converted chunk by chunk in each call", []string{"auto", "resident", "streamed"},
			append([]string{"key.load"}, sumPhases...), func(s *Settings) *groth16.Residence { return &s.Prove.Key.Residence }, parseResidence),
		number("key-chunk", "", "points of a streamed chunk; 0 = choose", []string{"0", "262144", "1048576"}, append([]string{"key.load"}, sumPhases...),
			func(s *Settings) *int { return &s.Prove.Key.ChunkPoints }),
		number("circuits", "", "circuits of one run", []string{"1", "2", "4", "10"}, allPhases, func(s *Settings) *int { return &s.Circuits }),
		number("circuits-per-call", "", "circuits that share a call of the backend; 0 = choose", []string{"0", "1", "2", "4", "10"}, provePhases,
			func(s *Settings) *int { return &s.Prove.CircuitsPerCall }),
		number("inflight", "", "circuits between the start of their witness and the end of their proof, which overlap; 0 = all witnesses before the first proof",
			[]string{"0", "1", "2", "4"}, allPhases, func(s *Settings) *int { return &s.InFlight }),
		number("workers", "", "calls that the prover, and so a device, gets at the same time", []string{"1", "2", "4"}, allPhases, func(s *Settings) *int { return &s.Workers }),
		parsed("msm-kernel", "", "point additions of the host's sums", []string{"auto", "generic", "ifma"}, sumPhases,
			func(s *Settings) *msm.Kernel { return &s.MSM.Kernel }, parseKernel),
		parsed("ntt-kernel", "", "transforms of the host", []string{"auto", "generic", "ifma"}, []string{"ntt.quotient"},
			func(s *Settings) *ntt.Kernel { return &s.NTT.Kernel }, parseNTTKernel),
		toggle("ntt-no-tables", "", "the host's generic transforms compute twiddles as they go", []string{"ntt.quotient"}, func(s *Settings) *bool { return &s.NTT.NoTables }),
		number("pass-points", "", "points that go through the windows together; 0 = choose", []string{"0", "262144", "1048576"}, sumPhases,
			func(s *Settings) *int { return &s.MSM.PassPoints }),
		toggle("check-satisfied", "", "check the assignment before proving", []string{"prove"}, func(s *Settings) *bool { return &s.Prove.CheckSatisfied }),
		toggle("skip-self-check", "", "return proofs unverified", []string{"verify"}, func(s *Settings) *bool { return &s.Prove.SkipSelfCheck }),
		threadsAxis(),
	}
	return append(list, windowAxes()...)
}

// windowAxes are D4: one knob for all sums, and one for each.
func windowAxes() []Axis {
	values := []string{"0", "8", "10", "12", "14", "16"}
	each := []struct {
		name, phase string
		at          func(w *groth16.Windows) *int
	}{
		{"h", "msm.h", func(w *groth16.Windows) *int { return &w.H }}, {"l", "msm.l", func(w *groth16.Windows) *int { return &w.L }},
		{"a", "msm.a", func(w *groth16.Windows) *int { return &w.A }}, {"b1", "msm.b1", func(w *groth16.Windows) *int { return &w.B1 }},
		{"b2", "msm.b2", func(w *groth16.Windows) *int { return &w.B2 }},
	}
	all := Axis{Name: "window", ID: "D4", About: "bits of the windows of all sums; 0 = choose for each", Values: values, Phases: sumPhases}
	all.Set = func(s *Settings, v string) error {
		n, err := strconv.Atoi(v)
		for _, e := range each {
			*e.at(&s.Prove.Windows) = n
		}
		return err
	}
	all.Get = func(s *Settings) string { return strconv.Itoa(s.Prove.Windows.H) }
	out := []Axis{all}
	for _, e := range each {
		out = append(out, number("window-"+e.name, "D4", "bits of the windows of "+e.phase+"; 0 = choose", values, []string{e.phase},
			func(s *Settings) *int { return e.at(&s.Prove.Windows) }))
	}
	return out
}

// threadsAxis sets the threads of witness and proof together.
func threadsAxis() Axis {
	return Axis{Name: "threads", About: "threads of every stage; 0 = all cores", Values: []string{"0", "1", "2"}, Phases: allPhases,
		Set: func(s *Settings, v string) error {
			n, err := strconv.Atoi(v)
			s.Assign.Threads, s.Prove.Threads, s.NTT.Threads = n, n, n
			return err
		},
		Get: func(s *Settings) string { return strconv.Itoa(s.Prove.Threads) }}
}

func text(name, id, about string, values, phases []string, at func(*Settings) *string) Axis {
	return Axis{name, id, about, values, phases, func(s *Settings, v string) error {
		for _, known := range values {
			if v == known {
				*at(s) = v
				return nil
			}
		}
		return fmt.Errorf("one of %s", strings.Join(values, ", "))
	}, func(s *Settings) string { return *at(s) }}
}

func parsed[T fmt.Stringer](name, id, about string, values, phases []string, at func(*Settings) *T, parse func(string) (T, error)) Axis {
	return Axis{name, id, about, values, phases, func(s *Settings, v string) (err error) {
		*at(s), err = parse(v)
		return err
	}, func(s *Settings) string { return (*at(s)).String() }}
}

func number(name, id, about string, values, phases []string, at func(*Settings) *int) Axis {
	return Axis{name, id, about, values, phases, func(s *Settings, v string) (err error) {
		*at(s), err = strconv.Atoi(v)
		return err
	}, func(s *Settings) string { return strconv.Itoa(*at(s)) }}
}

func number64(name, id, about string, values, phases []string, at func(*Settings) *int64) Axis {
	return Axis{name, id, about, values, phases, func(s *Settings, v string) (err error) {
		*at(s), err = strconv.ParseInt(v, 10, 64)
		return err
	}, func(s *Settings) string { return strconv.FormatInt(*at(s), 10) }}
}

func toggle(name, id, about string, phases []string, at func(*Settings) *bool) Axis {
	return Axis{name, id, about, []string{"off", "on"}, phases, func(s *Settings, v string) error {
		if v != "on" && v != "off" {
			return fmt.Errorf("on or off")
		}
		*at(s) = v == "on"
		return nil
	}, func(s *Settings) string { return map[bool]string{false: "off", true: "on"}[*at(s)] }}
}

func parseResidence(v string) (groth16.Residence, error) {
	for r := groth16.ResidenceAuto; r <= groth16.ResidenceStreamed; r++ {
		if r.String() == v {
			return r, nil
		}
	}
	return 0, fmt.Errorf("auto, resident or streamed")
}

func parseNTTKernel(v string) (ntt.Kernel, error) {
	for k := ntt.KernelAuto; (ntt.Config{Kernel: k}).Validate() == nil; k++ {
		if k.String() == v {
			return k, nil
		}
	}
	return 0, fmt.Errorf("auto, generic or ifma")
}

func parseKernel(v string) (msm.Kernel, error) {
	c, err := msm.Parse("kernel=" + v)
	return c.Kernel, err
}

// axisNamed finds a knob.
func axisNamed(name string) (Axis, error) {
	for _, a := range axes() {
		if a.Name == name {
			return a, nil
		}
	}
	return Axis{}, fmt.Errorf("no knob %q; bench ab -list names them", name)
}
