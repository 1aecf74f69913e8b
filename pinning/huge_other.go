//go:build !linux

package pinning

func adviseHuge([]byte) {}
