package main

import (
	"encoding/json"
	"fmt"
)

// Counts are hardware counters; nil where the machine has none for us.
type Counts map[string]uint64

// counterNames are what is asked for, in order of output.
var counterNames = []string{"instructions", "cache-misses", "branch-misses", "dtlb-load-misses"}

// MarshalJSON writes "unavailable" in place of counters that are not there.
func (c Counts) MarshalJSON() ([]byte, error) {
	if c == nil {
		return json.Marshal(unavailable)
	}
	return json.Marshal(map[string]uint64(c))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Counts) UnmarshalJSON(b []byte) error {
	if string(b) == `"`+unavailable+`"` {
		*c = nil
		return nil
	}
	var m map[string]uint64
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	*c = m
	return nil
}

func (c Counts) String() string {
	if c == nil {
		return unavailable
	}
	s := ""
	for _, n := range counterNames {
		if v, ok := c[n]; ok {
			s += fmt.Sprintf(" %s=%d", n, v)
		}
	}
	return s[min(1, len(s)):]
}
