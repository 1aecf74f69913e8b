package gpu

import (
	"testing"

	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/msm/msmtest"
	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/ntt/ntttest"
)

func TestNTT(t *testing.T) {
	d, real := testDevice(t, Options{})
	o := ntttest.Options{MaxLog: 10, NaiveLog: 5}
	if real {
		o = ntttest.Options{MaxLog: 16, NaiveLog: 9}
	}
	ntttest.Run(t, func() ntt.Engine { return d }, o)
}

func TestMSM(t *testing.T) {
	d, real := testDevice(t, Options{})
	o := msmtest.Options{Large: 64, Random: 1, Windows: []int{7}}
	if real {
		o = msmtest.Options{}
	}
	msmtest.Run(t, func() msm.Engine { return d }, o)
}
