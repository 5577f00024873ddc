package main

import (
	"sync/atomic"
	"time"

	"palio/contenders/go/harness"
)

func prepareBlockInPlace(request *harness.Request) (harness.Work, error) {
	n, err := numbers(request, "events", "block_us")
	if err != nil {
		return harness.Work{}, err
	}
	closure, err := request.OneOf("closure", "blocks", "empty")
	if err != nil {
		return harness.Work{}, err
	}
	if closure == "empty" {
		return harness.Work{}, harness.Unsupported("Go has no call that says that a goroutine is about to block")
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	pairs := request.Threads
	return measured(func() []time.Duration {
		return onGoroutine(func() []time.Duration { return blockInPairs(pairs, n[0], micros(n[1])) })
	}), nil
}

func blockInPairs(pairs, events int, block time.Duration) []time.Duration {
	var left atomic.Int64
	left.Store(int64(events))
	results := make(chan []time.Duration, pairs)
	for range pairs {
		go func() { results <- blocker(&left, block) }()
	}
	latencies := make([]time.Duration, 0, events)
	for range pairs {
		latencies = append(latencies, <-results...)
	}
	return latencies
}

func blocker(left *atomic.Int64, block time.Duration) []time.Duration {
	wake, answer := make(bell), make(chan time.Duration, 1)
	ended := false
	go func() {
		for {
			rung := wake.heard()
			latency := time.Since(rung)
			if ended {
				close(answer)
				return
			}
			answer <- latency
		}
	}()
	var latencies []time.Duration
	for left.Add(-1) >= 0 {
		wake.ring()
		sleepThread(block)
		latencies = append(latencies, <-answer)
	}
	ended = true
	wake.ring()
	<-answer
	return latencies
}
