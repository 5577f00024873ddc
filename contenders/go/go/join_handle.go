package main

import (
	"sync"

	"palio/contenders/go/harness"
)

// joinHandle is what Go lacks: one task's end and its result.
type joinHandle struct {
	done   sync.WaitGroup
	result uint64
}

// spawnAll spawns the same task so many times.
func spawnAll(tasks int, task func() uint64) []joinHandle {
	handles := make([]joinHandle, tasks)
	for i := range handles {
		handle := &handles[i]
		handle.done.Add(1)
		go func() {
			handle.result = task()
			handle.done.Done()
		}()
	}
	return handles
}

// joinAll waits for one after the other; the answer is the sum of what they returned, the work is
// those that returned anything but 0.
func joinAll(handles []joinHandle) harness.Iteration {
	var all harness.Iteration
	for i := range handles {
		handle := &handles[i]
		handle.done.Wait()
		all.Answer += handle.result
		// A result of 0 is what a task leaves that never ran.
		if handle.result > 0 {
			all.Work++
		}
	}
	all.Ops = all.Work
	return all
}
