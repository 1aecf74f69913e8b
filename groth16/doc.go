// Package groth16 makes and checks Groth16 proofs over BLS12-381 as the Filecoin network knows them: bellperson's keys,
// its 192-byte proofs, its quotient argument.
//
// A key is a [ProvingKey], opened from a parameter file or made by [Setup]. [NewProver] binds it to a compiled
// constraint system and to a [Backend], which computes the five sums of a proof: [Compose] makes one of any multi-scalar
// multiplication and transform engines, package gpu has another. The prover blinds the sums and verifies its proof
// before it returns it.
//
// Who has a Filecoin sector and wants its proof should use the root package; who only verifies needs nothing but a
// [VerifyingKey]. Proofs are malleable, as Groth16 proofs are: whoever has one can make others of the same statement, so
// a proof is no identifier of anything.
package groth16
