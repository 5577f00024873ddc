package main

import (
	"time"

	"palio/contenders/go/harness"
)

func prepareInjectedLatency(request *harness.Request) (harness.Work, error) {
	n, err := numbers(request, "busy", "events", "poll_us")
	if err != nil {
		return harness.Work{}, err
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	beside := &background{}
	beside.startPolls(n[0]*request.Threads, micros(n[2]))
	return measured(func() []time.Duration {
		return outside(func() []time.Duration {
			latencies := make([]time.Duration, 0, n[1])
			polled := make(chan time.Duration, 1)
			for range n[1] {
				spawned := time.Now()
				go func() { polled <- time.Since(spawned) }()
				latencies = append(latencies, <-polled)
			}
			return latencies
		})
	}).StoppedBy(beside.stop), nil
}
