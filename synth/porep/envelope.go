package porep

import (
	"context"
	"encoding/base64"

	"github.com/filgroth/filgroth/synth/vanilla"
)

// Envelope is the wrapper {"SectorNum", "Phase1Out", "SectorSize"} in which benchmark tools and proving daemons pass a C1 output.
type Envelope struct {
	SectorNum  uint64
	SectorSize uint64
	C1         *C1
}

const envelopeMember = "Phase1Out"

// DecodeEnvelope decodes an envelope and the C1 JSON inside (standard base64). The sector size must be that of the proof.
func DecodeEnvelope(b []byte) (*Envelope, error) { return decodeEnvelope(context.Background(), b) }

func decodeEnvelope(ctx context.Context, b []byte) (*Envelope, error) {
	var e Envelope
	var text string
	err := vanilla.ReadJSON(b, func(w vanilla.Walker) error {
		return w.Object(
			vanilla.Field{Name: "SectorNum", Walk: func() error { return w.U64(&e.SectorNum) }},
			vanilla.Field{Name: envelopeMember, Walk: func() error { return w.Text(&text) }},
			vanilla.Field{Name: "SectorSize", Walk: func() error { return w.U64(&e.SectorSize) }})
	})
	if err != nil {
		return nil, err
	}
	inner, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, vanilla.Errorf(envelopeMember, "%v", err)
	}
	if e.C1, err = decodePlain(ctx, inner); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, vanilla.In(envelopeMember, err)
	}
	if want := uint64(e.C1.Config.SectorSize()); e.SectorSize != want {
		return nil, vanilla.Errorf("SectorSize", "is %d, but %v has %d", e.SectorSize, e.C1.Proof, want)
	}
	return &e, nil
}
