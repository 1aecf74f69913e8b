package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// maxCount bounds the numbers that flags may have: none is one of more than a million things.
const maxCount = 1 << 20

// checkFlags refuses what means nothing in any mode, and makes sure at the start that what is written at the end can be.
func checkFlags(fs *flag.FlagSet) error {
	var errs []error
	fs.VisitAll(func(f *flag.Flag) {
		g, ok := f.Value.(flag.Getter)
		if !ok {
			return
		}
		switch v := g.Get().(type) {
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				errs = append(errs, fmt.Errorf("-%s %v is no number", f.Name, v))
			}
		case int:
			if v > maxCount || v < -maxCount {
				errs = append(errs, fmt.Errorf("-%s %d is out of range", f.Name, v))
			}
		case string:
			if v == "" {
				return
			}
			switch f.Name {
			case "json", "waterfall", "trace":
				errs = append(errs, checkFile(v))
			case "out", "dir":
				errs = append(errs, checkFile(filepath.Join(v, "x")))
			}
		}
	})
	return errors.Join(errs...)
}

// checkFile makes the folder of a file that is to be written, and says what would be in its way.
func checkFile(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return fmt.Errorf("%s is a directory", path)
	}
	f, err := os.CreateTemp(dir, ".bench-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
