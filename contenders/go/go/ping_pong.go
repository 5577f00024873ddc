package main

import (
	"sync"

	"palio/contenders/go/harness"
)

func preparePingPong(request *harness.Request) (harness.Work, error) {
	pairs, err := request.Between("pairs", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return pingPong(int(pairs)) })
	}), startScheduler(request)
}

// pong is what came back to one task, and how many tasks that took.
type pong struct{ value, tasks uint64 }

func pingPong(pairs int) harness.Iteration {
	var done sync.WaitGroup
	pongs := make([]pong, pairs)
	done.Add(pairs)
	for i := range pongs {
		go func() {
			back, echoes := ping(salt + uint64(i))
			// This task and its echo.
			pongs[i] = pong{value: back, tasks: 1 + echoes}
			done.Done()
		}()
	}
	done.Wait()
	var all harness.Iteration
	for _, pong := range pongs {
		all.Answer += pong.value
		all.Work += pong.tasks
	}
	// Two tasks make one round trip.
	all.Ops = all.Work / 2
	return all
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
