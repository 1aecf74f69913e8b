package pinning

// Options refine an allocation.
type Options struct {
	// HugePages asks for transparent huge pages (madvise); where the system has none it has no effect.
	HugePages bool
	// BasePages asks for ordinary pages even where the system gives huge ones unasked. Not with HugePages.
	BasePages bool
	// Prefault touches every page before Alloc returns, so that no fault happens later.
	Prefault bool
}

// AllocWith is Alloc with options.
func AllocWith(n int, purpose string, o Options) (*Buffer, error) {
	b, err := Alloc(n, purpose)
	if err != nil || n == 0 {
		return b, err
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
