// Package bundle keeps one proof's whole input in one file, so that what a prover did can be done again elsewhere: the
// constraint system with its digest, the witness, the public inputs, the verifying key, the digest of the proving key and, if
// asked for, the key itself.
//
// [Write] makes the file, [Open] checks and reads it, [Bundle.Prove] proves it with any backend.
//
// A bundle holds the witness, which is what a zero-knowledge proof hides: it is written readable by its owner only and should
// not be handed to anyone who may not know the secrets in it. Who wants to keep a compiled system or a key has
// synth.System.WriteFile and groth16.ProvingKey.WriteFile.
//
// # Format, version 1
//
// All integers are little endian. Field elements are 32 bytes, little endian, canonical (below r). The header has 4096 bytes:
//
//	offset  bytes
//	     0      8  magic "FILGBNDL"
//	     8      4  version, 1
//	    12      4  number of sections, 7
//	    16     32  R1CS digest (synth.Digest)
//	    48     64  BLAKE2b-512 of the proving key in .params encoding; zero: no key was given
//	   112     32  groth16.ProvingKey.Identity of that key; zero: no key was given
//	   144  7·24  section table: offset (8), length in bytes (8), CRC-32C (4), zero (4)
//	   312   3780 zero
//	  4092      4  CRC-32C of the header up to here
//
// The sections follow in the order of the table, each at the next multiple of 64, the gaps zero:
//
//	0  system   a system file of package synth
//	1  inputs   the public inputs, the constant one first: field elements
//	2  bits     one bit for each aux variable, bit i%64 of the 8-byte word i/64; zero where the variable is not a bit
//	3  fields   the aux variables that are not bits, in order: field elements
//	4  vk       the verifying key in bellperson's .vk encoding; empty: none
//	5  key      the proving key in .params encoding; empty: not embedded
//	6  note     UTF-8 text, at most 65536 bytes
package bundle
