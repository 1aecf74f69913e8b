//go:build !linux

package pinning

import "fmt"

// Nodes are the machine's memory nodes; only Linux tells here.
func Nodes() ([]int, error) { return nil, fmt.Errorf("%w: this system does not tell", ErrNode) }

// NodeOfPCI is the node next to a PCI device; only Linux tells here.
func NodeOfPCI(string) (Node, error) {
	return AnyNode, fmt.Errorf("%w: this system does not tell", ErrNode)
}

func bindNode([]byte, int) error { return fmt.Errorf("%w: this system has no choice", ErrNode) }
