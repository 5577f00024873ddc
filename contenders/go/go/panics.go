package main

import (
	"sync"

	"palio/contenders/go/harness"
)

// end is how a task ended, if it did: what it returned, or 1 if it panicked.
type end struct {
	ended bool
	value uint64
}

// returned is what a task returns, beside the salt.
const returned = 1_000_000

func preparePanics(request *harness.Request) (harness.Work, error) {
	tasks, err := request.Between("tasks", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return panics(int(tasks)) })
	}), startScheduler(request)
}

func panics(tasks int) harness.Iteration {
	var done sync.WaitGroup
	ends := make([]end, tasks)
	done.Add(tasks)
	for i := range ends {
		go func() {
			defer done.Done()
			ends[i] = caught(i)
		}()
	}
	done.Wait()
	var all harness.Iteration
	for _, how := range ends {
		if how.ended {
			all.Answer += how.value
			all.Work++
		}
	}
	all.Ops = all.Work
	return all
}

// caught runs a task. The task must catch its own panic, because one that leaves a goroutine ends
// the process; a panic that is recovered prints nothing.
func caught(i int) (how end) {
	defer func() {
		if recover() != nil {
			how = end{ended: true, value: 1}
		}
	}()
	return end{ended: true, value: panicIfOdd(i)}
}

//go:noinline
func panicIfOdd(i int) uint64 {
	if i%2 == 1 {
		panic("odd")
	}
	return returned + salt
}
