package filgroth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/params"
	"github.com/filgroth/filgroth/internal/atomicfile"
	"github.com/filgroth/filgroth/internal/regfile"
	"github.com/filgroth/filgroth/synth"
)

// loadKey compiles the circuit and opens its key: the deployed file, or a development key that is made if need be.
func (e *Engine) loadKey(ctx context.Context, s circuitSpec) (*synth.System, *groth16.ProvingKey, error) {
	c, err := s.blank()
	if err != nil {
		return nil, nil, err
	}
	sys, err := synth.Compile(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	key, err := e.openKey(ctx, s, sys)
	if err != nil {
		return nil, nil, errors.Join(err, sys.Close())
	}
	if err := key.CheckSystem(ctx, sys); err != nil {
		return nil, nil, errors.Join(err, key.Close(), sys.Close())
	}
	if e.cfg.CheckPoints {
		if err := key.CheckPoints(ctx, true, e.cfg.Threads); err != nil {
			return nil, nil, errors.Join(err, key.Close(), sys.Close())
		}
	}
	return sys, key, nil
}

func (e *Engine) openKey(ctx context.Context, s circuitSpec, sys *synth.System) (*groth16.ProvingKey, error) {
	id, err := s.params()
	if err != nil {
		return nil, err
	}
	if !e.cfg.DevelopmentKeys {
		if e.cfg.Parameters == "" {
			return nil, fmt.Errorf("%w: neither Parameters nor DevelopmentKeys is set", ErrConfig)
		}
		key, err := params.Open(e.cfg.Parameters, id)
		if err != nil {
			return nil, err
		}
		if err := e.refuseDevelopmentKey(id, key.VerifyingKey()); err != nil {
			return nil, errors.Join(err, key.Close())
		}
		return key, nil
	}
	path := filepath.Join(e.devDir(), id.ParamsFile())
	key, err := groth16.OpenProvingKey(path)
	if err == nil {
		if err = checkDevKey(ctx, id, key, sys); err == nil {
			return key, nil
		}
		err = errors.Join(err, key.Close())
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if !errors.Is(err, os.ErrNotExist) {
		e.cfg.Logger.Warn("development key is damaged and will be made again", "path", path, "err", err)
	}
	return e.makeDevKey(ctx, s, id, sys, path)
}

// checkDevKey says whether a cached key is the circuit's development key.
func checkDevKey(ctx context.Context, id params.Circuit, key *groth16.ProvingKey, sys *synth.System) error {
	if !id.IsDevelopmentKey(key.VerifyingKey()) {
		return fmt.Errorf("%w: not made from the published trapdoor", params.ErrMismatch)
	}
	return key.CheckSystem(ctx, sys)
}

// refuseDevelopmentKey is an error if the parameter directory holds a key whose trapdoor is published: it would prove and
// verify like a deployed one, and anyone could forge under it.
func (e *Engine) refuseDevelopmentKey(id params.Circuit, vk *groth16.VerifyingKey) error {
	if e.cfg.forgeable || !id.IsDevelopmentKey(vk) {
		return nil
	}
	return fmt.Errorf("%w: %v in %s", ErrDevelopmentKey, id, e.cfg.Parameters)
}

// devDir is apart from any parameter directory, so that a development key is never taken for a deployed one.
func (e *Engine) devDir() string { return filepath.Join(e.cfg.CacheDir, "dev") }

// staleAfter is how long a temporary file is left alone at least after the last write: writers of this machine are seen by their
// lock, those of others on a shared file system write all the time.
const staleAfter = 15 * time.Minute

func (e *Engine) makeDevKey(ctx context.Context, s circuitSpec, id params.Circuit, sys *synth.System, path string) (*groth16.ProvingKey, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if n, err := atomicfile.Sweep(filepath.Dir(path), "v28-*", staleAfter); n > 0 || err != nil { // what a killed process left may have 44 GiB
		e.cfg.Logger.Info("removed unfinished files", "directory", filepath.Dir(path), "files", n, "err", err)
	}
	e.cfg.Logger.Warn("making a DEVELOPMENT key from a published trapdoor: proofs under it can be forged by anyone",
		"circuit", s.String(), "path", path, "bytes", groth16.KeySize(sys))
	start := time.Now()
	key, err := groth16.SetupFile(ctx, sys, path, groth16.SetupOptions{Trapdoor: groth16.DevTrapdoor(id.DevelopmentTag()), Threads: e.cfg.Threads, FixedBase: e.cfg.SetupDevice,
		Progress: func(done, total int) {
			e.progress(Progress{Kind: s.Kind, Stage: "key", Done: int64(done), Total: int64(total)})
		}})
	if err != nil {
		return nil, err
	}
	vk := filepath.Join(filepath.Dir(path), id.VKFile())
	err = atomicfile.Write(vk, 0o644, func(w io.Writer) error {
		_, err := key.VerifyingKey().WriteTo(w)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, key.Close())
	}
	e.cfg.Logger.Info("development key made", "circuit", s.String(), "elapsed", time.Since(start))
	return key, nil
}

// loadVerifyingKey reads the small .vk file; a development key's comes from its parameters, made if need be.
func (e *Engine) loadVerifyingKey(ctx context.Context, s circuitSpec) (*groth16.VerifyingKey, error) {
	id, err := s.params()
	if err != nil {
		return nil, err
	}
	if !e.cfg.DevelopmentKeys {
		if e.cfg.Parameters == "" {
			return nil, fmt.Errorf("%w: neither Parameters nor DevelopmentKeys is set", ErrConfig)
		}
		vk, err := params.OpenVerifyingKey(e.cfg.Parameters, id)
		if err != nil {
			return nil, err
		}
		if err := e.refuseDevelopmentKey(id, vk); err != nil {
			return nil, err
		}
		return vk, nil
	}
	raw, err := regfile.ReadAll(filepath.Join(e.devDir(), id.VKFile()), 64<<20)
	if err == nil {
		if vk, err := groth16.ParseVerifyingKey(raw); err == nil && id.IsDevelopmentKey(vk) {
			return vk, nil
		}
	}
	entry, release, err := e.keys.acquire(ctx, s)
	if err != nil {
		return nil, err
	}
	defer release()
	return entry.key.VerifyingKey(), nil
}
