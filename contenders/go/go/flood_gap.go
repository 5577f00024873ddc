package main

import (
	"sync/atomic"
	"time"

	"palio/contenders/go/harness"
)

func prepareFloodGap(request *harness.Request) (harness.Work, error) {
	n, err := numbers(request, "rounds", "tasks", "backlog", "poll_us")
	if err != nil {
		return harness.Work{}, err
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	beside := &background{}
	victim := beside.startVictim(false)
	return measured(func() []time.Duration {
		return outside(func() []time.Duration {
			return victim.under(func() { pour(n[1], max(n[2], 2), micros(n[3])) }, n[0])
		})
	}).StoppedBy(beside.stop), nil
}

// pour spawns tasks until so many are not done, and goes on when half of them are left.
func pour(tasks, backlog int, poll time.Duration) {
	var waiting atomic.Int64
	half := make(chan struct{}, 1)
	for spawned := 0; spawned < tasks; {
		for spawned < tasks && waiting.Load() < int64(backlog) {
			waiting.Add(1)
			spawned++
			go func() {
				spinFor(poll)
				if left := waiting.Add(-1); left == int64(backlog/2) || left == 0 {
					select {
					case half <- struct{}{}:
					default:
					}
				}
			}()
		}
		if spawned < tasks {
			<-half
		}
	}
	for waiting.Load() > 0 {
		<-half
	}
}
