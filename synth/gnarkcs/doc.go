// Package gnarkcs turns circuits compiled by gnark (v0.16, BLS12-381, R1CS) into constraint systems and witnesses of
// package synth, so that they are proved by the same provers as any other circuit.
//
// gnark's frontend compiles the circuit and gnark's solver, hints included, computes the witness; [Compile] takes over the
// rows, [Circuit.Solve] and [Circuit.Assign] the values. Wires that some row forces to 0 or 1 are recognised and packed as
// bits. Public inputs keep their order, with the constant one first; row i of the system is constraint i of gnark.
//
// gnark's commitments (api.Commit, and whatever of its standard library uses them: lookups, range checks, emulated fields)
// are another proof system and refused with [ErrCommitment]; so are PLONK's sparse systems and other curves.
//
// Our proof system, bellperson's, appends for every public input x the row x * 0 = 0, which gnark does not have. Proofs and
// verifying keys are the same all the same; proving keys are those of one and the same system only where gnark's has the
// rows too: see [AppendInputRows] and package gnarkcs/keys.
//
// Who writes a circuit anew and wants the smallest and fastest witness should write it to synth.Builder instead.
package gnarkcs
