package main

import (
	"fmt"
	"io"
	"time"

	"github.com/filgroth/filgroth"
)

// progressLine prints stages as they pass tenths.
func progressLine(w io.Writer) func(filgroth.Progress) {
	start := time.Now()
	last := make(chan [2]any, 1)
	last <- [2]any{"", int64(-1)}
	return func(p filgroth.Progress) {
		l := <-last
		tenth := p.Done * 10 / max(1, p.Total)
		if l[0] != p.Stage || l[1] != tenth {
			fmt.Fprintf(w, "%8.2f s  %v %s %d/%d\n", time.Since(start).Seconds(), p.Kind, p.Stage, p.Done, p.Total)
		}
		last <- [2]any{p.Stage, tenth}
	}
}
