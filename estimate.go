package filgroth

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/filgroth/filgroth/groth16/params"
	"github.com/filgroth/filgroth/synth/porep"
	"github.com/filgroth/filgroth/synth/update"
	"github.com/filgroth/filgroth/synth/vanilla"
)

// Resources are what a scheduler has to set aside for a proof. Bytes are upper bounds for one partition in flight with the
// default options; every further one adds PerPartition.
type Resources struct {
	// Partitions of one proof (one sector; for WindowPoSt one partition of sectors).
	Partitions int
	// GPUs is 1 where a device does the sums.
	GPUs int
	// Host is memory of the process: system, key in the backend's form, buffers. Mapped parameter files are not in it.
	Host         int64
	PerPartition int64
	// Device is memory of the GPU with the key resident.
	Device int64
	// KeyFile is the size of the parameter file, which the page cache should hold.
	KeyFile int64
}

// Estimate says what a proof of a kind and size takes on a backend, "cpu" or "cuda", without loading anything.
func Estimate(kind Kind, size vanilla.SectorSize, backend string) (Resources, error) {
	spec := circuitSpec{kind, size}
	id, err := spec.params()
	if err != nil {
		return Resources{}, &InputError{"size", err}
	}
	d, ok := id.Dimensions()
	if !ok {
		return Resources{}, &InputError{"size", fmt.Errorf("no dimensions are known for %v", spec)}
	}
	r := Resources{Partitions: 1, KeyFile: d.ParamsBytes}
	switch kind {
	case PoRep:
		c, err := porep.SizeConfig(size, vanilla.Interactive, vanilla.V1_1_0)
		if err != nil {
			return Resources{}, err
		}
		r.Partitions = c.Partitions
	case SnapDeals:
		s, err := update.ShapeOf(size)
		if err != nil {
			return Resources{}, err
		}
		r.Partitions = s.Partitions
	}
	const system = 512 << 20 // compiled systems, runtime, sort scratch: the largest measured has 0.3 GiB
	domain := int64(d.H+1) * 32
	witness := int64(d.Aux) / 8
	if kind == PoRep || kind == SnapDeals {
		witness += int64(d.Aux) / 64 * 32 // one in 76 (PoRep) is a field element
	} else {
		witness += int64(d.Aux) * 32
	}
	switch backend {
	case cpuName:
		// the key's points in native form are as large as in the file; a, b, c and the scalars' digits
		r.PerPartition = witness + 4*domain
		r.Host = system + d.ParamsBytes + r.PerPartition
	case "cuda":
		r.GPUs = 1
		r.PerPartition = witness
		r.Host = system + 1<<30 + 2*r.PerPartition
		// key, a b c, and the sorted digits and trees of the largest sum
		r.Device = d.ParamsBytes + 3*domain + 6*domain
	default:
		return Resources{}, &InputError{"backend", fmt.Errorf("%q is neither cpu nor cuda", backend)}
	}
	return r, nil
}

// Preflight looks at the parameter files of all kinds and sizes given and returns every problem in one error (each a
// *params.FileError), so that a missing file is known at start and not when the first proof is due. With digests every file
// is hashed whole. With PoRep among the kinds the reference string of aggregation is looked at too if it is there; those who
// neither aggregate nor seal non-interactively need none. Development keys need no files: the answer is nil.
func (e *Engine) Preflight(ctx context.Context, kinds []Kind, sizes []vanilla.SectorSize, digests bool) error {
	ctx, end, err := e.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if e.cfg.DevelopmentKeys {
		return nil
	}
	if e.cfg.Parameters == "" {
		return fmt.Errorf("%w: neither Parameters nor DevelopmentKeys is set", ErrConfig)
	}
	var ids []params.Circuit
	for _, k := range kinds {
		for _, s := range sizes {
			id, err := circuitSpec{k, s}.params()
			if err != nil {
				return &InputError{"kinds and sizes", err}
			}
			ids = append(ids, id)
		}
	}
	err = params.Preflight(ctx, e.cfg.Parameters, ids, params.PreflightConfig{Digests: digests})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if slices.Contains(kinds, PoRep) {
		err = errors.Join(err, e.checkReference(ctx, digests))
	}
	return err
}

// srsDigest is that of the deployed reference string.
const srsDigest = "ae20310138f5ba81451d723f858e3797"

// checkReference reads the reference string's first points and all of its lengths.
func (e *Engine) checkReference(ctx context.Context, digest bool) error {
	_, err := e.loadReference(ctx, 2)
	if errors.Is(err, params.ErrKeyNotFound) {
		return nil
	}
	if err != nil || !digest {
		return err
	}
	path := filepath.Join(e.cfg.Parameters, SRSFile)
	got, err := params.FileDigest(ctx, path)
	if err == nil && got != srsDigest {
		err = fmt.Errorf("filgroth: %s: %w: digest (expected %s, found %s)", path, params.ErrMismatch, srsDigest, got)
	}
	return err
}
