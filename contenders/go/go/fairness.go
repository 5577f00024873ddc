package main

import (
	"runtime"
	"syscall"
	"time"

	"palio/contenders/go/harness"
)

// The suite fairness. Go has no thread outside its scheduler; a goroutine that is locked to a
// thread of its own stands for it, as the nearest that a Go program has.

// outside runs work on a goroutine with a thread of its own, and waits.
func outside[T any](work func() T) T {
	return onGoroutine(func() T {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return work()
	})
}

// spinFor keeps a worker busy without the scheduler's knowledge.
func spinFor(duration time.Duration) {
	for start := time.Now(); time.Since(start) < duration; {
	}
}

// startPolls spawns tasks that spin and yield; a spin of zero only yields.
func (b *background) startPolls(count int, poll time.Duration) {
	b.startYielders(count, func() {
		if poll > 0 {
			spinFor(poll)
		}
	})
}

// sleepThread sleeps in the operating system, not on one of Go's timers.
func sleepThread(duration time.Duration) {
	left := syscall.NsecToTimespec(duration.Nanoseconds())
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
	}
}

// numbers reads several parameters at once, in their order.
func numbers(request *harness.Request, keys ...string) ([]int, error) {
	values := make([]int, len(keys))
	for i, key := range keys {
		value, err := request.Between(key, 0, countMax)
		if err != nil {
			return nil, err
		}
		values[i] = int(value)
	}
	return values, nil
}

func micros(number int) time.Duration { return time.Duration(number) * time.Microsecond }

// measured turns a function that returns what its events took into work.
func measured(events func() []time.Duration) harness.Work {
	return harness.Measured(func(sum *harness.Events) harness.Iteration {
		took := events()
		for _, event := range took {
			sum.Add(event)
		}
		count := uint64(len(took))
		return harness.Iteration{Answer: count, Ops: count, Work: count}
	})
}
