package main

import (
	"sync"

	"palio/contenders/go/harness"
)

func preparePrimes(request *harness.Request) (harness.Work, error) {
	// Beyond 2^32 a number would not fit what isPrime takes.
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
		if isPrime(uint32(n)) {
			all.primes += harness.Mix(salt, n)
		}
	}
	return all
}

// isPrime divides in 32 bits, which hold every number here. LLVM sees that in Rust's contenders as
// it divides, and takes the shorter instruction, which is the faster one; Go takes what the type
// says.
func isPrime(n uint32) bool {
	if n%2 == 0 || n < 2 {
		return n == 2
	}
	for divisor := uint32(3); uint64(divisor)*uint64(divisor) <= uint64(n); divisor += 2 {
		if n%divisor == 0 {
			return false
		}
	}
	return true
}
