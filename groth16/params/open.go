package params

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/internal/regfile"
	"golang.org/x/crypto/blake2b"
)

var (
	// ErrKeyNotFound: a parameter file is missing. Keys are never made implicitly.
	ErrKeyNotFound = errors.New("params: parameter file not found")
	// ErrMismatch: files that do not belong together or to their name.
	ErrMismatch = errors.New("params: parameter file is not what its name says")
)

// FileError is the problem of one file: missing (ErrKeyNotFound), of another circuit or damaged (ErrMismatch), or unreadable.
type FileError struct {
	Circuit Circuit
	Path    string
	Err     error
	// Expected and Found say how a file differs, where that is known: a size or a digest.
	Expected, Found string
}

func (e *FileError) Error() string {
	s := fmt.Sprintf("%v: %s: %v", e.Circuit, e.Path, e.Err)
	if e.Expected != "" {
		s += fmt.Sprintf(" (expected %s, found %s)", e.Expected, e.Found)
	}
	return s
}

// Unwrap gives the cause.
func (e *FileError) Unwrap() error { return e.Err }

func fileError(c Circuit, path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrKeyNotFound, err)
	}
	return &FileError{Circuit: c, Path: path, Err: err}
}

// Open maps the circuit's .params file in dir. Its dimensions must be the circuit's, and a .vk file beside it must have
// the same verifying key.
func Open(dir string, c Circuit) (*groth16.ProvingKey, error) {
	path := filepath.Join(dir, c.ParamsFile())
	k, err := groth16.OpenProvingKey(path)
	if err != nil {
		return nil, fileError(c, path, err)
	}
	if err := c.check(k, path); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	vkPath := filepath.Join(dir, c.VKFile())
	raw, err := regfile.ReadAll(vkPath, maxVK)
	if errors.Is(err, os.ErrNotExist) {
		return k, nil
	}
	if err == nil {
		var vk *groth16.VerifyingKey
		if vk, err = groth16.ParseVerifyingKey(raw); err == nil && !vk.Equal(k.VerifyingKey()) {
			err = fmt.Errorf("%w: its verifying key is not the one in %s", ErrMismatch, c.ParamsFile())
		}
	}
	if err != nil {
		return nil, errors.Join(fileError(c, vkPath, err), k.Close())
	}
	return k, nil
}

// check compares a key's dimensions with the circuit's.
func (c Circuit) check(k *groth16.ProvingKey, path string) error {
	d, ok := c.Dimensions()
	if !ok {
		return nil
	}
	if err := c.checkInputs(k.VerifyingKey(), path); err != nil {
		return err
	}
	for s := groth16.Section(0); s < groth16.NumSections; s++ {
		if k.Len(s) != d.Section(s) {
			return &FileError{c, path, fmt.Errorf("%w: section %v", ErrMismatch, s), fmt.Sprint(d.Section(s), " points"), fmt.Sprint(k.Len(s))}
		}
	}
	return nil
}

func (c Circuit) checkInputs(vk *groth16.VerifyingKey, path string) error {
	if d, ok := c.Dimensions(); ok && vk.Inputs()+1 != d.Inputs {
		return &FileError{c, path, fmt.Errorf("%w: public inputs", ErrMismatch), fmt.Sprint(d.Inputs), fmt.Sprint(vk.Inputs() + 1)}
	}
	return nil
}

// OpenVerifyingKey reads the circuit's .vk file in dir, or where there is none the key at the head of its .params file.
func OpenVerifyingKey(dir string, c Circuit) (*groth16.VerifyingKey, error) {
	path := filepath.Join(dir, c.VKFile())
	raw, err := regfile.ReadAll(path, maxVK)
	if errors.Is(err, os.ErrNotExist) {
		k, kerr := groth16.OpenProvingKey(filepath.Join(dir, c.ParamsFile()))
		if kerr != nil {
			return nil, fileError(c, path, err)
		}
		vk := k.VerifyingKey()
		if err := k.Close(); err != nil {
			return nil, err
		}
		return vk, c.checkInputs(vk, path)
	}
	if err != nil {
		return nil, fileError(c, path, err)
	}
	vk, err := groth16.ParseVerifyingKey(raw)
	if err != nil {
		return nil, fileError(c, path, err)
	}
	if err := c.checkInputs(vk, path); err != nil {
		return nil, err
	}
	return vk, nil
}

// maxVK bounds what is read of a file that should be a verifying key (the largest deployed one has 2.5 MB).
const maxVK = 64 << 20

// PreflightConfig are the options of Preflight.
type PreflightConfig struct {
	// Digests hashes every file whole (minutes for the large ones) and compares with the deployed digests.
	Digests bool
	// VerifyOnly looks at .vk files alone.
	VerifyOnly bool
}

// Preflight looks at the files of all given circuits in dir and returns every problem at once, each a *FileError, joined;
// nil if all are there and have the right size, and digest if asked for.
func Preflight(ctx context.Context, dir string, circuits []Circuit, cfg PreflightConfig) error {
	var errs []error
	for _, c := range circuits {
		if err := ctx.Err(); err != nil {
			return err
		}
		wantParams, wantVK, known := c.Digests()
		vk := filepath.Join(dir, c.VKFile())
		if _, err := OpenVerifyingKey(dir, c); err != nil {
			errs = append(errs, err)
		} else if cfg.Digests && known {
			errs = append(errs, c.checkDigest(ctx, vk, wantVK))
		}
		if cfg.VerifyOnly {
			continue
		}
		k, err := Open(dir, c)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, k.Close())
		if cfg.Digests && known {
			errs = append(errs, c.checkDigest(ctx, filepath.Join(dir, c.ParamsFile()), wantParams))
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(errs...)
}

func (c Circuit) checkDigest(ctx context.Context, path, want string) error {
	got, err := FileDigest(ctx, path)
	if errors.Is(err, os.ErrNotExist) && strings.HasSuffix(path, ".vk") {
		return nil // its key was read from the .params file
	}
	if err != nil {
		return fileError(c, path, err)
	}
	if got != want {
		return &FileError{c, path, fmt.Errorf("%w: digest", ErrMismatch), want, got}
	}
	return nil
}

// FileDigest is the first 16 bytes of the BLAKE2b-512 of a file, in hex: the digest of parameters.json.
func FileDigest(ctx context.Context, path string) (string, error) {
	f, err := regfile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h, err := blake2b.New512(nil)
	if err != nil {
		return "", err
	}
	buf := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := f.Read(buf)
		h.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(h.Sum(nil)[:16]), nil
		}
		if err != nil {
			return "", err
		}
	}
}
