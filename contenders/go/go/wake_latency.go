package main

import (
	"runtime"
	"time"

	"palio/contenders/go/harness"
)

func prepareWakeLatency(request *harness.Request) (harness.Work, error) {
	n, err := numbers(request, "busy", "events", "poll_us")
	if err != nil {
		return harness.Work{}, err
	}
	from, err := request.OneOf("from", "task", "thread")
	if err != nil {
		return harness.Work{}, err
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	others, events, poll := n[0]*request.Threads, n[1], micros(n[2])
	if from == "task" {
		// The waker is one of the busy tasks.
		others = max(others-1, 0)
	}
	beside := &background{}
	beside.startPolls(others, poll)
	return measured(func() []time.Duration {
		if from == "task" {
			return onGoroutine(func() []time.Duration { return wakeFromTask(events, poll) })
		}
		return outside(func() []time.Duration { return wakeFromThread(events) })
	}).StoppedBy(beside.stop), nil
}

// sleeper is woken so many times; ready, if there is one, hears that it is about to wait.
func sleeper(b bell, events int, ready chan<- struct{}) <-chan []time.Duration {
	result := make(chan []time.Duration, 1)
	go func() {
		latencies := make([]time.Duration, 0, events)
		for range events {
			if ready != nil {
				ready <- struct{}{}
			}
			rung := b.heard()
			latencies = append(latencies, time.Since(rung))
		}
		result <- latencies
	}()
	return result
}

func wakeFromTask(events int, poll time.Duration) []time.Duration {
	b := make(bell)
	result := sleeper(b, events, nil)
	for rung := 0; rung < events; {
		if b.tryRing() {
			rung++
		}
		spinFor(poll)
		runtime.Gosched()
	}
	return <-result
}

func wakeFromThread(events int) []time.Duration {
	b, ready := make(bell), make(chan struct{}, 1)
	result := sleeper(b, events, ready)
	for range events {
		<-ready
		// It has said so a few instructions before it is parked.
		b.ring()
	}
	return <-result
}
