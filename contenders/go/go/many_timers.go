package main

import (
	"sync"
	"time"

	"palio/contenders/go/harness"
)

func prepareManyTimers(request *harness.Request) (harness.Work, error) {
	sleepers, err := request.Between("sleepers", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return manyTimers(int(sleepers)) })
	}), startScheduler(request)
}

func manyTimers(sleepers int) harness.Iteration {
	var done sync.WaitGroup
	slept := make([]uint64, sleepers)
	done.Add(sleepers)
	for i := range slept {
		go func() {
			milliseconds := 1 + harness.Mix(salt, uint64(i))%10
			time.Sleep(time.Duration(milliseconds) * time.Millisecond)
			slept[i] = milliseconds
			done.Done()
		}()
	}
	done.Wait()
	var all harness.Iteration
	for _, milliseconds := range slept {
		all.Answer += milliseconds
		// Nobody sleeps less than a millisecond: a slot of 0 is a sleeper that never woke.
		if milliseconds > 0 {
			all.Work++
		}
	}
	all.Ops = all.Work
	return all
}
