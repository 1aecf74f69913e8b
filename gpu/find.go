package gpu

import (
	"os"
	"path/filepath"
)

const libraryName = "libfilgroth_cuda.so"

// findLibrary gives the file to open: the one that the caller names, else the first that exists. tried lists the places.
func findLibrary(explicit string) (path string, tried []string) {
	if explicit != "" {
		return explicit, nil
	}
	var places []string
	if exe, err := os.Executable(); err == nil {
		places = append(places, filepath.Join(filepath.Dir(exe), libraryName))
	}
	if dir, ok := buildDir(); ok {
		places = append(places, filepath.Join(dir, libraryName))
	}
	for _, p := range places {
		tried = append(tried, p)
		if _, err := os.Stat(p); err == nil {
			return p, tried
		}
	}
	return libraryName, append(tried, "the loader's search path")
}

// buildDir is where make leaves the library, if the working directory is inside the module's sources.
func buildDir() (string, bool) {
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		cuda := filepath.Join(dir, "gpu", "cuda")
		if _, err := os.Stat(filepath.Join(cuda, "filgroth_cuda.h")); err == nil {
			return filepath.Join(cuda, "build"), true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

// open finds, loads and checks the library.
func open(explicit string) (native, error) {
	path, tried := findLibrary(explicit)
	lib, err := load(path, tried)
	if err != nil {
		return nil, err
	}
	if d := lib.digest(); d != SourceDigest() {
		return nil, &LibraryError{Kind: ErrStale, Path: path, Reason: "built from sources " + short(d) +
			", this program belongs to " + short(SourceDigest()) + ": rebuild it with \"make -C gpu/cuda\" and start again"}
	}
	return lib, nil
}

func short(digest string) string {
	if len(digest) > 12 {
		return digest[:12]
	}
	if digest == "" {
		return "unknown"
	}
	return digest
}
