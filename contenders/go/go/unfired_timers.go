package main

import (
	"time"

	"palio/contenders/go/harness"
)

// unfired is how long a timer would take that nobody waits for.
const unfired = time.Second

func prepareTimeout(request *harness.Request) (harness.Work, error) {
	return prepareUnfired(request, timeouts)
}

func prepareSleep(request *harness.Request) (harness.Work, error) {
	return prepareUnfired(request, droppedSleeps)
}

// prepareUnfired spawns tasks that each make so many timers and return how many did not fire.
func prepareUnfired(request *harness.Request, each func(timers uint64) uint64) (harness.Work, error) {
	tasks, err := request.Between("tasks", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	timers, err := request.Between("timers", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration {
			completed := joinAll(spawnAll(int(tasks), func() uint64 { return each(timers) })).Answer
			return harness.Iteration{Answer: completed, Ops: completed, Work: completed}
		})
	}), startScheduler(request)
}

// timeouts waits for what is ready, each time for at most a second.
func timeouts(timers uint64) (inTime uint64) {
	ready := make(chan struct{})
	close(ready)
	for range timers {
		timer := time.NewTimer(unfired)
		select {
		case <-ready:
			inTime++
		case <-timer.C:
		}
		timer.Stop()
	}
	return inTime
}

// droppedSleeps makes timers and stops them. They have functions, not channels, because the runtime
// arms the timer of a channel only when somebody blocks on it: so this is the row of sleeps that
// are made and dropped, and also the row of those that are armed.
func droppedSleeps(timers uint64) (dropped uint64) {
	for range timers {
		// Stop is true if the timer was armed and had not fired.
		if time.AfterFunc(unfired, nothing).Stop() {
			dropped++
		}
	}
	return dropped
}
