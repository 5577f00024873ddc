package main

import (
	"runtime"
	"time"

	"palio/contenders/go/harness"
)

// For each worker.
const (
	chainLoops     = 16
	floodTimers    = 500
	floodListeners = 64
)

func prepareStarvation(request *harness.Request) (harness.Work, error) {
	n, err := numbers(request, "rounds", "window_ms")
	if err != nil {
		return harness.Work{}, err
	}
	adversary, err := request.OneOf("adversary", "chain", "pair", "timers", "flood")
	if err != nil {
		return harness.Work{}, err
	}
	unit, err := request.OneOf("gap", "time", "polls")
	if err != nil {
		return harness.Work{}, err
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	beside := &background{}
	victim := beside.startVictim(unit == "polls")
	// Never told to stop: the process ends.
	go unleash(adversary, request.Threads, victim)
	window := time.Duration(n[1]) * time.Millisecond
	return measured(func() []time.Duration {
		return outside(func() []time.Duration {
			gaps := make([]time.Duration, 0, n[0])
			for range n[0] {
				victim.begin()
				sleepThread(window)
				gaps = append(gaps, victim.endWhenPolled())
			}
			return gaps
		})
	}), nil
}

func unleash(adversary string, threads int, beside *gap) {
	switch adversary {
	case "chain":
		for range chainLoops * threads {
			go func() {
				for {
					joinAll(spawnAll(1, func() uint64 {
						beside.otherPolled()
						return 1
					}))
					beside.otherPolled()
				}
			}()
		}
	case "pair":
		for range threads {
			a, b := make(chan struct{}), make(chan struct{})
			go func() {
				for {
					a <- struct{}{}
					<-b
					beside.otherPolled()
				}
			}()
			go func() {
				for {
					<-a
					beside.otherPolled()
					b <- struct{}{}
				}
			}()
		}
	case "timers":
		for range floodTimers * threads {
			go func() {
				for {
					time.Sleep(time.Millisecond)
				}
			}()
		}
	default:
		broadcast(floodListeners*threads, beside)
	}
}

// broadcast wakes all listeners at once, and yields, for ever.
func broadcast(listeners int, beside *gap) {
	bells := make([]chan struct{}, listeners)
	for i := range bells {
		bells[i] = make(chan struct{}, 1)
		go func() {
			for range bells[i] {
				beside.otherPolled()
			}
		}()
	}
	for {
		for _, bell := range bells {
			select {
			case bell <- struct{}{}:
			default:
			}
		}
		runtime.Gosched()
		beside.otherPolled()
	}
}
