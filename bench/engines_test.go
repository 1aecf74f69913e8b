package main

import (
	"context"
	"errors"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/stretchr/testify/require"
)

// ledger counts what is page-locked in place of a device.
type ledger struct {
	locked map[*byte]int
	total  int
	fail   int // the registration that fails, counted from 1
}

func (l *ledger) Register(mem []byte, _ int) error {
	l.total++
	if l.total == l.fail {
		return errors.New("cannot lock")
	}
	if l.locked[&mem[0]] != 0 {
		return errors.New("locked already")
	}
	l.locked[&mem[0]] = len(mem)
	return nil
}

func (l *ledger) Unregister(mem []byte, _ int) error {
	if l.locked[&mem[0]] != len(mem) {
		return errors.New("not locked")
	}
	delete(l.locked, &mem[0])
	return nil
}

// Whatever the policy, the quotient is the same, and nothing stays locked or allocated.
func TestPinnedQuotient(t *testing.T) {
	ctx := context.Background()
	engine, err := ntt.NewCPU(ntt.Config{})
	require.NoError(t, err)
	d, err := ntt.NewDomain(64)
	require.NoError(t, err)
	vectors := func() (v [3][]fr.Element) {
		for k := range v {
			v[k] = make([]fr.Element, 64)
			for i := range v[k] {
				v[k][i].SetUint64(uint64(7*i + k))
			}
		}
		return
	}
	want := vectors()
	require.NoError(t, engine.Quotient(ctx, d, want[0], want[1], want[2]))
	before := pinning.LiveBytes()
	for _, policy := range []pinning.Policy{pinning.PolicyAuto, pinning.PolicyNone, pinning.PolicyRegister, pinning.PolicyPool} {
		l := &ledger{locked: map[*byte]int{}}
		s := defaultSettings()
		s.Prove.Pinning.Policy = policy
		if nodes, err := pinning.Nodes(); err == nil {
			s.Prove.Pinning.Node = pinning.OnNode(nodes[len(nodes)-1])
		}
		m, err := msm.NewCPU(msm.Config{})
		require.NoError(t, err)
		_, p, err := deviceEngines(s, m, engine, l)
		require.NoError(t, err)
		rec := span.NewRecorder()
		for range 2 {
			v := vectors()
			require.NoError(t, p.Quotient(span.With(ctx, rec), d, v[0], v[1], v[2]))
			require.Equal(t, want[0], v[0], policy)
		}
		require.Equal(t, map[pinning.Policy]int{pinning.PolicyRegister: 6, pinning.PolicyPool: 3}[policy], l.total, policy)
		require.Equal(t, policy >= pinning.PolicyRegister, len(rec.Records()) > 0, "there is a span where there is something to pin")
		require.NoError(t, p.close())
		require.Empty(t, l.locked)
		require.Equal(t, before, pinning.LiveBytes())
	}
	for fail := 1; fail <= 3; fail++ {
		l := &ledger{locked: map[*byte]int{}, fail: fail}
		s := defaultSettings()
		s.Prove.Pinning.Policy = pinning.PolicyRegister
		_, p, err := deviceEngines(s, nil, engine, l)
		require.NoError(t, err)
		v := vectors()
		require.ErrorContains(t, p.Quotient(ctx, d, v[0], v[1], v[2]), "cannot lock")
		require.Empty(t, l.locked)
		require.NoError(t, p.close())
	}
	s := defaultSettings()
	s.Prove.Pinning.Policy = pinning.PolicyRing
	_, _, err = deviceEngines(s, nil, engine, nil)
	require.ErrorIs(t, err, groth16.ErrUnavailable)
}
