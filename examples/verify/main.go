// Command verify checks one Groth16 proof: a verifying key file in bellperson's layout, the public inputs, the proof.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/examples/internal/cli"
	"github.com/filgroth/filgroth/groth16"
)

func main() {
	vk := flag.String("vk", "", "verifying key `file` (.vk)")
	inputs := flag.String("inputs", "", "JSON `file`: array of public inputs without the leading one, each 64 hex digits, little endian")
	proof := flag.String("proof", "", "proof in `hex` (384 digits)")
	cli.Parse("checks one Groth16 proof against a verifying key file and public inputs")
	cli.Main(func(context.Context) error {
		if *vk == "" || *inputs == "" || *proof == "" {
			return fmt.Errorf("need -vk FILE -inputs FILE -proof HEX; custom-circuit -dir DIR writes such files and prints the command")
		}
		return cli.Verified(check(*vk, *inputs, *proof))
	})
}

func check(vkPath, inputsPath, proofHex string) (bool, error) {
	raw, err := os.ReadFile(vkPath)
	if err != nil {
		return false, err
	}
	vk, err := groth16.ParseVerifyingKey(raw)
	if err != nil {
		return false, err
	}
	public, err := readInputs(inputsPath)
	if err != nil {
		return false, err
	}
	b, err := hex.DecodeString(proofHex)
	if err != nil {
		return false, fmt.Errorf("-proof: %w", err)
	}
	return groth16.VerifyBytes(vk, public, b)
}

func readInputs(path string) ([]fr.Element, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var text []string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := make([]fr.Element, len(text))
	for i, s := range text {
		b, err := hex.DecodeString(s)
		if err != nil || len(b) != fr.Bytes {
			return nil, fmt.Errorf("%s: input %d: not %d hex digits", path, i, 2*fr.Bytes)
		}
		slices.Reverse(b)
		if err := out[i].SetBytesCanonical(b); err != nil {
			return nil, fmt.Errorf("%s: input %d: %w", path, i, err)
		}
	}
	return out, nil
}
