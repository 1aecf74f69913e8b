// Package update is the EmptySectorUpdate proof (SnapDeals: new data in a committed-capacity sector): the vanilla proofs (bincode
// and JSON forms, challenges, and the check that they hold), the public inputs, and the circuit.
//
// It reads no sector files. Node software uses the root package instead, which puts proving around it.
package update
