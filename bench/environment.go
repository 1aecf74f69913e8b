package main

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/filgroth/filgroth/pinning"
)

// Environment says where and with what a measurement was made. What the machine does not tell is "unavailable".
type Environment struct {
	Date        string `json:"date"`
	Command     string `json:"command"`
	CPU         string `json:"cpu"`
	Cores       int    `json:"cores"`
	GOMAXPROCS  int    `json:"gomaxprocs"`
	MemoryBytes int64  `json:"memory_bytes"`
	LockLimit   int64  `json:"lock_limit_bytes"` // -1 is unlimited
	HugePages   string `json:"transparent_huge_pages"`
	OS          string `json:"os"`
	Go          string `json:"go"`
	Commit      string `json:"commit"`
	GPU         string `json:"gpu"`
	Driver      string `json:"driver"`
	CUDALibrary string `json:"cuda_library_sources"` // SHA-256 of the library's sources
	LoadBefore  string `json:"load_average"`
}

const unavailable = "unavailable"

// ReadEnvironment asks the machine.
func ReadEnvironment() Environment {
	e := Environment{
		Date: time.Now().UTC().Format(time.RFC3339), Command: "bench " + strings.Join(os.Args[1:], " "),
		CPU: unavailable, Cores: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		MemoryBytes: pinning.SystemMemory(), LockLimit: pinning.LockLimit(), HugePages: unavailable,
		OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Commit: commit(),
		GPU: unavailable, Driver: unavailable, CUDALibrary: unavailable, LoadBefore: unavailable,
	}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, line := range strings.Split(string(b), "\n") {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
				e.CPU = strings.TrimSpace(v)
				break
			}
		}
	}
	read := func(path string, into *string) {
		if b, err := os.ReadFile(path); err == nil {
			*into = strings.TrimSpace(string(b))
		}
	}
	read("/sys/kernel/mm/transparent_hugepage/enabled", &e.HugePages)
	read("/proc/loadavg", &e.LoadBefore)
	if b, err := exec.Command("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").Output(); err == nil {
		name, driver, _ := strings.Cut(strings.SplitN(string(b), "\n", 2)[0], ",")
		e.GPU, e.Driver = strings.TrimSpace(name), strings.TrimSpace(driver)
	}
	gpuEnvironment(&e)
	return e
}

// shortGPU is GPU for a line of text.
func (e *Environment) shortGPU() string {
	if strings.HasPrefix(e.GPU, unavailable) {
		return unavailable
	}
	return e.GPU
}

// commit is the revision that the binary was built from, or that of the working directory for "go run" and "go test".
func commit() string {
	rev, dirty := "", false
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				rev = s.Value
			case "vcs.modified":
				dirty = s.Value == "true"
			}
		}
	}
	if rev == "" {
		b, err := exec.Command("git", "rev-parse", "HEAD").Output()
		if err != nil {
			return unavailable
		}
		rev = strings.TrimSpace(string(b))
		status, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output()
		dirty = err != nil || len(status) > 0
	}
	if dirty {
		rev += "+changes"
	}
	return rev
}
