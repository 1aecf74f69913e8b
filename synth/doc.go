// Package synth turns circuits into compiled constraint systems and into compact witnesses.
//
// A circuit writes itself to a Builder. Compile runs it once in Shape mode and keeps the rows as a System: templates
// (pieces that recur, a SHA-256 block for instance) and their instances. AssignWitness runs it in Assign mode, where no
// linear combination is built and bits stay bits: the result is an Assignment of some 130 million bits and two million field
// elements for a 32 GiB PoRep partition, 70 MB in all. System.Evaluate multiplies the two. DirectSynthesize does what the
// deployed prover does for every proof, and exists so that the difference can be measured.
//
// Variables, rows and their order are those of the circuit; nothing is optimised away, since the keys of the deployed
// circuits come from a ceremony over exactly these rows.
//
// Who only wants to prove a Filecoin proof should use the root package.
package synth
