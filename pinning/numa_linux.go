package pinning

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Nodes are the machine's memory nodes that have memory.
func Nodes() ([]int, error) { return nodesIn("/sys/devices/system/node") }

func nodesIn(dir string) ([]int, error) {
	b, err := os.ReadFile(filepath.Join(dir, "has_memory"))
	if err != nil {
		if b, err = os.ReadFile(filepath.Join(dir, "online")); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNode, err)
		}
	}
	return parseNodeList(string(b))
}

// NodeOfPCI is the node next to a PCI device, named as 0000:3b:00.0; AnyNode where the machine does not say or has one node.
func NodeOfPCI(address string) (Node, error) { return nodeOfPCI("/sys/bus/pci/devices", address) }

func nodeOfPCI(dir, address string) (Node, error) {
	if address == "" || strings.ContainsAny(address, "/\x00") || strings.HasPrefix(address, ".") {
		return AnyNode, fmt.Errorf("%w: PCI address %q", ErrConfig, address)
	}
	b, err := os.ReadFile(filepath.Join(dir, strings.ToLower(address), "numa_node"))
	if err != nil {
		return AnyNode, fmt.Errorf("%w: %w", ErrNode, err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return AnyNode, fmt.Errorf("%w: PCI device %s on node %q", ErrNode, address, strings.TrimSpace(string(b)))
	}
	return OnNode(n), nil // -1 is not known
}

// mpolPreferred is MPOL_PREFERRED of linux/mempolicy.h: where the node is full, another one serves rather than that the process is killed.
const mpolPreferred = 1

// bindNode makes mem's pages come from a node when they are touched.
func bindNode(mem []byte, node int) error {
	if len(mem) == 0 {
		return nil
	}
	var mask [(maxNode + 64) / 64]uint64
	mask[node/64] |= 1 << (node % 64)
	// the kernel reads one bit less than it is told
	_, _, e := unix.Syscall6(unix.SYS_MBIND, uintptr(unsafe.Pointer(unsafe.SliceData(mem))), uintptr(len(mem)), mpolPreferred,
		uintptr(unsafe.Pointer(&mask)), maxNode+2, 0)
	if e != 0 {
		return e
	}
	return nil
}
