package main

import (
	"runtime"
	"sync"

	"palio/contenders/go/harness"
)

// tasksAndYields is how many tasks there are, and how often each yields.
func tasksAndYields(request *harness.Request) (tasks, yields uint64, err error) {
	if tasks, err = request.Between("tasks", 0, countMax); err != nil {
		return 0, 0, err
	}
	yields, err = request.Between("yields", 0, countMax)
	return tasks, yields, err
}

// prepareYieldManyFromOutside is the row in which the harness's own goroutine spawns the tasks, and
// receives from each.
func prepareYieldManyFromOutside(request *harness.Request) (harness.Work, error) {
	tasks, yields, err := tasksAndYields(request)
	if err != nil {
		return harness.Work{}, err
	}
	done := make(chan uint64, tasks)
	return harness.Plain(func() harness.Iteration {
		yielded := yieldManyFromOutside(int(tasks), yields, done)
		return harness.Iteration{Answer: yielded, Ops: yielded, Work: yielded}
	}), startScheduler(request)
}

func yieldManyFromOutside(tasks int, yields uint64, done chan uint64) (yielded uint64) {
	for range tasks {
		go func() { done <- yieldOften(yields) }()
	}
	for range tasks {
		yielded += <-done
	}
	return yielded
}

func yieldOften(yields uint64) (count uint64) {
	for range yields {
		runtime.Gosched()
		count++
	}
	return count
}

func prepareYieldMany(request *harness.Request) (harness.Work, error) {
	tasks, yields, err := tasksAndYields(request)
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
			yielded[i] = yieldOften(yields)
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
