// Package samples has requests whose vanilla proofs hold, with what a verifier knows of them: the golden ones of a 2 KiB
// sector, and simulated ones of any size, for tests and the benchmark client.
package samples

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/filgroth/filgroth"
	"github.com/filgroth/filgroth/service/client"
	"github.com/filgroth/filgroth/service/cuzkv1"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/update"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/filgroth/filgroth/synth/vanillasim"
)

//go:embed testdata
var files embed.FS

// Miner is the miner of all samples.
const Miner = 1000

// Sample is a request and how its proof is checked by another party.
type Sample struct {
	Request *cuzkv1.SubmitProofRequest
	Verify  func(ctx context.Context, e *filgroth.Engine, proof []byte) (bool, error)
}

// Kinds are the names of the proof kinds, as circuit ids have them.
var Kinds = []string{"porep", "snap", "wpost", "winning"}

// Sizes are the names of the sector sizes, in the order of the registered proof types.
var Sizes = []string{"2k", "8m", "512m", "32g", "64g"}

func read(name string) ([]byte, error) {
	b, err := files.ReadFile("testdata/" + name)
	if err != nil || !bytes.HasSuffix([]byte(name), []byte(".gz")) {
		return b, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

type bytes32 [32]byte

// UnmarshalText reads hexadecimal digits.
func (b *bytes32) UnmarshalText(t []byte) error {
	if len(t) != 64 {
		return fmt.Errorf("%d digits, not 64", len(t))
	}
	_, err := hex.Decode(b[:], t)
	return err
}

// meta is the union of the golden files' public data.
type meta struct {
	SectorNumber uint64  `json:"sector_number"`
	Ticket       bytes32 `json:"ticket"`
	Seed         bytes32 `json:"seed"`
	CommD        bytes32 `json:"comm_d"`
	CommR        bytes32 `json:"comm_r"`
	Randomness   bytes32 `json:"randomness"`
	Sectors      []struct {
		ID    uint64  `json:"sector_id"`
		CommR bytes32 `json:"comm_r"`
	} `json:"sectors"`
	CommROld bytes32 `json:"comm_r_old"`
	CommRNew bytes32 `json:"comm_r_new"`
	CommDNew bytes32 `json:"comm_d_new"`
}

func golden(name string, data ...string) (m meta, out [][]byte, err error) {
	b, err := read(name)
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	for _, d := range data {
		x, e := read(d)
		if e != nil {
			err = e
		}
		out = append(out, x)
	}
	return m, out, err
}

// Golden is the golden request of a kind, of 2 KiB sectors.
func Golden(kind string) (*Sample, error) {
	switch kind {
	case "porep":
		m, b, err := golden("2k-v1_1-s1.meta.json", "2k-v1_1-s1.c1.json.gz")
		if err != nil {
			return nil, err
		}
		return porepSample(b[0], filgroth.SealVerifyInfo{Proof: 5, Miner: Miner, Sector: m.SectorNumber, Ticket: m.Ticket, Seed: m.Seed, CommR: m.CommR, CommD: m.CommD})
	case "snap":
		m, b, err := golden("update.json", "update-p0.vanilla.bincode.gz")
		if err != nil {
			return nil, err
		}
		return snapSample(filgroth.UpdateInfo{CommROld: m.CommROld, CommRNew: m.CommRNew, CommDNew: m.CommDNew}, b, 1), nil
	case "wpost", "winning":
		name, t, data := "window.json", vanilla.PoStProof(5), []string{"window-s1.vanilla.bincode.gz", "window-s2.vanilla.bincode.gz"}
		if kind == "winning" {
			name, t, data = "winning.json", 0, []string{"winning-s1.vanilla.bincode.gz"}
		}
		m, b, err := golden(name, data...)
		if err != nil {
			return nil, err
		}
		var s []filgroth.PoStSector
		for i, x := range m.Sectors {
			if x.ID == 0 {
				x.ID = uint64(i + 1)
			}
			s = append(s, filgroth.PoStSector{Number: x.ID, CommR: x.CommR})
		}
		return postSample(t, m.Randomness, s, b), nil
	}
	return nil, fmt.Errorf("samples: kind %q", kind)
}

// Simulated makes a request of a kind and size; other seeds give other requests.
func Simulated(ctx context.Context, kind, size string, seed uint64) (*Sample, error) {
	at := slices.Index(Sizes, size)
	if at < 0 {
		return nil, fmt.Errorf("samples: size %q", size)
	}
	o := vanillasim.Options{Seed: seed, Miner: Miner, Sector: 1 + seed%(1<<40)}
	switch kind {
	case "porep":
		c, err := vanillasim.SealProof(ctx, vanilla.SealProof(5+at), o)
		if err != nil {
			return nil, err
		}
		b, err := c.AppendJSON(nil)
		if err != nil {
			return nil, err
		}
		return porepSample(b, filgroth.SealVerifyInfo{Proof: c.Proof, Miner: Miner, Sector: o.Sector, Ticket: c.Ticket, Seed: c.Seed, CommR: c.CommR, CommD: c.CommD})
	case "snap":
		t := vanilla.UpdateProof(at)
		shape, err := update.ProofShape(t)
		if err != nil {
			return nil, err
		}
		pub, proofs, err := vanillasim.Update(ctx, shape, o)
		if err != nil {
			return nil, err
		}
		b, err := encode(proofs, func(p *update.PartitionProof) ([]byte, error) { return p.AppendBincode(&shape, nil) })
		return snapSample(filgroth.UpdateInfo{Proof: t, CommROld: pub.CommROld, CommRNew: pub.CommRNew, CommDNew: pub.CommDNew}, b, o.Sector), err
	case "wpost", "winning":
		return simulatedPoSt(ctx, kind == "winning", at, o)
	}
	return nil, fmt.Errorf("samples: kind %q", kind)
}

func simulatedPoSt(ctx context.Context, winning bool, at int, o vanillasim.Options) (*Sample, error) {
	t := vanilla.PoStProof(10 + at)
	if winning {
		t = vanilla.PoStProof(at)
	}
	cfg, err := post.ProofConfig(t)
	if err != nil {
		return nil, err
	}
	sectors := cfg.Shape.Sectors
	if winning {
		sectors = 1
	}
	pub, proofs, err := vanillasim.PoSt(ctx, cfg, sectors, o)
	if err != nil {
		return nil, err
	}
	var s []filgroth.PoStSector
	for _, x := range pub.Sectors {
		s = append(s, filgroth.PoStSector{Number: x.ID, CommR: x.CommR})
	}
	b, err := encode(proofs, func(p *post.SectorProof) ([]byte, error) { return p.AppendBincode(&cfg, nil) })
	return postSample(t, pub.Randomness, s, b), err
}

func encode[T any](in []T, f func(T) ([]byte, error)) (out [][]byte, err error) {
	for _, p := range in {
		b, err := f(p)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func porepSample(c1 []byte, info filgroth.SealVerifyInfo) (*Sample, error) {
	r, err := client.PoRep(c1, uint64(info.Proof.Size()), info.Miner, info.Sector)
	return &Sample{r, func(ctx context.Context, e *filgroth.Engine, proof []byte) (bool, error) {
		info.Bytes = proof
		return e.VerifySeal(ctx, info)
	}}, err
}

func snapSample(info filgroth.UpdateInfo, proofs [][]byte, sector uint64) *Sample {
	return &Sample{client.Update(uint64(info.Proof), uint64(info.Proof.Size()), Miner, sector, info.CommROld, info.CommRNew, info.CommDNew, proofs),
		func(ctx context.Context, e *filgroth.Engine, proof []byte) (bool, error) {
			info.Bytes = proof
			return e.VerifySectorUpdate(ctx, info)
		}}
}

func postSample(t vanilla.PoStProof, randomness [32]byte, sectors []filgroth.PoStSector, proofs [][]byte) *Sample {
	if t.Winning() {
		return &Sample{client.WinningPoSt(uint64(t), uint64(t.Size()), Miner, randomness, proofs),
			func(ctx context.Context, e *filgroth.Engine, proof []byte) (bool, error) {
				return e.VerifyWinningPoSt(ctx, randomness, filgroth.PoStProof{Proof: t, Bytes: proof}, sectors[0])
			}}
	}
	return &Sample{client.WindowPoSt(uint64(t), uint64(t.Size()), Miner, randomness, proofs, 0),
		func(ctx context.Context, e *filgroth.Engine, proof []byte) (bool, error) {
			return e.VerifyWindowPoSt(ctx, randomness, filgroth.PoStProof{Proof: t, Bytes: proof}, sectors)
		}}
}
