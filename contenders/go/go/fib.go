package main

import (
	"sync"

	"palio/contenders/go/harness"
)

// oneFork is one fork in the high half of what a call returns.
const oneFork = 1 << 32

func prepareFib(request *harness.Request) (harness.Work, error) {
	// fib(47) has more forks than the high half can hold.
	n, err := request.Between("n", 0, 46)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		result := fib(n)
		return harness.Iteration{Answer: result & (oneFork - 1), Ops: result / oneFork, Work: result / oneFork}
	}), startScheduler(request)
}

// fib returns the value in the low half and the forks below it in the high half.
func fib(n uint64) uint64 {
	if n < 2 {
		return n
	}
	// One struct, because it moves to the heap whole: two variables would be two allocations.
	var forked struct {
		done   sync.WaitGroup
		result uint64
	}
	forked.done.Add(1)
	go func() {
		forked.result = fib(n - 1)
		forked.done.Done()
	}()
	here := fib(n - 2)
	forked.done.Wait()
	return forked.result + here + oneFork
}
