// Package aggregate merges many Groth16 proofs under one verifying key into a
// single proof of logarithmic size: SnarkPack (Gailly, Maller, Nitulescu,
// https://eprint.iacr.org/2021/529) in the two transcript variants that the
// Filecoin network accepts, byte for byte.
//
//	srs, err := aggregate.LoadSRS(ctx, file, aggregate.LoadConfig{})
//	padded, err := aggregate.PadProofs(proofs)
//	prover, verifier, err := srs.Specialize(len(padded))
//	out, err := aggregate.Prove(ctx, prover, padded, digest, aggregate.V2)
//	inputs, err = aggregate.PadInputs(inputs)
//	ok, err := aggregate.Verify(ctx, verifier, vk, inputs, out, digest, aggregate.V2)
//
// The aggregate is a deterministic function of the proofs, the transcript bytes,
// the version and the SRS. It does not hide the proofs and adds no zero
// knowledge. Prove does not know the verifying key, so it aggregates proofs that
// do not verify without complaint: verify the result before it leaves the machine.
//
// What goes into the transcript bytes (a digest of the commitments of all
// sectors) is the protocol's choice, not this package's; so is which version a
// network accepts. Who proves one statement, or a handful that need not be
// small on a chain, wants batch verification of plain proofs instead.
//
// Products of pairings and multiplications by scalars run on GOMAXPROCS
// goroutines. Every call may be made concurrently; [SRS] and what
// [SRS.Specialize] returns are never written after they were made.
package aggregate
