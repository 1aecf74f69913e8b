// Package keys converts gnark's Groth16 keys and proofs over BLS12-381 to those of package groth16 and back.
//
// What converts exactly:
//
//   - Verifying keys and proofs, both ways, whatever the circuit: the equation that is checked is the same.
//   - Proving keys, both ways, for a gnark system that ends with the rows of gnarkcs.AppendInputRows. The h query is the
//     same N-1 points tau^i·(tau^N-1)/delta, which gnark keeps in bit-reversed order; l is gnark's K; a and b are gnark's A
//     and B, whose points at infinity both leave out. The roots of unity and the sign of the quotient are the same.
//
// What does not:
//
//   - The proving key of a gnark system without those rows. bellperson's key has L_{n+i}(tau), the rows' Lagrange
//     polynomials, in the points of the inputs of a and ic, and nobody can add them to a finished key. [ImportProvingKey]
//     gives [ErrInputRows]; [NewPlainProver] proves under such a key as it is, with any engines of packages msm and ntt.
//   - Keys with commitments ([gnarkcs.ErrCommitment]).
//   - A verifying key with a point at infinity where bellperson allows none: gnark makes one for a public input that occurs
//     in no row, and such a proof would hold for every value of that input.
package keys
