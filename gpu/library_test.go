//go:build cgo && linux

package gpu

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/ntt"
)

// fakeLibrary compiles a library from C. Functions that fake leaves out exist and fail.
func fakeLibrary(t *testing.T, fake string, without ...string) string {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("fake libraries need gcc")
	}
	header, err := os.ReadFile("cuda/filgroth_cuda.h")
	require.NoError(t, err)
	src := "#include \"filgroth_cuda.h\"\n#include <string.h>\n" + fake
	for _, f := range functionsOf(string(header)) {
		if strings.Contains(fake, f+"(") || strings.Contains(strings.Join(without, " ")+" ", f+" ") {
			continue
		}
		// Never called in these tests, so that the type does not matter.
		src += "__asm__(\".globl " + f + "\\n" + f + ": ret\");\n"
	}
	dir := t.TempDir()
	c, so := filepath.Join(dir, "fake.c"), filepath.Join(dir, libraryName)
	require.NoError(t, os.WriteFile(c, []byte(src), 0o600))
	here, err := filepath.Abs("cuda")
	require.NoError(t, err)
	out, err := exec.Command(cc, "-shared", "-fPIC", "-I"+here, "-o", so, c).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return so
}

// functionsOf lists the functions that the header declares.
func functionsOf(header string) []string {
	var out []string
	for _, line := range strings.Split(header, "\n") {
		if !strings.HasPrefix(line, "FG_API ") {
			continue
		}
		name, _, _ := strings.Cut(line, "(")
		out = append(out, strings.TrimLeft(name[strings.LastIndexByte(name, ' ')+1:], "*"))
	}
	return out
}

const (
	fakeABI    = "uint32_t fg_abi_version(void) { return FG_ABI_VERSION; }\n"
	fakeOld    = "uint32_t fg_abi_version(void) { return FG_ABI_VERSION + 1; }\n"
	fakeArchs  = "const char* fg_architectures(void) { return \"90\"; }\n"
	fakeResult = "static fg_result fail(int code, const char* m) { fg_result r; memset(&r, 0, sizeof r); r.code = code; strcpy(r.message, m); return r; }\n"
)

func fakeDigest() string {
	return "const char* fg_source_digest(void) { return \"" + SourceDigest() + "\"; }\n"
}

func fakeVersions(body string) string {
	return fakeResult + "fg_result fg_versions(int32_t* driver, int32_t* runtime, int32_t* devices) { " + body + " }\n"
}

// TestMissing: what is missing is told apart, by Open and by Probe.
func TestMissing(t *testing.T) {
	text := filepath.Join(t.TempDir(), libraryName)
	require.NoError(t, os.WriteFile(text, []byte("not a library"), 0o600))
	current := fakeABI + fakeDigest() + fakeArchs
	supported := current + fakeVersions("*driver = 12040; *runtime = 11080; *devices = 1; return fail(0, \"\");")
	device := func(runs string) string {
		return "fg_result fg_device_query(int32_t o, fg_device_info* i) { memset(i, 0, sizeof *i); strcpy(i->name, \"Old\"); " +
			"i->major = 7; i->minor = 5; i->runs = " + runs + "; return fail(0, \"\"); }\n"
	}
	for _, c := range []struct {
		name string
		path string
		kind error
		says string
	}{
		{"absent", filepath.Join(t.TempDir(), "no", libraryName), ErrNoLibrary, "make -C gpu/cuda"},
		{"not a library", text, ErrNoLibrary, "make -C gpu/cuda"},
		{"not ours", fakeLibrary(t, "", functionsOf(readHeader(t))...), ErrABI, "fg_abi_version"},
		{"other version", fakeLibrary(t, fakeOld), ErrABI, "version"},
		{"missing symbol", fakeLibrary(t, current, "fg_session_take"), ErrABI, "fg_session_take"},
		{"stale", fakeLibrary(t, fakeABI+"const char* fg_source_digest(void) { return \"0123456789abcdef\"; }\n"), ErrStale, "0123456789ab"},
		{"no driver", fakeLibrary(t, current+fakeVersions("return fail(FG_E_NO_DRIVER, \"no driver here\");")), ErrNoDriver, "no driver here"},
		{"driver fails", fakeLibrary(t, current+fakeVersions("return fail(FG_E_CUDA, \"error 999\");")), ErrCUDA, "error 999"},
		{"no device", fakeLibrary(t, current+fakeVersions("return fail(FG_E_NO_DEVICE, \"none\");")), ErrNoDevice, "none"},
		{"arch", fakeLibrary(t, supported+device("0")+
			"fg_result fg_device_open(int32_t o, uint64_t b, fg_device** d) { return fail(FG_E_ARCH, \"sm_75\"); }\n"), ErrUnsupportedArch, "75"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(Options{Library: c.path})
			require.ErrorIs(t, err, c.kind)
			require.Contains(t, err.Error(), c.says)
			r := Probe(Options{Library: c.path})
			require.False(t, r.Usable())
			require.ErrorIs(t, r.Err, c.kind)
			require.Contains(t, r.String(), "GPU not used")
		})
	}
	t.Run("ordinal", func(t *testing.T) {
		_, err := Open(Options{Library: fakeLibrary(t, supported+device("1")), Ordinal: 3})
		require.ErrorIs(t, err, ErrNoDevice)
		require.Contains(t, err.Error(), "device 3")
	})
}

func readHeader(t *testing.T) string {
	b, err := os.ReadFile("cuda/filgroth_cuda.h")
	require.NoError(t, err)
	return string(b)
}

// TestWorker: panics of device work are errors, calls queue, and after Close they are refused.
func TestWorker(t *testing.T) {
	d := &Device{jobs: make(chan *job), done: make(chan struct{}), lib: nobody{}}
	go d.serve()
	err := d.do(context.Background(), func(*int32) result { panic("boom") })
	require.ErrorIs(t, err, ErrPanic)
	require.Contains(t, err.Error(), "boom")
	require.NoError(t, d.do(context.Background(), func(*int32) result { return result{} }))

	busy, release := make(chan struct{}), make(chan struct{})
	go func() {
		_ = d.do(context.Background(), func(*int32) result { close(busy); <-release; return result{} })
	}()
	<-busy
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, d.do(ctx, func(*int32) result { return result{} }), context.Canceled)
	close(release)

	ctx, cancel = context.WithCancel(context.Background())
	err = d.do(ctx, func(flag *int32) result {
		cancel()
		for atomic.LoadInt32(flag) == 0 {
			runtime.Gosched()
		}
		return result{code: codeCancelled, message: "cancelled"}
	})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, d.Close())
	require.ErrorIs(t, d.Close(), ErrClosed)
	require.ErrorIs(t, d.do(context.Background(), func(*int32) result { return result{} }), ErrClosed)
}

// nobody is a library of which only deviceClose is called.
type nobody struct{ native }

func (nobody) deviceClose(handle) {}

// TestLimits: what the device does not do is refused before it is asked.
func TestLimits(t *testing.T) {
	d := &Device{}
	dom, err := ntt.NewDomain(1 << 29)
	require.NoError(t, err)
	require.ErrorIs(t, checkLog(dom), ntt.ErrUnavailable)
	require.ErrorIs(t, Options{Ordinal: -1}.Validate(), ErrConfig)
	require.ErrorIs(t, Options{MemoryBudget: -1}.Validate(), ErrConfig)
	_, err = Open(Options{Ordinal: maxDevices})
	require.ErrorIs(t, err, ErrConfig)
	require.Equal(t, "gpu0", d.String())
}
