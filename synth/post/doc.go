// Package post is the FallbackPoSt proof of spacetime, winning and window: vanilla proofs of sectors (bincode and JSON forms,
// challenges, assembly into partitions, and the check that they hold), the public inputs, and the circuit.
//
// It reads no sector files. Node software uses the root package instead, which puts proving around it.
package post
