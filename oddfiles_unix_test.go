//go:build unix

package filgroth

import (
	"os"

	"golang.org/x/sys/unix"
)

// oddFiles are things that stand where a file should.
var oddFiles = map[string]func(path string) error{
	"directory": func(p string) error { return os.Mkdir(p, 0o700) },
	"fifo":      func(p string) error { return unix.Mkfifo(p, 0o600) },
	"empty":     func(p string) error { return os.WriteFile(p, nil, 0o600) },
	"loop":      func(p string) error { return os.Symlink(p, p) },
}
