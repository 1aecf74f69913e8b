//go:build !cgo || !linux

package gpu

// canLoad says whether this build can open a library at all.
const canLoad = false

// load says that this program cannot open the library.
func load(string, []string) (native, error) {
	return nil, &LibraryError{Kind: ErrNoLibrary, Reason: "this program was built without cgo or for a system other than Linux"}
}
