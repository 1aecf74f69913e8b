package groth16

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
)

// availableMemory is what this process may still take: the smaller of the machine's available memory and what its cgroup
// leaves; 0 if neither is known.
func availableMemory() int64 {
	avail := int64(0)
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		sc := bufio.NewScanner(bytes.NewReader(b))
		for sc.Scan() {
			f := strings.Fields(sc.Text())
			if len(f) >= 2 && f[0] == "MemAvailable:" {
				kb, _ := strconv.ParseInt(f[1], 10, 64)
				avail = kb << 10
			}
		}
	}
	limit, lok := readInt("/sys/fs/cgroup/memory.max")
	used, uok := readInt("/sys/fs/cgroup/memory.current")
	if lok && uok && (avail == 0 || limit-used < avail) {
		avail = max(1, limit-used)
	}
	return avail
}

func readInt(path string) (int64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}
