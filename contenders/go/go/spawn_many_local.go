package main

import (
	"sync/atomic"

	"palio/contenders/go/harness"
)

func prepareSpawnManyLocal(request *harness.Request) (harness.Work, error) {
	// Without a task there is nobody to ring.
	tasks, err := request.Between("tasks", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	last := make(chan uint64, roomOutside)
	return harness.Plain(func() harness.Iteration {
		ended := spawnManyLocal(int64(tasks), last)
		return harness.Iteration{Answer: ended, Ops: ended, Work: ended}
	}), startScheduler(request)
}

// spawnManyLocal runs on the harness's own goroutine, and returns how many tasks had ended when the
// last one rang.
func spawnManyLocal(tasks int64, last chan uint64) uint64 {
	var running atomic.Int64
	running.Store(tasks)
	for range tasks {
		go func() {
			if others := running.Add(-1); others == 0 {
				last <- uint64(tasks - others)
			}
		}()
	}
	return <-last
}
