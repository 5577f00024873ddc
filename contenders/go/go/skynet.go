package main

import (
	"sync"

	"palio/contenders/go/harness"
)

func prepareSkynet(request *harness.Request) (harness.Work, error) {
	leaves, err := request.Between("leaves", 1, 1_000_000_000)
	if err != nil {
		return harness.Work{}, err
	}
	for size := leaves; size > 1; size /= 10 {
		if size%10 != 0 {
			return harness.Work{}, harness.Misuse("--set leaves=%d is not a power of ten", leaves)
		}
	}
	return countingGoroutines(harness.Plain(func() harness.Iteration {
		whole := onGoroutine(func() subtree { return skynet(salt, leaves) })
		return harness.Iteration{Answer: whole.sum, Ops: whole.tasks, Work: whole.tasks}
	})), startScheduler(request)
}

// subtree is what a task returns: the sum of the indices below it and the tasks there, itself
// included.
type subtree struct{ sum, tasks uint64 }

func skynet(first, size uint64) subtree {
	if size == 1 {
		return subtree{sum: first, tasks: 1}
	}
	var children struct {
		done    sync.WaitGroup
		results [9]subtree
	}
	forked := uint64(len(children.results))
	children.done.Add(int(forked))
	part := size / (forked + 1)
	for i := range children.results {
		go func() {
			children.results[i] = skynet(first+uint64(i)*part, part)
			children.done.Done()
		}()
	}
	// The last child runs in place.
	whole := skynet(first+forked*part, part)
	whole.tasks++
	children.done.Wait()
	for _, child := range children.results {
		whole.sum += child.sum
		whole.tasks += child.tasks
	}
	return whole
}
