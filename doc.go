// Package filgroth turns Filecoin vanilla proofs into the Groth16 proofs that the network verifies.
//
// An [Engine] holds parameter directory, backends and memory budgets. Its methods are shaped after the calls that node
// software makes to its proofs library today ([Engine.SealCommitPhase2], [Engine.VerifySeal] and so on), with a context in
// front, a [Report] behind, typed errors, and the promise that no proof is returned that does not verify.
//
//	e, err := filgroth.New(filgroth.Config{Parameters: "/var/tmp/filecoin-proof-parameters"})
//	...
//	defer e.Close()
//	proof, report, err := e.SealCommitPhase2(ctx, c1JSON, sector, miner)
//
// Verification returns (false, nil) for a well-formed proof that is wrong and an error where it could not be decided.
// Commitments, randomness and ids are 32 bytes here; CIDs belong to the node's edge.
//
// Circuits of one's own need the packages below: synth to write and compile them, groth16 to prove. Backends other than
// the CPU (package gpu, or a third party's) are passed in Config.Backends.
package filgroth
