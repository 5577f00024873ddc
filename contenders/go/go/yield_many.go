package main

import (
	"runtime"
	"sync"

	"palio/contenders/go/harness"
)

func prepareYieldMany(request *harness.Request) (harness.Work, error) {
	tasks, err := request.Between("tasks", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	yields, err := request.Between("yields", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		yielded := onGoroutine(func() uint64 { return yieldMany(int(tasks), yields) })
		return harness.Iteration{Answer: yielded, Ops: yielded, Work: yielded}
	}), startScheduler(request)
}

func yieldMany(tasks int, yields uint64) uint64 {
	var done sync.WaitGroup
	yielded := make([]uint64, tasks)
	done.Add(tasks)
	for i := range yielded {
		go func() {
			// Counted in a variable of its own: neighbouring slots share a cache line.
			var count uint64
			for range yields {
				runtime.Gosched()
				count++
			}
			yielded[i] = count
			done.Done()
		}()
	}
	done.Wait()
	return sum(yielded)
}

func sum(numbers []uint64) (total uint64) {
	for _, number := range numbers {
		total += number
	}
	return total
}
