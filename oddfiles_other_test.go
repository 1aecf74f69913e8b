//go:build !unix

package filgroth

import "os"

// oddFiles are things that stand where a file should.
var oddFiles = map[string]func(path string) error{
	"directory": func(p string) error { return os.Mkdir(p, 0o700) },
	"empty":     func(p string) error { return os.WriteFile(p, nil, 0o600) },
}
