package gpu

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tests run on the machine's GPU if Probe finds one usable, and with GPU=require they fail without. Otherwise they run
// the same CUDA sources compiled for the host (cuda/emu), with small sizes: slow, but every line of logic but PTX.
var (
	onHost   = flag.Bool("emulate", false, "run on the emulated device although there is a GPU")
	prebuilt = flag.String("emulated", "", "the emulated library, if it is built already")
)

var emulation struct {
	once sync.Once
	dir  string
	path string
	err  error
	out  []byte
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if emulation.dir != "" {
		os.RemoveAll(emulation.dir)
	}
	os.Exit(code)
}

// emulatedLibrary builds the library for the host, once.
func emulatedLibrary(t testing.TB) string {
	t.Helper()
	if *prebuilt != "" {
		return *prebuilt
	}
	if testing.Short() {
		t.Skip("building the emulated library takes half a minute")
	}
	for _, tool := range []string{"g++", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("GPU") == "require" {
				t.Fatalf("the emulated device needs %s", tool)
			}
			t.Skipf("the emulated device needs %s", tool)
		}
	}
	emulation.once.Do(func() {
		emulation.dir, emulation.err = os.MkdirTemp("", "filgroth-emu")
		if emulation.err != nil {
			return
		}
		emulation.path = filepath.Join(emulation.dir, libraryName)
		args := []string{"emu/emu.sh", emulation.path, "-shared", "-fPIC", "-fvisibility=hidden",
			`-DFG_SOURCE_DIGEST="` + SourceDigest() + `"`, `-DFG_ARCHITECTURES="emulated"`, "--"}
		units, _ := filepath.Glob("cuda/*.cu")
		for _, u := range units {
			args = append(args, filepath.Base(u))
		}
		cmd := exec.Command("sh", args...)
		cmd.Dir = "cuda"
		emulation.out, emulation.err = cmd.CombinedOutput()
	})
	require.NoError(t, emulation.err, "%s", emulation.out)
	return emulation.path
}

// testDevice opens the device that tests run on; real says whether it is a GPU.
func testDevice(t testing.TB, o Options) (d *Device, real bool) {
	t.Helper()
	if !canLoad {
		t.Skip("built without cgo")
	}
	if !*onHost {
		r := Probe(o)
		if r.Usable() {
			d, err := Open(o)
			require.NoError(t, err)
			t.Cleanup(func() { closeDevice(t, d) })
			return d, true
		}
		if os.Getenv("GPU") == "require" {
			t.Fatal(r)
		}
	}
	o.Library = emulatedLibrary(t)
	d, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { closeDevice(t, d) })
	return d, false
}

// closeDevice closes d and checks that nothing is left on the device.
func closeDevice(t testing.TB, d *Device) {
	require.NoError(t, d.Close())
	require.ErrorIs(t, d.Close(), ErrClosed)
	held := d.Held()
	require.Zero(t, held.Device, "device bytes after Close")
	require.Zero(t, held.Pinned, "pinned bytes after Close")
}
