package synth

import (
	"context"
	"errors"

	"github.com/filgroth/filgroth/span"
)

// Compile runs c in Shape mode.
func Compile(ctx context.Context, c Circuit) (*System, error) {
	ctx, sp := span.Start(ctx, "synth.compile")
	defer sp.End()
	b := &Builder{mode: Shape, ctx: ctx, inputs: 1, rec: newRecorder()}
	if err := c.Synthesize(b); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return b.rec.finish(b)
}

// errorsJoin is errors.Join that keeps a single error as it is.
func errorsJoin(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return errors.Join(a, b)
}
