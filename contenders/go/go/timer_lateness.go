package main

import (
	"sync"
	"time"

	"palio/contenders/go/harness"
)

func prepareTimerLateness(request *harness.Request) (harness.Work, error) {
	n, err := numbers(request, "sleepers", "sleeps", "poll_us")
	if err != nil {
		return harness.Work{}, err
	}
	busy, err := request.OneOf("busy", "one", "each")
	if err != nil {
		return harness.Work{}, err
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	others := 1
	if busy == "each" {
		others = request.Threads
	}
	beside := &background{}
	beside.startPolls(others, micros(n[2]))
	return measured(func() []time.Duration {
		return onGoroutine(func() []time.Duration { return sleepAll(n[0], n[1]) })
	}).StoppedBy(beside.stop), nil
}

func sleepAll(sleepers, sleeps int) []time.Duration {
	late := make([]time.Duration, sleepers*sleeps)
	var done sync.WaitGroup
	done.Add(sleepers)
	for i := range sleepers {
		go func() {
			for k := range sleeps {
				length := time.Duration(1+harness.Mix(0, uint64(i)<<32|uint64(k))%4) * time.Millisecond
				start := time.Now()
				time.Sleep(length)
				late[i*sleeps+k] = max(time.Since(start)-length, 0)
			}
			done.Done()
		}()
	}
	done.Wait()
	return late
}
