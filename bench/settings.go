package main

import (
	"fmt"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/synth"
)

// Settings are all knobs of a run. The zero value of each knob is its package's own choice; those that exist only here start
// with what the deployed prover of this module does.
type Settings struct {
	Backend   string // "cpu", "gpu" or "gpu-engines"
	Synthesis string // "compiled" or "direct"
	// Evaluation of compiled synthesis where no proof is part of the run or the witness is ready before it: "stream" (chunk by chunk; a
	// prover then evaluates itself) or "whole" (three vectors of the host, which a prover takes).
	Evaluation string
	Direct     synth.DirectConfig
	Assign     synth.AssignConfig
	Prove      groth16.Config
	MSM        msm.Config
	NTT        ntt.Config
	Bits       string // "aware", or "dense": every bit as a scalar of its own
	// DeviceMemory bounds the bytes held on the device, so that a small card can be imitated; 0 is what is free.
	DeviceMemory int64
	Circuits     int // proved by one run
	// InFlight bounds the circuits between the start of their witness and the end of their proof, which then overlap and are proved
	// one by one; 0 makes all witnesses before the first proof.
	InFlight int
	Workers  int // calls of the prover at the same time
}

// defaultSettings are one circuit, compiled, on the host.
func defaultSettings() Settings {
	return Settings{Backend: "cpu", Synthesis: "compiled", Evaluation: "stream", Bits: "aware", Circuits: 1, Workers: 1}
}

// Validate refuses values out of range.
func (s Settings) Validate() error {
	for _, v := range []interface{ Validate() error }{s.Direct, s.Assign, s.Prove, s.MSM, s.NTT} {
		if err := v.Validate(); err != nil {
			return err
		}
	}
	switch {
	case s.Synthesis != "compiled" && s.Synthesis != "direct":
		return fmt.Errorf("synthesis %q", s.Synthesis)
	case s.Evaluation != "stream" && s.Evaluation != "whole":
		return fmt.Errorf("evaluation %q", s.Evaluation)
	case s.Bits != "aware" && s.Bits != "dense":
		return fmt.Errorf("bits %q", s.Bits)
	case s.DeviceMemory < 0:
		return fmt.Errorf("%d bytes of device memory", s.DeviceMemory)
	case s.Circuits < 1 || s.Circuits > 1<<10:
		return fmt.Errorf("%d circuits", s.Circuits)
	case s.InFlight < 0 || s.InFlight > 1<<10:
		return fmt.Errorf("%d in flight", s.InFlight)
	case s.Workers < 1 || s.Workers > 1<<10:
		return fmt.Errorf("%d workers", s.Workers)
	}
	return nil
}
