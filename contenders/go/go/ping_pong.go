package main

import (
	"sync/atomic"

	"palio/contenders/go/harness"
)

func preparePingPong(request *harness.Request) (harness.Work, error) {
	// Without a pair there is nobody to ring.
	pairs, err := request.Between("pairs", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	last := make(chan harness.Iteration, roomOutside)
	return harness.Plain(func() harness.Iteration { return pingPong(int64(pairs), last) }), startScheduler(request)
}

// pingPong runs on the harness's own goroutine, which waits until the last pair rings.
func pingPong(pairs int64, last chan harness.Iteration) harness.Iteration {
	var running atomic.Int64
	var sum atomic.Uint64
	running.Store(pairs)
	go func() {
		for i := range pairs {
			go func() {
				back, _ := ping(salt + uint64(i))
				sum.Add(back)
				if others := running.Add(-1); others == 0 {
					ended := uint64(pairs - others)
					// Two tasks make one round trip.
					last <- harness.Iteration{Answer: sum.Load(), Ops: ended, Work: 2 * ended}
				}
			}()
		}
	}()
	return <-last
}

// ping sends a value to a new task, and returns what came back and the tasks that this took: nobody
// else could have sent it back.
func ping(value uint64) (back, echoes uint64) {
	there, home := make(chan uint64, 1), make(chan uint64, 1)
	go func() { home <- <-there }()
	there <- value
	return <-home, 1
}

func preparePingPongOneshot(request *harness.Request) (harness.Work, error) {
	rounds, err := request.Between("rounds", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return pingPongOneshot(rounds) })
	}), startScheduler(request)
}

// pingPongOneshot makes its rounds alone, one after the other.
func pingPongOneshot(rounds uint64) harness.Iteration {
	var all harness.Iteration
	for round := range rounds {
		back, echoes := ping(salt + round)
		all.Answer += back
		all.Work += echoes
	}
	// One echo makes one round trip.
	all.Ops = all.Work
	return all
}
