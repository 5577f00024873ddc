package main

import (
	"sync"

	"palio/contenders/go/harness"
)

// joinHandle is what Go lacks: one task's end and its result.
type joinHandle struct {
	done   sync.WaitGroup
	ended  bool
	result uint64
}

// spawnAll spawns the same task so many times.
func spawnAll(tasks int, task func() uint64) []joinHandle {
	handles := make([]joinHandle, tasks)
	for i := range handles {
		handle := &handles[i]
		handle.done.Add(1)
		go func() {
			handle.result, handle.ended = task(), true
			handle.done.Done()
		}()
	}
	return handles
}

// joinAll waits for one after the other; the answer is the sum of what they returned, the work is
// those that returned.
func joinAll(handles []joinHandle) harness.Iteration {
	var all harness.Iteration
	for i := range handles {
		handle := &handles[i]
		handle.done.Wait()
		all.Answer += handle.result
		if handle.ended {
			all.Work++
		}
	}
	all.Ops = all.Work
	return all
}
