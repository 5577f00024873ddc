package main

import (
	"sync"
	"sync/atomic"
	"time"

	"palio/contenders/go/harness"
)

func prepareSpawnBlockingBlocks(request *harness.Request) (harness.Work, error) {
	n, err := numbers(request, "batches", "closures", "block_us")
	if err != nil {
		return harness.Work{}, err
	}
	closure, err := request.OneOf("closure", "sleep", "rendezvous")
	if err != nil {
		return harness.Work{}, err
	}
	if closure == "rendezvous" {
		return harness.Work{}, harness.Unsupported("a goroutine at a barrier blocks no thread, so it needs no second one")
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() (all harness.Iteration) {
			for range n[0] {
				joined := blockAll(n[1], micros(n[2]))
				all.Answer, all.Ops, all.Work = all.Answer+joined, all.Ops+joined, all.Work+joined
			}
			return all
		})
	}), startScheduler(request)
}

func prepareSpawnBlockingBeside(request *harness.Request) (harness.Work, error) {
	n, err := numbers(request, "batches", "closures", "block_us")
	if err != nil {
		return harness.Work{}, err
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	beside := &background{}
	victim := beside.startVictim(false)
	return measured(func() []time.Duration {
		return onGoroutine(func() []time.Duration {
			return victim.under(func() { blockAll(n[1], micros(n[2])) }, n[0])
		})
	}).StoppedBy(beside.stop), nil
}

// blockAll runs so many goroutines that block in a system call: Go's way is to let them.
func blockAll(closures int, block time.Duration) uint64 {
	var returned atomic.Uint64
	var done sync.WaitGroup
	done.Add(closures)
	for range closures {
		go func() {
			sleepThread(block)
			returned.Add(1)
			done.Done()
		}()
	}
	done.Wait()
	return returned.Load()
}
