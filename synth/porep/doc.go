// Package porep is the StackedDRG proof of replication: the vanilla proofs of SealCommitPhase1 (their JSON and bincode forms,
// graph, labels, challenges, and the check that they hold), the public inputs, and the circuit.
//
// It neither seals nor reads sector files. Node software uses the root package instead, which puts proving around it.
package porep
