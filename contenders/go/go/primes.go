package main

import (
	"sync"

	"palio/contenders/go/harness"
)

func preparePrimes(request *harness.Request) (harness.Work, error) {
	// Beyond 2^32 the square of a divisor could overflow.
	limit, err := request.Between("limit", 0, 1<<32)
	if err != nil {
		return harness.Work{}, err
	}
	tasks, err := request.Between("tasks", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return primes(limit, int(tasks)) })
	}), startScheduler(request)
}

// counted is what a task found, each prime with its weight, and the task itself.
type counted struct{ primes, tasks uint64 }

func primes(limit uint64, tasks int) harness.Iteration {
	var done sync.WaitGroup
	found := make([]counted, tasks)
	done.Add(tasks)
	for task := range found {
		go func() {
			found[task] = countPrimes(uint64(task), limit, uint64(tasks))
			done.Done()
		}()
	}
	done.Wait()
	var all harness.Iteration
	for _, part := range found {
		all.Answer += part.primes
		all.Work += part.tasks
	}
	all.Ops = all.Work
	return all
}

func countPrimes(first, limit, step uint64) counted {
	all := counted{tasks: 1}
	for n := first; n < limit; n += step {
		if isPrime(n) {
			all.primes += harness.Mix(salt, n)
		}
	}
	return all
}

func isPrime(n uint64) bool {
	if n%2 == 0 || n < 2 {
		return n == 2
	}
	for divisor := uint64(3); divisor*divisor <= n; divisor += 2 {
		if n%divisor == 0 {
			return false
		}
	}
	return true
}
