//go:build unix

package main

import (
	"syscall"

	"palio/contenders/go/harness"
)

// allowDescriptors raises the soft limit as far as it may be raised, and refuses more descriptors
// than the hard limit has. (Go raises it itself, but only in programs that import package os, and
// not in all releases.)
func allowDescriptors(wanted uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return harness.Unsupported("the limit of open files cannot be read: %v", err)
	}
	if uint64(limit.Max) < wanted {
		return harness.Unsupported("%d open files are wanted, and the hard limit is %d: ulimit -Hn", wanted, limit.Max)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return harness.Unsupported("the limit of open files cannot be raised: %v", err)
	}
	return nil
}
