package bundle

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/synth"
)

// Bundle is an open bundle. It is safe for concurrent use. What its methods give belongs to it and ends with Close.
type Bundle struct {
	path      string
	r1cs      synth.Digest
	keyDigest [64]byte
	keyID     [32]byte
	sys       *synth.System
	a         *synth.Assignment
	vk        *groth16.VerifyingKey
	key       *groth16.ProvingKey
	note      string
	unmap     func() error

	mu     sync.RWMutex
	closed bool
}

// System is the constraint system.
func (b *Bundle) System() *synth.System { return b.sys }

// Assignment is the witness with the public inputs.
func (b *Bundle) Assignment() *synth.Assignment { return b.a }

// R1CS is the digest of the system that the header names.
func (b *Bundle) R1CS() synth.Digest { return b.r1cs }

// KeyDigest is the BLAKE2b-512 of the key's .params encoding; ok is false where the bundle was made without a key.
func (b *Bundle) KeyDigest() (d [64]byte, ok bool) { return b.keyDigest, b.keyDigest != [64]byte{} }

// VerifyingKey is that of the key, or nil.
func (b *Bundle) VerifyingKey() *groth16.VerifyingKey { return b.vk }

// Key is the embedded key, or nil.
func (b *Bundle) Key() *groth16.ProvingKey { return b.key }

// Note is the text.
func (b *Bundle) Note() string { return b.note }

// Close gives everything back after running calls. A second Close is ErrClosed.
func (b *Bundle) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	b.closed = true
	err := b.a.Close()
	if b.key != nil {
		err = errors.Join(err, b.key.Close())
	}
	if b.unmap != nil {
		err = errors.Join(err, b.unmap())
	}
	return err
}

func (b *Bundle) enter() error {
	b.mu.RLock()
	if b.closed {
		b.mu.RUnlock()
		return ErrClosed
	}
	return nil
}

// Check does what takes a while: it computes the digest of the system's rows and that of an embedded key anew, and then
// whether the assignment satisfies the system, with a *synth.UnsatisfiedError that names the first row where not.
func (b *Bundle) Check(ctx context.Context, threads int) error {
	if err := b.enter(); err != nil {
		return err
	}
	defer b.mu.RUnlock()
	cps, err := b.sys.DigestCheckpoints(ctx, 0, nil)
	if err != nil {
		return err
	}
	if d := cps[len(cps)-1].Digest; d != b.r1cs {
		return &FormatError{b.path, sectionNames[secSystem], -1, fmt.Errorf("its rows have the digest %x, the header says %x", d, b.r1cs)}
	}
	if b.key != nil {
		d, err := b.key.Digest(ctx)
		if err != nil {
			return err
		}
		if d != b.keyDigest {
			return &FormatError{b.path, sectionNames[secKey], -1, fmt.Errorf("digest %x, the header says %x", d, b.keyDigest)}
		}
	}
	return b.sys.Satisfied(ctx, b.a, threads)
}

// Prove proves the bundle with a backend. key may be nil where one is embedded; another key than the bundle's (by its
// Identity) is ErrKey.
func (b *Bundle) Prove(ctx context.Context, backend groth16.Backend, key *groth16.ProvingKey, cfg groth16.Config) (*groth16.Proof, *groth16.Report, error) {
	if err := b.enter(); err != nil {
		return nil, nil, err
	}
	defer b.mu.RUnlock()
	if key == nil {
		key = b.key
	}
	if key == nil {
		return nil, nil, fmt.Errorf("%w: none embedded and none given; its digest is %x", ErrKey, b.keyDigest)
	}
	if b.keyID != [32]byte{} {
		id, err := key.Identity()
		if err != nil {
			return nil, nil, err
		}
		if id != b.keyID {
			return nil, nil, fmt.Errorf("%w: identity %x, the bundle was made with %x", ErrKey, id, b.keyID)
		}
	}
	p, err := groth16.NewProver(ctx, backend, b.sys, key, cfg)
	if err != nil {
		return nil, nil, err
	}
	proof, rep, err := p.Prove(ctx, b.a)
	return proof, rep, errors.Join(err, p.Close())
}

// Verify checks a proof against the bundle's public inputs and verifying key; ErrKey where it has none.
func (b *Bundle) Verify(p *groth16.Proof) (bool, error) {
	if err := b.enter(); err != nil {
		return false, err
	}
	defer b.mu.RUnlock()
	if b.vk == nil {
		return false, fmt.Errorf("%w: the bundle has no verifying key", ErrKey)
	}
	return groth16.Verify(b.vk, b.a.Public(), p)
}
