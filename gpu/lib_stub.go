//go:build !cgo || !linux

package gpu

// load says that this program cannot open the library.
func load(string, []string) (native, error) {
	return nil, &LibraryError{Kind: ErrNoLibrary, Reason: "this program was built without cgo or for a system other than Linux"}
}
