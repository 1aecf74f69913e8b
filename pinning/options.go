package pinning

import "errors"

// Options refine an allocation.
type Options struct {
	// HugePages asks for transparent huge pages (madvise); where the system has none it has no effect.
	HugePages bool
	// BasePages asks for ordinary pages even where the system gives huge ones unasked. Not with HugePages.
	BasePages bool
	// Prefault touches every page before Alloc returns, so that no fault happens later.
	Prefault bool
	// Node is the memory node that pages should come from, as long as it has room; see Buffer.Placement. A node that the machine
	// lacks is an *AllocError that wraps ErrNode.
	Node Node
}

// AllocWith is Alloc with options. AllocCounters says what it costs.
func AllocWith(n int, purpose string, o Options) (b *Buffer, err error) {
	err = allocs.measure(n, func() error {
		b, err = allocWith(n, purpose, o)
		return err
	})
	return b, err
}

func allocWith(n int, purpose string, o Options) (*Buffer, error) {
	b, err := Alloc(n, purpose)
	if err != nil || n == 0 {
		return b, err
	}
	if o.Node != AnyNode {
		nodes, err := Nodes()
		if err == nil {
			err = b.place(o.Node, nodes, bindNode)
		}
		if err != nil {
			return nil, errors.Join(&AllocError{n, purpose, err}, b.Close())
		}
	}
	if o.HugePages {
		adviseHuge(b.mem)
	} else if o.BasePages {
		adviseBase(b.mem)
	}
	if o.Prefault {
		Prefault(b.mem)
	}
	return b, nil
}

// Prefault writes one zero to each page of mem, which must hold zeros still.
func Prefault(mem []byte) {
	for i := 0; i < len(mem); i += 4096 {
		mem[i] = 0
	}
}
