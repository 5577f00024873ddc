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
	// Even, so that the forks can be told from it. It goes in the half of the argument that no call
	// changes, so that it comes to the leaves for nothing.
	evenSalt := request.Salt & 0xFFFF_FFFE
	return countingGoroutines(harness.Plain(func() harness.Iteration {
		result := fib(evenSalt*oneFork + n)
		done := uint64(forks(uint32(result/oneFork), uint32(evenSalt)))
		return harness.Iteration{Answer: result, Ops: done, Work: done}
	})), startScheduler(request)
}

// forks returns f out of f + salt*(f+1) modulo 2^32: the salt came once from each leaf, of which
// there is one more than forks.
func forks(upper, salt uint32) uint32 {
	factor := salt + 1
	// Newton's iteration for the inverse of an odd number, which has 3 right bits to begin with and
	// twice as many after each step.
	inverse := factor
	for bits := 3; bits < 32; bits *= 2 {
		inverse *= 2 - factor*inverse
	}
	return (upper - salt) * inverse
}

// fib takes n in the low half and the salt in the high half. It returns the value in the low half
// and the forks below it in the high half, to which each leaf adds the salt.
func fib(n uint64) uint64 {
	if uint32(n) < 2 {
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
