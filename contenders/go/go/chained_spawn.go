package main

import "palio/contenders/go/harness"

// prepareChainedSpawn is the row in which a goroutine waits for the last link.
func prepareChainedSpawn(request *harness.Request) (harness.Work, error) {
	return prepareChain(request, func(depth uint64) uint64 {
		return onGoroutine(func() uint64 { return chainedSpawn(depth) })
	})
}

// prepareChainFromOutside is the row in which the harness's own goroutine waits for it.
func prepareChainFromOutside(request *harness.Request) (harness.Work, error) {
	end := make(chan uint64, roomOutside)
	return prepareChain(request, func(depth uint64) uint64 { return chainFromOutside(depth, end) })
}

func prepareChain(request *harness.Request, run func(depth uint64) uint64) (harness.Work, error) {
	depth, err := request.Between("depth", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		count := run(depth)
		links := count - salt
		return harness.Iteration{Answer: count, Ops: links, Work: links}
	}), startScheduler(request)
}

// chainFromOutside has a goroutine that spawns the first link and ends.
func chainFromOutside(depth uint64, end chan uint64) uint64 {
	go func() { go link(end, salt, salt+depth) }()
	return <-end
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
