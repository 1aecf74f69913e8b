package pinning

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNode: a memory node that the machine does not have, or a machine that does not tell.
var ErrNode = errors.New("pinning: no such memory node")

// Node is a memory (NUMA) node that memory should come from. The zero value is AnyNode.
type Node uint16

// AnyNode leaves the choice to the system, which takes the node of the thread that touches a page first.
const AnyNode Node = 0

// maxNode bounds node numbers: what the mask of the system call here has room for.
const maxNode = 1023

// OnNode is node n as the system counts, from 0; out of range it is AnyNode.
func OnNode(n int) Node {
	if n < 0 || n > maxNode {
		return AnyNode
	}
	return Node(n + 1)
}

// Number is the system's number; ok is false for AnyNode.
func (n Node) Number() (number int, ok bool) { return int(n) - 1, n != AnyNode }

func (n Node) String() string {
	if n == AnyNode {
		return "any"
	}
	return strconv.Itoa(int(n) - 1)
}

// ParseNode reads what String writes.
func ParseNode(s string) (Node, error) {
	if s == "any" {
		return AnyNode, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > maxNode {
		return 0, fmt.Errorf("%w: node %q, want any or 0 to %d", ErrConfig, s, maxNode)
	}
	return OnNode(n), nil
}

// parseNodeList reads the system's form, as 0-1,4.
func parseNodeList(s string) ([]int, error) {
	var out []int
	for _, part := range strings.Split(strings.TrimSpace(s), ",") {
		if part == "" {
			continue
		}
		lo, hi, ranged := strings.Cut(part, "-")
		a, err := strconv.Atoi(lo)
		b := a
		if err == nil && ranged {
			b, err = strconv.Atoi(hi)
		}
		if err != nil || a < 0 || b < a || b > maxNode {
			return nil, fmt.Errorf("%w: list %q", ErrNode, s)
		}
		for ; a <= b; a++ {
			out = append(out, a)
		}
	}
	return out, nil
}

// Placement says where a buffer's pages will come from.
type Placement struct {
	Node Node   // AnyNode where nothing was bound
	Note string // why nothing was bound although a node was asked for
}

// place binds b's pages to node before they are touched. On a machine with one node that is its only node, and nothing is done.
func (b *Buffer) place(node Node, nodes []int, bind func(mem []byte, node int) error) error {
	n, ok := node.Number()
	if !ok {
		return nil
	}
	found := false
	for _, x := range nodes {
		found = found || x == n
	}
	switch {
	case !found:
		return fmt.Errorf("%w: %d, the machine has %v", ErrNode, n, nodes)
	case len(nodes) == 1:
		b.placed = Placement{Note: "the machine has one memory node: nothing to choose"}
		return nil
	}
	if err := bind(b.mem, n); err != nil {
		return fmt.Errorf("memory node %d: %w", n, err)
	}
	b.placed = Placement{Node: node}
	return nil
}

// Placement is where the buffer's pages come from, as far as the buffer was told.
func (b *Buffer) Placement() Placement { return b.placed }
