package gpu

// CallsInFlight is how many calls an engine should have under way on a device: while one computes, the other one's witness
// is sent, and its proof assembled and verified, so that the device never waits. On an H200 that is 1 % of a 32 GiB PoRep.
func (d *Device) CallsInFlight() int { return 2 }
