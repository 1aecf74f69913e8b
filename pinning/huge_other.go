//go:build !linux

package pinning

func adviseHuge([]byte) {}

func adviseBase([]byte) {}
