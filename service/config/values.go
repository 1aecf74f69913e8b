package config

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bytes is a size: a whole number with B, KiB, MiB, GiB or TiB. 0 needs no unit.
type Bytes int64

var units = []struct {
	name  string
	shift int
}{{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}}

// UnmarshalText reads what String writes.
func (b *Bytes) UnmarshalText(t []byte) error {
	s := strings.TrimSpace(string(t))
	if s == "0" {
		*b = 0
		return nil
	}
	for _, u := range units {
		n, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
		if err != nil || v < 0 || v > math.MaxInt64>>u.shift {
			break
		}
		*b = Bytes(v << u.shift)
		return nil
	}
	return fmt.Errorf("%w: size %q: a whole number with B, KiB, MiB, GiB or TiB", ErrConfig, s)
}

func (b Bytes) String() string {
	for _, u := range units {
		if unit := Bytes(1) << u.shift; b >= unit && b%unit == 0 {
			return fmt.Sprintf("%d%s", b/unit, u.name)
		}
	}
	return "0"
}

// Duration is a time with a unit, as in "90s" or "1h30m".
type Duration time.Duration

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(t []byte) error {
	v, err := time.ParseDuration(string(t))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	*d = Duration(v)
	return nil
}

func (d Duration) String() string { return time.Duration(d).String() }

// Ordinals are the devices to open; auto says that those which are there are to be used, and the CPU if there are none.
func (e Engine) Ordinals() (ordinals []int, auto bool, err error) {
	switch e.Devices {
	case "auto":
		return nil, true, nil
	case "cpu":
		return nil, false, nil
	}
	for _, s := range strings.Split(e.Devices, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 0 || n > 63 || slices.Contains(ordinals, n) {
			return nil, false, fmt.Errorf(`%w: engine.devices = %q: "auto", "cpu" or device numbers with commas`, ErrConfig, e.Devices)
		}
		ordinals = append(ordinals, n)
	}
	return ordinals, false, nil
}

// SlogLevel is the level as package slog has it.
func (l Log) SlogLevel() (v slog.Level, err error) {
	if err := v.UnmarshalText([]byte(l.Level)); err != nil {
		return 0, fmt.Errorf("%w: log.level = %q: debug, info, warn or error", ErrConfig, l.Level)
	}
	return v, nil
}
