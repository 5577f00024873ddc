package main

import (
	"sync"

	"palio/contenders/go/harness"
)

// end is how a task ended; 0 is a task that did not.
type end uint64

const (
	returned end = iota + 1
	panicked
)

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
		switch how {
		case returned:
			all.Answer += 1_000_000
			all.Work++
		case panicked:
			all.Answer++
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
			how = panicked
		}
	}()
	panicIfOdd(i)
	return returned
}

//go:noinline
func panicIfOdd(i int) {
	if i%2 == 1 {
		panic("odd")
	}
}
