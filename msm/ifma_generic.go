//go:build !amd64 || purego

package msm

import bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"

func haveIFMA() bool { return false }

func newG1IFMA() adder[bls12381.G1Affine] { return newG1Generic() }

func newG2IFMA() adder[bls12381.G2Affine] { return newG2Generic() }
