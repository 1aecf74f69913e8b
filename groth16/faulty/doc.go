// Package faulty is a proving backend that counts its calls and fails as it is told to: to test the code that retries, falls
// back, times out and reports, which otherwise runs for the first time when a device breaks.
//
// [NewBackend], [NewMSM] and [NewNTT] wrap any groth16.Backend, msm.Engine and ntt.Engine of this module or of others, and
// are themselves such, written against the exported contracts alone: an example of how a backend from outside looks. Without
// faults they pass the suites of groth16test, msmtest and ntttest as what they wrap does.
//
// It is for tests and drills: a wrong point is found by the prover's self-check, unless that is switched off.
package faulty
