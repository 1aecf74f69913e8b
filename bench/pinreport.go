package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// breakEven compares what locking costs with what copies from locked memory save: against the same copies from pageable memory, by
// the transforms, and against each policy of the proofs.
func (r *PinResult) breakEven() {
	for i := range r.Locks {
		l := &r.Locks[i]
		cost := perGiB(median(l.Register)+median(l.Unregister), r.Bytes)
		for _, c := range r.Copies {
			if c.Pages != l.Pages || c.Locked {
				continue
			}
			for _, k := range r.Copies {
				if k.Pages == c.Pages && k.Locked {
					r.BreakEven = append(r.BreakEven, newBreakEven(l.Pages, "pageable, transform both ways", cost, perGiB(median(c.Seconds)-median(k.Seconds), c.Bytes)))
				}
			}
		}
		locked := r.proof(l.Pages, "register")
		if locked == nil {
			continue
		}
		for _, policy := range []string{"none", "ring"} {
			if p := r.proof(l.Pages, policy); p != nil {
				r.BreakEven = append(r.BreakEven, newBreakEven(l.Pages, policy+", a, b, c to the device", cost, perGiB(median(p.Send), p.Bytes)-perGiB(median(locked.Send), locked.Bytes)))
			}
		}
	}
}

// proof finds a measured policy.
func (r *PinResult) proof(pages, policy string) *PinProof {
	for i := range r.Proofs {
		if p := &r.Proofs[i]; p.Pages == pages && p.Policy == policy && len(p.Send) > 0 && p.Bytes > 0 {
			return p
		}
	}
	return nil
}

func newBreakEven(pages, against string, cost, saved float64) PinBreakEven {
	b := PinBreakEven{Pages: pages, Against: against, Cost: cost, Saved: saved}
	if saved > 0 {
		b.Uses = cost / saved
	}
	return b
}

func perGiB(seconds float64, bytes int64) float64 {
	return seconds * (1 << 30) / float64(max(1, bytes))
}

// rate is in GB (10^9 bytes) a second.
func rate(bytes int64, seconds float64) string {
	if seconds <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f GB/s", float64(bytes)/seconds/1e9)
}

// table prints medians.
func (r *PinResult) table(w io.Writer) {
	e := &r.Environment
	fmt.Fprintf(w, "page-locking, %s at a time; %s, %d cores, GPU %s, huge pages %s, commit %s\n", bytesString(r.Bytes), e.CPU, e.Cores, e.shortGPU(), e.HugePages, e.Commit)
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "pages\trounds\ttouch s/GiB\tfaults of it\tregister s/GiB\tunregister s/GiB\tregister untouched s/GiB")
	for _, l := range r.Locks {
		fmt.Fprintf(tw, "%s\t%d\t%.4f\t%d\t%.4f\t%.4f\t%.4f\n", l.Pages, len(l.Register), perGiB(median(l.Touch), r.Bytes), l.Faults,
			perGiB(median(l.Register), r.Bytes), perGiB(median(l.Unregister), r.Bytes), perGiB(median(l.Fresh), r.Bytes))
	}
	tw.Flush()
	fmt.Fprintln(tw, "\npages\tlocked\ttransform there and back s\trate, transform included")
	for _, c := range r.Copies {
		fmt.Fprintf(tw, "%s\t%t\t%.4f\t%s\n", c.Pages, c.Locked, median(c.Seconds), rate(c.Bytes, median(c.Seconds)))
	}
	tw.Flush()
	if len(r.Proofs) > 0 {
		fmt.Fprintf(tw, "\npages of a, b, c\tpolicy\tsend s (%s)\trate\tpin s\tproof s\n", r.Shape)
	}
	for _, p := range r.Proofs {
		if p.Unavailable != "" {
			fmt.Fprintf(tw, "%s\t%s\t%s: %s\n", p.Pages, p.Policy, unavailable, p.Unavailable)
			continue
		}
		fmt.Fprintf(tw, "%s\t%s\t%.4f\t%s\t%.4f\t%.4f\n", p.Pages, p.Policy, median(p.Send), rate(p.Bytes, median(p.Send)), median(p.Pin), median(p.Total))
	}
	tw.Flush()
	fmt.Fprintln(tw, "\npages\tagainst\tlock and unlock s/GiB\tsaved s/GiB copied\tpays after uses")
	for _, b := range r.BreakEven {
		uses := "never"
		if b.Uses > 0 {
			uses = fmt.Sprintf("%.1f", b.Uses)
		}
		fmt.Fprintf(tw, "%s\t%s\t%.4f\t%.4f\t%s\n", b.Pages, b.Against, b.Cost, b.Saved, uses)
	}
	tw.Flush()
}
