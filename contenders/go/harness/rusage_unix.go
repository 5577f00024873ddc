//go:build unix

package harness

import "syscall"

// cpuTime is what this process has used so far.
func cpuTime() (cpuUse, bool) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return cpuUse{}, false
	}
	us := func(t syscall.Timeval) uint64 { return uint64(t.Sec)*1_000_000 + uint64(t.Usec) }
	return cpuUse{user: us(usage.Utime), sys: us(usage.Stime)}, true
}
