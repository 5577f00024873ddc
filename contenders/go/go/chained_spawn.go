package main

import "palio/contenders/go/harness"

func prepareChainedSpawn(request *harness.Request) (harness.Work, error) {
	depth, err := request.Between("depth", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		count := onGoroutine(func() uint64 { return chainedSpawn(depth) })
		links := count - salt
		return harness.Iteration{Answer: count, Ops: links, Work: links}
	}), startScheduler(request)
}

// chainedSpawn counts from the salt.
func chainedSpawn(depth uint64) uint64 {
	end := make(chan uint64, 1)
	go link(end, salt, salt+depth)
	return <-end
}

// link adds itself to the count so far, then either goes on or ends the chain.
func link(end chan<- uint64, before, last uint64) {
	count := before + 1
	if count == last {
		end <- count
		return
	}
	go link(end, count, last)
}
