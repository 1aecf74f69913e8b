package main

import (
	"fmt"
	"strings"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// Arm is one configuration of a comparison. The first arm of a plan is what the others are compared with.
type Arm struct {
	Name     string
	Changed  []string // phases that its knobs can touch
	Settings Settings
}

// choice is a knob with the values to compare.
type choice struct {
	axis   Axis
	values []string
}

// parseChoice reads NAME=v1,v2,...
func parseChoice(s string) (choice, error) {
	name, list, ok := strings.Cut(s, "=")
	if !ok || list == "" {
		return choice{}, fmt.Errorf("-knob %q: want NAME=VALUE,VALUE", s)
	}
	a, err := axisNamed(name)
	return choice{a, strings.Split(list, ",")}, err
}

// with sets one knob of an arm and adds it to its name.
func (a Arm) with(x Axis, value string) (Arm, error) {
	if err := x.Set(&a.Settings, value); err != nil {
		return a, fmt.Errorf("knob %s=%s: %w", x.Name, value, err)
	}
	if a.Name != "" {
		a.Name += "/"
	}
	a.Name += x.Name + "=" + value
	a.Changed = append(append([]string(nil), a.Changed...), x.Phases...)
	return a, nil
}

// what a comparison measures
const (
	workSynth  = "synth"  // witness and a, b, c
	workProve  = "prove"  // witness and proof
	workProver = "prover" // the proof alone; witnesses are made once for each arm
)

// plans are the ways to combine knobs.
const (
	planEach   = "each"   // the first values together, then each other value alone
	planMatrix = "matrix" // every combination
)

// makeArms combines the choices over a base. The values may repeat: equal arms show the noise.
func makeArms(base Settings, choices []choice, plan string) ([]Arm, error) {
	if len(choices) == 0 {
		return nil, fmt.Errorf("no knob given")
	}
	var arms []Arm
	var err error
	switch plan {
	case planMatrix:
		arms = []Arm{{Settings: base}}
		for _, c := range choices {
			var next []Arm
			for _, a := range arms {
				for _, v := range c.values {
					b, err := a.with(c.axis, v)
					if err != nil {
						return nil, err
					}
					next = append(next, b)
				}
			}
			arms = next
		}
	case planEach:
		if arms, err = eachAlone(base, choices); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("plan %q: %s or %s", plan, planEach, planMatrix)
	}
	return finishArms(arms)
}

func eachAlone(base Settings, choices []choice) ([]Arm, error) {
	first := Arm{Settings: base}
	var err error
	for _, c := range choices {
		if first, err = first.with(c.axis, c.values[0]); err != nil {
			return nil, err
		}
	}
	arms := []Arm{first}
	for _, c := range choices {
		for _, v := range c.values[1:] {
			a, err := Arm{Settings: first.Settings}.with(c.axis, v)
			if err != nil {
				return nil, err
			}
			arms = append(arms, a)
		}
	}
	return arms, nil
}

// finishArms checks the settings and tells equal names apart.
func finishArms(arms []Arm) ([]Arm, error) {
	seen := map[string]int{}
	for i := range arms {
		if err := arms[i].Settings.Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", arms[i].Name, err)
		}
		seen[arms[i].Name]++
		if n := seen[arms[i].Name]; n > 1 {
			arms[i].Name += fmt.Sprintf("#%d", n)
		}
	}
	return arms, nil
}

// phase4 is what a deployed engine tried at once and had to take apart afterwards: the baseline, each change alone, all five,
// and all five without one. The baseline synthesises directly, sums in G2 on the host after everything else, locks no memory and has
// one window size for all sums (13 unless set), as that engine did. B1 needs a device, and A4 means there what it meant.
// With ready witnesses (work prover) A1 and A2 have nothing to change and are left out; a, b, c are then whole vectors of the
// host on ordinary pages, as those that the engine locked.
func phase4(base Settings, work string) ([]Arm, error) {
	base.Synthesis = "direct"
	if work == workProver {
		base.Synthesis, base.Evaluation = "compiled", "whole"
		if base.Assign.Pages == synth.PagesAuto {
			base.Assign.Pages = synth.PagesBase
		}
	}
	base.Prove.B2.Place = groth16.PlaceSequential
	base.Prove.Pinning.Policy = pinning.PolicyNone
	if base.Prove.Windows == (groth16.Windows{}) {
		base.Prove.Windows = groth16.Windows{H: 13, L: 13, A: 13, B1: 13, B2: 13}
	}
	changes := []struct{ name, knobs string }{
		{"A1", "inline=4"}, {"A2", "presize=exact"}, {"A4", "b2=parallel"}, {"B1", "pin=register"},
		{"D4", "window=0"},
	}
	together := "all-five"
	if work == workProver {
		changes, together = changes[2:], "all-three"
	}
	arm := func(name string, use func(i int) bool) (Arm, error) {
		a := Arm{Settings: base}
		for i, c := range changes {
			if !use(i) {
				continue
			}
			for _, k := range strings.Fields(c.knobs) {
				n, v, _ := strings.Cut(k, "=")
				x, err := axisNamed(n)
				if err == nil {
					a, err = a.with(x, v)
				}
				if err != nil {
					return a, err
				}
			}
		}
		a.Name = name
		return a, nil
	}
	type set struct {
		name string
		use  func(i int) bool
	}
	sets := []set{{"baseline", func(int) bool { return false }}}
	for i, c := range changes {
		sets = append(sets, set{c.name, func(k int) bool { return k == i }})
	}
	sets = append(sets, set{together, func(int) bool { return true }})
	for i, c := range changes {
		sets = append(sets, set{"all-but-" + c.name, func(k int) bool { return k != i }})
	}
	var arms []Arm
	for _, s := range sets {
		a, err := arm(s.name, s.use)
		if err != nil {
			return nil, err
		}
		arms = append(arms, a)
	}
	return finishArms(arms)
}
